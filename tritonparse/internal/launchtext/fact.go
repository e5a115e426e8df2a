package launchtext

import (
	"slices"

	"github.com/goproton/goproton/tritonparse/internal/store"
)

// Fact is a value that a program passed: the hash of the value's place and the hash of its text. There are no facts of the
// addresses, contents and devices of tensors.
type Fact struct{ Place, Value uint32 }

// fact returns zero for a value that the program did not pass.
func (p *LeafPath) fact(text []byte) Fact {
	if p.identity == 0 {
		return Fact{}
	}
	return Fact{p.identity, FactValue(text)}
}

// FactValue is the hash of a text, as it is in a Fact.
func FactValue[T string | []byte](text T) uint32 { return uint32(store.Hash64(text)) }

// sum turns a fact into a number, so that facts can be added up in any order.
func (f Fact) sum() uint64 {
	h := uint64(f.Place)<<32 | uint64(f.Value)
	h = (h ^ h>>31) * 0x7fb5d329728ea185
	return h ^ h>>27
}

// ArgumentHash is equal for launches with equal facts, and hardly ever for others.
func (l *Launch) ArgumentHash() uint64 {
	h := l.Template.arguments
	for i := range l.Changes {
		c := &l.Changes[i]
		if p := l.Shape.Places[c.Leaf]; p.identity != 0 {
			h += p.fact(c.Text).sum() - p.fact(l.Leaves[c.Leaf].Text).sum()
		}
	}
	return h
}

// Facts are those of the launch, by their places; nil if it has none.
func (l *Launch) Facts() []Fact {
	var room [128]Fact
	all := room[:0]
	l.Each(func(p *LeafPath, text []byte) {
		if f := p.fact(text); f.Place != 0 {
			all = append(all, f)
		}
	})
	slices.SortFunc(all, func(a, b Fact) int { return int(int64(a.Place) - int64(b.Place)) })
	return append([]Fact(nil), all...)
}

// FactsHash is ArgumentHash of facts without those at some places.
func FactsHash(facts []Fact, without map[uint32]bool) uint64 {
	h := uint64(0)
	for _, f := range facts {
		if !without[f.Place] {
			h += f.sum()
		}
	}
	return h
}

// CompareFacts calls f with every place of which both launches have a fact, and reports whether all facts are equal.
func CompareFacts(a, b []Fact, f func(place uint32, equal bool)) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Place < b[0].Place:
			a = a[1:]
		case a[0].Place > b[0].Place:
			b = b[1:]
		default:
			f(a[0].Place, a[0] == b[0])
			a, b = a[1:], b[1:]
		}
	}
}
