package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/mlir"
)

// Difference is the first value of which two texts differ.
type Difference struct {
	Program  [3]int32 `json:"program"`
	Variable string   `json:"variable"` // "what is stored" of a store
	Times    int      `json:"times"`    // the how-manieth value that the variable had there, from 1
	A        Place    `json:"a"`
	B        Place    `json:"b"`
	Element  int      `json:"element"` // in row-major order
	Count    int      `json:"count"`   // of elements that differ
	Of       int      `json:"of"`
	Off      float64  `json:"off"`               // the largest difference by the largest number
	Finding  string   `json:"finding,omitempty"` // of one side only
}

// Place is a value in one text.
type Place struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	TTIR    int    `json:"ttir"` // the line of the text
	Op      string `json:"op"`
	Value   string `json:"value"`
	Address int64  `json:"-"`
}

// Compared is what was compared.
type Compared struct {
	First    *Difference `json:"first"` // nil if nothing differs
	Programs int         `json:"programs"`
	Values   int         `json:"values"`
	OnlyA    []string    `json:"only_a,omitempty"` // variables and lines that one text has
	OnlyB    []string    `json:"only_b,omitempty"`
}

// key is what a value is called in both texts.
type key struct {
	name string
	line string
	turn int
}

func frame(e *event) mlir.Frame {
	if len(e.frames) == 0 {
		return mlir.Frame{}
	}
	return e.frames[0]
}

// keys gives the events of variables and stores their names; lines says whether the line of the source is part of it.
func keys(list []*event, lines bool) ([]key, []*event) {
	var names []key
	var kept []*event
	turns := map[key]int{}
	for _, e := range list {
		if e.name == "" {
			continue
		}
		k := key{name: e.name}
		if f := frame(e); lines {
			k.line = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		turns[k]++
		k.turn = turns[k]
		names, kept = append(names, k), append(kept, e)
	}
	return names, kept
}

// Texts runs two texts of a kernel, one program instance after another, until a variable or a store differs.
func Texts(a, b *Side, o Options) (*Compared, error) {
	c := &Compared{}
	only := [2]map[string]bool{{}, {}}
	err := o.instances(func(at [3]int32) error {
		if c.First != nil {
			return nil
		}
		c.Programs++
		var left, right keeper
		foundA, err := a.run(o.Grid, at, left.keep)
		if err != nil {
			return err
		}
		foundB, err := b.run(o.Grid, at, right.keep)
		if err != nil {
			return err
		}
		c.instance(at, &left, &right, only, &o)
		if x, y := text(foundA), text(foundB); c.First == nil && x != y {
			c.First = &Difference{Program: at, Finding: fmt.Sprintf("a: %s; b: %s", x, y)}
		}
		return nil
	})
	for side, list := range []*[]string{&c.OnlyA, &c.OnlyB} {
		for name := range only[side] {
			*list = append(*list, name)
		}
		slices.Sort(*list)
	}
	return c, err
}

func text(f *interpreter.Finding) string {
	if f == nil {
		return "no finding"
	}
	return f.Error()
}

// instance compares what one instance did. Lines are part of a variable's name if the texts have most of them in common.
func (c *Compared) instance(at [3]int32, left, right *keeper, only [2]map[string]bool, o *Options) {
	namesA, listA := keys(left.list, true)
	namesB, listB := keys(right.list, true)
	if 2*common(namesA, namesB) < min(len(namesA), len(namesB)) {
		namesA, listA = keys(left.list, false)
		namesB, listB = keys(right.list, false)
	}
	other := map[key]int{}
	for i, k := range namesB {
		other[k] = i
	}
	for i, k := range namesA {
		n, ok := other[k]
		if !ok {
			only[0][describe(k, listA[i])] = true
			continue
		}
		delete(other, k)
		c.Values++
		if c.First == nil {
			c.First = differ(at, k, listA[i], listB[n], o)
		}
	}
	for k, n := range other {
		only[1][describe(k, listB[n])] = true
	}
}

func describe(k key, e *event) string {
	if f := frame(e); f.File != "" {
		return fmt.Sprintf("%s (line %d)", k.name, f.Line)
	}
	return k.name
}

func common(a, b []key) (n int) {
	set := map[key]bool{}
	for _, k := range a {
		set[k] = true
	}
	for _, k := range b {
		if set[k] {
			n++
		}
	}
	return n
}

// differ returns the difference of two values; nil if they are near enough.
func differ(at [3]int32, k key, a, b *event, o *Options) *Difference {
	off, first, count := worst(a.values, b.values, o)
	of, isFloat := a.count()
	if _, too := b.count(); first < 0 && slices.Equal(a.addresses, b.addresses) && isFloat == too {
		return nil
	}
	d := &Difference{Program: at, Variable: k.name, Times: k.turn, A: place(a, first), B: place(b, first), Element: max(first, 0), Count: count, Off: off, Of: of}
	if first < 0 { // the same values at other addresses
		for i := range a.addresses {
			if i < len(b.addresses) && a.addresses[i] != b.addresses[i] {
				d.Element, d.Count = i, cmp.Or(d.Count, 1)
				d.A.Value, d.B.Value = fmt.Sprintf("at address %#x", a.addresses[i]), fmt.Sprintf("at address %#x", b.addresses[i])
				break
			}
		}
	}
	return d
}

func place(e *event, i int) Place {
	f := frame(e)
	p := Place{File: f.File, Line: f.Line, TTIR: int(e.op.Line), Op: e.op.Name, Value: "nothing"}
	switch v := e.values.(type) {
	case []int64:
		if i >= 0 && i < len(v) {
			p.Value = fmt.Sprint(v[i])
		}
	case []float64:
		if i >= 0 && i < len(v) {
			p.Value = fmt.Sprintf("%.9g", v[i])
		}
	}
	return p
}
