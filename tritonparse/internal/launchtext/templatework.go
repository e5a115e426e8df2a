package launchtext

import (
	"sync"

	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
	"github.com/goproton/goproton/tritonparse/internal/work"
)

// templateWork is what the work of a template's launch depends on. Most launches differ from it in an argument or two.
type templateWork struct {
	once      sync.Once
	arguments []templateArgument
	of        []int32 // the argument of each leaf, -1 for none
	grid      int     // the leaf of the grid, -1 if there is none
}

type templateArgument struct {
	name   string
	leaves []int32
	facts  work.Facts
}

// work is computed at its first use.
func (t *Template) work() *templateWork {
	w := &t.works
	w.once.Do(func() {
		byName := map[string]int32{}
		w.of, w.grid = make([]int32, len(t.Leaves)), -1
		for i, p := range t.Shape.Places {
			w.of[i] = -1
			switch {
			case p.IsArg && p.Work:
				n, ok := byName[p.Argument]
				if !ok {
					n = int32(len(w.arguments))
					byName[p.Argument] = n
					w.arguments = append(w.arguments, templateArgument{name: p.Argument})
				}
				w.of[i] = n
				w.arguments[n].leaves = append(w.arguments[n].leaves, int32(i))
			case p.isGrid():
				w.grid = i
			}
		}
		l := Launch{Template: t}
		for i := range w.arguments {
			w.arguments[i].facts = l.facts(i)
		}
	})
	return w
}

// facts are those of the i-th argument.
func (l *Launch) facts(i int) work.Facts {
	description := &store.Object{}
	for _, leaf := range l.works.arguments[i].leaves {
		description.At(l.Shape.Places[leaf].Path...).Text = l.At(int(leaf))
	}
	return work.ReadFacts(description.AppendJSON(nil))
}

// KindReader makes the work.Kind of launches, on one goroutine.
type KindReader struct {
	kind    work.Kind
	changed []bool // by argument: it differs from the template's
}

// Read returns the kind of a launch, which is valid until the next call.
func (r *KindReader) Read(l *Launch, q quirks.Set) *work.Kind {
	w := l.Template.work()
	r.changed = append(r.changed[:0], make([]bool, len(w.arguments))...)
	k := &r.kind
	*k = work.Kind{Arguments: k.Arguments[:0]}
	if w.grid >= 0 {
		if text := l.At(w.grid); text[0] == '[' {
			k.Grid = text
		}
	}
	for i := range l.Changes {
		if a := w.of[l.Changes[i].Leaf]; a >= 0 {
			r.changed[a] = true
		}
	}
	for i := range w.arguments {
		a := &w.arguments[i]
		if r.changed[i] {
			f := l.facts(i)
			k.Add(a.name, &f, q)
		} else {
			k.Add(a.name, &a.facts, q)
		}
	}
	return k
}
