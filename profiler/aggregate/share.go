package aggregate

import (
	"cmp"
	"math/bits"
	"slices"
)

// shares is what one tree gets of the samples of a period.
type shares struct {
	apportioned uint64                      // samples of functions that several nodes of it launched
	unlaunched  map[uint32][]cell           // of functions without a known launch, by number
	nodes       map[*node]map[uint32][]cell // nil: nodes get theirs at once
}

// Apportion gives the samples of the period that ends to those who launched the sampled functions. Call it when
// everything that was launched has run, its kernels were added, and its samples too.
func (a *Aggregator) Apportion() {
	s := a.Sampling
	s.count()
	a.share((*Tree).shares)
	for _, f := range s.functions {
		if len(f.launchers) > 0 {
			f.before = f.launchers
		}
		f.launchers, f.samples = nil, nil
	}
	clear(s.launchers)
	s.recent = newRecent()
	a.Reset() // routes hold launchers
}

// count keeps the totals of a run's closing line.
func (s *Sampling) count() {
	by := s.launchersByName()
	for _, f := range s.functions {
		if len(f.samples) == 0 {
			continue
		}
		switch places := merged(s.launchersOf(f, by)); {
		case len(places) == 0:
			s.Unlaunched += f.samples.total()
		case len(places) > 1:
			s.Apportioned += f.samples.total()
		}
	}
}

// shares returns what the tree has for good.
func (t *Tree) shares() *shares {
	if t.shared == nil {
		t.shared = &shares{unlaunched: map[uint32][]cell{}}
	}
	return t.shared
}

// sofar returns what a tree would get if the period ended now.
func (a *Aggregator) sofar(t *Tree) *shares {
	out := &shares{unlaunched: map[uint32][]cell{}, nodes: map[*node]map[uint32][]cell{}}
	a.share(func(x *Tree) *shares {
		if x == t {
			return out
		}
		return nil
	})
	return out
}

// share hands out the samples of every function. of returns what a tree gets, nil for one that is of no interest.
func (a *Aggregator) share(of func(*Tree) *shares) {
	by := a.Sampling.launchersByName()
	for i, f := range a.Sampling.functions {
		if len(f.samples) == 0 {
			continue
		}
		cells := f.samples.cells()
		if from := merged(a.Sampling.launchersOf(f, by)); len(from) > 0 {
			apportion(cells, uint32(i+1), from, of)
			continue
		}
		for _, t := range a.Sets.trees(f.set) {
			if out := of(t); out != nil {
				out.unlaunched[uint32(i+1)] = joinCells(out.unlaunched[uint32(i+1)], cells)
			}
		}
	}
}

// byName are launchers of functions of one name.
type byName struct {
	unknown map[string][]*launcher // their module is not known: any function of that name may be theirs
	all     map[string][]*launcher
}

func (s *Sampling) launchersByName() byName {
	by := byName{map[string][]*launcher{}, map[string][]*launcher{}}
	for _, f := range s.functions {
		if len(f.launchers) == 0 {
			continue
		}
		by.all[f.Name] = append(by.all[f.Name], f.launchers...)
		if f.Module == 0 {
			by.unknown[f.Name] = append(by.unknown[f.Name], f.launchers...)
		}
	}
	return by
}

// merged joins launchers that lead to the same nodes: there are more routes than places.
func merged(from []*launcher) []*launcher {
	if len(from) < 2 {
		return from
	}
	var out []*launcher
	seen := map[*node][]*launcher{} // by the node in the first tree; nil for those that lead nowhere
	for _, l := range from {
		var first *node
		if len(l.to) > 0 {
			first = l.to[0].node
		}
		same := slices.IndexFunc(seen[first], func(x *launcher) bool { return slices.Equal(x.to, l.to) })
		if same < 0 {
			own := *l
			seen[first] = append(seen[first], &own)
			out = append(out, &own)
			continue
		}
		seen[first][same].join(l)
	}
	return out
}

func (l *launcher) join(other *launcher) {
	l.count += other.count
	l.nanos += other.nanos
}

// apportion shares the samples of a function, instruction by instruction and reason by reason, among its launchers.
func apportion(cells []cell, function uint32, from []*launcher, of func(*Tree) *shares) {
	unsure := ambiguous(from)
	for i, cells := range divided(cells, weights(from)) {
		for _, to := range from[i].to {
			out := of(to.tree)
			if out == nil {
				continue
			}
			out.give(to.node, function, cells)
			if unsure[to.tree] {
				out.apportioned += sumOf(cells)
			}
		}
	}
}

