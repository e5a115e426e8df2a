package tritonparse

import "sync"

// templateWork is what the work of launches depends on, of a template: most launches differ from it in an argument or two.
type templateWork struct {
	once      sync.Once
	arguments []templateArgument
	of        []int32 // argument by leaf, -1 for leaves of no argument
	grid      int     // leaf, -1 if there is none
}

type templateArgument struct {
	name   string
	leaves []int32
	facts  facts
}

// work finds it out at first use.
func (t *template) work() *templateWork {
	w := &t.works
	w.once.Do(func() {
		byName := map[string]int32{}
		w.of, w.grid = make([]int32, len(t.leaves)), -1
		for i, p := range t.shape.places {
			w.of[i] = -1
			switch {
			case p.isArg && p.work:
				n, ok := byName[p.argument]
				if !ok {
					n = int32(len(w.arguments))
					byName[p.argument] = n
					w.arguments = append(w.arguments, templateArgument{name: p.argument})
				}
				w.of[i] = n
				w.arguments[n].leaves = append(w.arguments[n].leaves, int32(i))
			case p.isGrid():
				w.grid = i
			}
		}
		l := launch{template: t}
		for i := range w.arguments {
			w.arguments[i].facts = l.facts(i)
		}
	})
	return w
}

// facts are those of the i-th argument.
func (l *launch) facts(i int) facts {
	description := &object{}
	for _, leaf := range l.works.arguments[i].leaves {
		description.at(l.shape.places[leaf].path...).text = l.at(int(leaf))
	}
	return readFacts(description.appendJSON(nil))
}

// kindReader finds out the kinds of launches, on one goroutine.
type kindReader struct {
	kind    workKind
	changed []bool // by argument: not as in the template
}

// read returns the kind of a launch. It is valid until the next call.
func (r *kindReader) read(l *launch, compat bool) *workKind {
	w := l.template.work()
	r.changed = append(r.changed[:0], make([]bool, len(w.arguments))...)
	k := &r.kind
	*k = workKind{arguments: k.arguments[:0]}
	if w.grid >= 0 {
		if text := l.at(w.grid); text[0] == '[' {
			k.grid = text
		}
	}
	for i := range l.changes {
		if a := w.of[l.changes[i].leaf]; a >= 0 {
			r.changed[a] = true
		}
	}
	for i := range w.arguments {
		a := &w.arguments[i]
		if r.changed[i] {
			f := l.facts(i)
			k.add(a.name, &f, compat)
		} else {
			k.add(a.name, &a.facts, compat)
		}
	}
	return k
}

// matters says whether the work of a launch may depend on what stands at a place.
func (p *place) matters() bool {
	if !p.isArg {
		return p.isGrid()
	}
	return p.member == "extracted_args" && (len(p.path) == 0 || p.path[len(p.path)-1] != "data_ptr")
}

func (p *place) isGrid() bool { return !p.isArg && p.member == "grid" && len(p.path) == 0 }
