package inside

import (
	"cmp"
	"slices"
)

// Roles of the blocks of a launch that a timeline shows: thousands would hide what matters.
const (
	FirstBlock   = "first block"   // to begin
	LongestBlock = "longest block" // from its begin to its last record
	MedianBlock  = "median block"  // of the times that blocks ran
	LastBlock    = "last block"    // to end
)

// Drawn is a block that a timeline shows, and why.
type Drawn struct {
	Program uint32
	Role    string
}

// Headers collects what is known of all blocks of a launch without their pairs.
type Headers struct{ list []Block }

// Add takes in a block.
func (h *Headers) Add(b *Block) {
	own := *b
	own.Pairs = nil
	h.list = append(h.list, own)
}

// Reset begins with the next launch.
func (h *Headers) Reset() { h.list = h.list[:0] }

// Span is when the first block began and when the last one ended, in ns of the global timer; 0 without blocks.
func (h *Headers) Span() (begin, end uint64) {
	for i := range h.list {
		b := &h.list[i]
		if i == 0 || b.Init < begin {
			begin = b.Init
		}
		end = max(end, b.PreFinal, b.PostFinal)
	}
	return begin, end
}

// Each passes all blocks on.
func (h *Headers) Each(f func(*Block)) {
	for i := range h.list {
		f(&h.list[i])
	}
}

// Drawn chooses blocks: one for each role that no block before it has.
func (h *Headers) Drawn() (chosen []Drawn) {
	if len(h.list) == 0 {
		return nil
	}
	ran := func(b *Block) uint64 { return b.PreFinal - b.Init }
	sorted := make([]*Block, len(h.list))
	for i := range h.list {
		sorted[i] = &h.list[i]
	}
	slices.SortFunc(sorted, func(a, b *Block) int { return cmp.Or(cmp.Compare(ran(a), ran(b)), cmp.Compare(a.Program, b.Program)) })
	first, last := sorted[0], sorted[0]
	for _, b := range sorted {
		if b.Init < first.Init {
			first = b
		}
		if b.PreFinal > last.PreFinal {
			last = b
		}
	}
	for _, c := range []struct {
		block *Block
		role  string
	}{{first, FirstBlock}, {sorted[len(sorted)-1], LongestBlock}, {sorted[len(sorted)/2], MedianBlock}, {last, LastBlock}} {
		if !slices.ContainsFunc(chosen, func(d Drawn) bool { return d.Program == c.block.Program }) {
			chosen = append(chosen, Drawn{c.block.Program, c.role})
		}
	}
	return chosen
}
