package launchtext

import (
	"bytes"
	"encoding/binary"
	"strings"
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
	scalar bool // type and value are its leaves
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
			a := &w.arguments[i]
			name := func(i int) string { return strings.Join(t.Shape.Places[a.leaves[i]].Path, ".") }
			a.scalar = len(a.leaves) == 2 && name(0) == "type" && name(1) == "value"
			a.facts = l.facts(i)
		}
	})
	return w
}

// facts are those of the i-th argument.
func (l *Launch) facts(i int) work.Facts {
	a := &l.works.arguments[i]
	if a.scalar {
		return work.ScalarFacts(l.At(int(a.leaves[0])), l.At(int(a.leaves[1])))
	}
	description := &store.Object{}
	for _, leaf := range a.leaves {
		description.At(l.Shape.Places[leaf].Path...).Text = l.At(int(leaf))
	}
	return work.ReadFacts(description.AppendJSON(nil))
}

// KindReader makes the work.Kind of launches, on one goroutine. It remembers what the last launch changed in each argument of its template:
// the next one often changes the same.
type KindReader struct {
	kind     work.Inputs
	template *Template
	changed  []changedArgument
}

type changedArgument struct {
	now, before []byte // leaves and texts
	facts       work.Facts
}

// Read returns the kind of a launch, which is valid until the next call.
func (r *KindReader) Read(l *Launch, q quirks.Set) *work.Inputs {
	w := l.Template.work()
	if r.template != l.Template {
		r.template, r.changed = l.Template, make([]changedArgument, len(w.arguments))
	}
	k := &r.kind
	*k = work.Inputs{Arguments: k.Arguments[:0]}
	if w.grid >= 0 {
		if text := l.At(w.grid); text[0] == '[' {
			k.Grid = text
		}
	}
	for i := range l.Changes {
		c := &l.Changes[i]
		if a := w.of[c.Leaf]; a >= 0 {
			r.changed[a].now = store.AppendCounted(binary.AppendUvarint(r.changed[a].now, uint64(c.Leaf)), c.Text)
		}
	}
	for i := range w.arguments {
		c, facts := &r.changed[i], &w.arguments[i].facts
		if len(c.now) > 0 {
			if facts = &c.facts; !bytes.Equal(c.now, c.before) {
				c.facts = l.facts(i)
				c.before, c.now = c.now, c.before
			}
			c.now = c.now[:0]
		}
		k.Add(w.arguments[i].name, facts, q)
	}
	return k
}