// divided returns the part of each weight.
func divided(cells []cell, weights []uint64) [][]cell {
	if len(weights) == 1 {
		return [][]cell{cells}
	}
	by := newDivider(weights)
	parts := make([][]cell, len(weights))
	working := make([]uint64, len(weights))
	for _, c := range cells {
		copy(working, by.divide(c.samples-c.notIssued))
		for i, waiting := range by.divide(c.notIssued) {
			if n := working[i] + waiting; n > 0 {
				parts[i] = append(parts[i], cell{c.pcReason, tally{n, waiting}})
			}
		}
	}
	return parts
}

func (s *shares) give(n *node, function uint32, cells []cell) {
	if len(cells) == 0 {
		return
	}
	if s.nodes == nil {
		has := n.sampled(function)
		has.shared = joinCells(has.shared, cells)
		return
	}
	if s.nodes[n] == nil {
		s.nodes[n] = map[uint32][]cell{}
	}
	s.nodes[n][function] = joinCells(s.nodes[n][function], cells)
}

// ambiguous returns the trees whose samples are a share by kernel time: those in which several nodes launched the function,
// or which did not have all its launches.
func ambiguous(from []*launcher) map[*Tree]bool {
	nodes, launches, out := map[*Tree]*node{}, map[*Tree]int{}, map[*Tree]bool{}
	for _, l := range from {
		for _, to := range l.to {
			launches[to.tree]++
			if n := nodes[to.tree]; n != nil && n != to.node {
				out[to.tree] = true
			}
			nodes[to.tree] = to.node
		}
	}
	for t, n := range launches {
		out[t] = out[t] || n < len(from)
	}
	return out
}

// weights are by kernel time; where no kernel could be timed by launches, and where no kernel was seen equal.
func weights(from []*launcher) []uint64 {
	for _, weight := range []func(*launcher) uint64{
		func(l *launcher) uint64 { return l.nanos },
		func(l *launcher) uint64 { return l.count },
		func(*launcher) uint64 { return 1 },
	} {
		var out []uint64
		some := uint64(0)
		for _, l := range from {
			w := weight(l)
			out = append(out, w)
			some |= w
		}
		if some != 0 {
			return out
		}
	}
	return nil
}

// divider divides whole numbers by weights. Each gets what it is due rounded down or up, and nothing is lost. What
// rounding takes from one is remembered for the next number, so that many small numbers add up right as well: with
// each on its own, those with the least weight would get nothing of a thousand ones.
type divider struct {
	weights []uint64
	total   uint64
	owed    []int64 // in parts of total
	order   []int
	out     []uint64
}

// mostWeight keeps sums of weights, and what is owed, within an int64.
const mostWeight = 1 << 60

func newDivider(weights []uint64) *divider {
	d := &divider{weights: slices.Clone(weights), owed: make([]int64, len(weights)), order: make([]int, len(weights)), out: make([]uint64, len(weights))}
	for _, w := range weights {
		d.total += min(w, mostWeight/uint64(len(weights)))
	}
	for i := range d.weights {
		d.weights[i] = min(d.weights[i], mostWeight/uint64(len(weights)))
		d.order[i] = i
	}
	return d
}

// divide returns the parts of n. They are overwritten by the next call.
func (d *divider) divide(n uint64) []uint64 {
	left := n
	for i, w := range d.weights {
		high, low := bits.Mul64(n, w)
		whole, rest := bits.Div64(high, low, d.total)
		d.out[i] = whole
		d.owed[i] += int64(rest)
		left -= whole
	}
	for _, i := range d.mostOwed(int(left)) {
		d.out[i]++
		d.owed[i] -= int64(d.total)
	}
	return d.out
}

// mostOwed returns those n who are owed most; of equals the first.
func (d *divider) mostOwed(n int) []int {
	const few = 4 // looking for each costs less than sorting
	if n > few {
		slices.SortFunc(d.order, d.compare)
		return d.order[:n]
	}
	for i := range n {
		most := i
		for j := i + 1; j < len(d.order); j++ {
			if d.compare(d.order[j], d.order[most]) < 0 {
				most = j
			}
		}
		d.order[i], d.order[most] = d.order[most], d.order[i]
	}
	return d.order[:n]
}

func (d *divider) compare(a, b int) int {
	return cmp.Or(cmp.Compare(d.owed[b], d.owed[a]), cmp.Compare(a, b))
}
