package viewer

import (
	"fmt"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// nothing is recorded at it.
var nothing = &profile.Node{}

// countsWork says whether a metric counts flops or bytes, whatever its unit and the profile that it comes from.
func countsWork(metric string) bool {
	return profile.CountsWork(withoutOrigin(figures.MetricName(metric)))
}

// done is where the flops and bytes of a frame are recorded.
func (f *frame) done() *profile.Node {
	if f.work != nil {
		return f.work
	}
	return f.node
}

// lend decides which flops and bytes count where. It is called wherever a column needs them, and does its work once.
func (b *builder) lend() {
	if b.usesWork {
		return
	}
	b.usesWork = true
	b.lendWork()
	b.measure()
}

// lendWork has the flops and bytes of a scope count at the kernel below it, if that is the only one and nothing else below the scope has any. Then the
// rate of the kernel is known: that of a library's kernel in a scope, or of one below an operator of PyTorch. Sums over subtrees stay the same.
func (b *builder) lendWork() {
	elapsed, timed := b.find("time")
	var names []string
	for _, r := range b.recorded {
		if !r.text && countsWork(r.name) {
			names = append(names, r.name)
		}
	}
	if !timed || names == nil {
		return
	}
	kernels, works := make([]int32, len(b.frames)), make([]int32, len(b.frames)) // at and below each frame
	kernel := make([]int32, len(b.frames))                                       // the last
	for i := len(b.frames) - 1; i >= 0; i-- {
		f := &b.frames[i]
		if f.node.Number(elapsed.name) > 0 {
			kernels[i]++
			kernel[i] = int32(i)
		}
		own := hasAny(f.node, names)
		if own {
			works[i]++
		}
		if own && works[i] == 1 && kernels[i] == 1 && int(kernel[i]) != i && profile.WorkOf(b.frames[kernel[i]].node.Name) == profile.KernelWork {
			b.frames[kernel[i]].work, f.work = f.node, nothing
			b.lenders++
		}
		if i > 0 {
			kernels[f.parent] += kernels[i]
			works[f.parent] += works[i]
			if kernels[i] > 0 {
				kernel[f.parent] = kernel[i]
			}
		}
	}
}

func hasAny(n *profile.Node, metrics []string) bool {
	return slices.ContainsFunc(metrics, func(m string) bool { return n.Number(m) > 0 })
}

// markLent marks the rows whose flops and bytes, or those of some of their frames, are a scope's.
func (b *builder) markLent(t *Table, by Grouping) {
	if b.lenders == 0 {
		return
	}
	scopes, ofName := map[*profile.Node]string{}, map[string]string{}
	for i := range b.frames {
		if f := &b.frames[i]; f.work != nil && f.work != nothing && f.did == nil {
			scopes[f.node], ofName[f.node.Name] = f.work.Name, f.work.Name
		}
	}
	marked := 0
	for r := range t.All() {
		switch {
		case by == ByPath:
			r.WorkOf = scopes[r.Node]
		case by == ByName || r.Depth == 1:
			r.WorkOf = ofName[r.Name]
		}
		if r.WorkOf != "" {
			marked++
		}
	}
	if marked > 0 {
		b.note(fmt.Sprintf("%s flops and bytes of %s are those of the scope or operator around the kernel, which has no other kernel", LentMark, figures.Count(marked, "row")))
	}
}

// LentMark stands before the names of rows with Row.WorkOf, in views for people.
const LentMark = "*"
