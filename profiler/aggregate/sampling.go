package aggregate

import (
	"slices"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profiler/callpath"
)

// Sampling brings samples to the call paths that launched what was sampled. A sample of a continuous sampler names a
// function and nothing else, and it comes late: so samples are kept by function, together with the launchers of the
// function and how long it then ran, until everything that was launched is known to have run and to have been sampled.
// Then Apportion gives each launcher its share. A function with one launcher, the usual case, keeps all its samples.
type Sampling struct {
	OfLaunches bool // samples name their launches
	ByLine     bool // samples are counts of launches, of which no other record comes

	// Callers returns, for a module's functions that are not kernels, which of its kernels call them; false if its code is
	// not known. It may be nil, and is asked once for each module.
	Callers func(module uint64) (map[string][]string, bool)

	Taken       uint64 // samples so far
	Apportioned uint64 // of them, those that Apportion divided among several places
	Unlaunched  uint64 // and those of functions without a known launch

	functions []*function // by number - 1
	numbers   map[code]uint32
	callers   map[uint64]map[string][]string // by module
	launchers map[cacheKey]*launcher
	recent    recent // launches that a sample may still name
}

// code identifies a function. Within a module names are unique: the index in its symbol table adds nothing.
type code struct {
	module uint64
	name   string
}

// function is one function of the GPU in the current period: since the last Apportion.
type function struct {
	record.Function
	launchers []*launcher
	before    []*launcher // those of the period before
	samples   tallies     // that no launcher has yet
	set       uint32      // who listened when the last of them came
	launched  bool        // it is a kernel: it was launched at some time
}

// launcher is a place that launches a function.
type launcher struct {
	function     uint32 // that it launches
	count, nanos uint64
	to           []target // none: no session listened, or those that did are gone
}

// target is where the samples of a launcher go in one tree.
type target struct {
	tree *Tree
	node *node
}

// NewSampling returns the sampling of one aggregator.
func NewSampling(ofLaunches bool) *Sampling {
	return &Sampling{OfLaunches: ofLaunches, numbers: map[code]uint32{}, callers: map[uint64]map[string][]string{}, launchers: map[cacheKey]*launcher{}, recent: newRecent()}
}

// Number returns the number of a function, from 1. One whose module is not known has module 0.
func (s *Sampling) Number(f record.Function) uint32 {
	key := code{f.Module, f.Name}
	n, ok := s.numbers[key]
	if !ok {
		s.functions = append(s.functions, &function{Function: f})
		n = uint32(len(s.functions))
		s.numbers[key] = n
	}
	if known := s.function(n); known.Index == 0 {
		known.Index = f.Index
	}
	return n
}

func (s *Sampling) function(number uint32) *function { return s.functions[number-1] }

// functionOf returns the number of the function that an activity ran, 0 for what is not a kernel.
func (s *Sampling) functionOf(k *record.Activity, at *callpath.Attribution) uint32 {
	switch {
	case k.Kind != record.Kernel:
		return 0
	case at.Function != 0:
		return at.Function
	}
	return s.Number(record.Function{Name: k.Name})
}

// launcher finds or makes the launcher of a key that names a function.
func (a *Aggregator) launcher(key cacheKey, order uint64) *launcher {
	s := a.Sampling
	if l := s.launchers[key]; l != nil {
		return l
	}
	l := &launcher{}
	for _, t := range a.Sets.trees(key.launch.Set) {
		l.to = append(l.to, target{t, t.leaf(key, order)})
	}
	s.take(key, l)
	return l
}

func (s *Sampling) take(key cacheKey, l *launcher) {
	s.launchers[key], l.function = l, key.function
	f := s.function(key.function)
	f.launchers, f.launched = append(f.launchers, l), true
}

// unattributed returns the launcher of kernels whose launch was lost.
func (a *Aggregator) unattributed(k *record.Activity, set uint32) *launcher {
	s := a.Sampling
	key := cacheKey{launch: callpath.Place{Set: set}, name: k.Name, function: s.Number(record.Function{Name: k.Name}), kind: record.Graph} // no kernel has such a key
	if l := s.launchers[key]; l != nil {
		return l
	}
	l := &launcher{}
	for _, t := range a.Sets.trees(set) {
		l.to = append(l.to, target{t, t.root.child(UnattributedFrame, lastOrder).child(k.Name, lastOrder)})
	}
	s.take(key, l)
	return l
}

func (l *launcher) add(k *record.Activity) {
	l.count++
	if k.Timed() {
		l.nanos += k.Duration()
	}
}

// AddSample adds a sample. waiting finds the launch that a sample names when its kernel has not been seen yet; set
// is who gets samples of functions that were never seen launching.
func (a *Aggregator) AddSample(r *record.Sample, set uint32, waiting func(correlation uint64) (callpath.Attribution, bool)) {
	s := a.Sampling
	for _, stall := range r.Stalls {
		s.Taken += uint64(stall.Samples)
	}
	number := s.Number(record.Function{Module: r.Module, Index: r.Index, Name: r.Function})
	if l := a.launcherOf(r, number, waiting); l != nil {
		if s.launches(l, r.Function) {
			number = l.function
		}
		for _, to := range l.to {
			to.node.exact(number).take(r)
		}
		return
	}
	f := s.function(number)
	if f.samples == nil {
		f.samples = tallies{}
	}
	f.samples.take(r)
	f.set = set
}

// launches reports whether a launcher is known to launch the function of that name, and from which module. The module of a
// sample may be one that the vendor library does not name for sure.
func (s *Sampling) launches(l *launcher, name string) bool {
	if l.function == 0 {
		return false
	}
	f := s.function(l.function)
	return f.Module != 0 && f.Name == name
}

// remember keeps who launched a kernel for samples that name their launch, which may come after it.
func (s *Sampling) remember(k *record.Activity, l *launcher) {
	if s.OfLaunches {
		s.recent.add(k.Correlation, l)
	}
}

// launcherOf finds the launch that a sample names. Its kernel's record may come before or after it.
func (a *Aggregator) launcherOf(r *record.Sample, number uint32, waiting func(uint64) (callpath.Attribution, bool)) *launcher {
	if r.Correlation == 0 {
		return nil
	}
	if l := a.Sampling.recent.find(r.Correlation); l != nil {
		return l
	}
	at, ok := waiting(r.Correlation)
	if !ok || at.Graph {
		return nil
	}
	kernel := a.Sampling.kernelOf(number, &at)
	if kernel == 0 {
		return nil
	}
	l := a.launcher(cacheKey{launch: at.Launch, name: a.Sampling.function(kernel).Name, function: kernel}, launchOrder(at.Order))
	a.Sampling.recent.add(r.Correlation, l)
	if a.Sampling.ByLine { // this is its first
		a.Kernels++
		for _, to := range l.to {
			to.node.on(r.Device, record.Kernel, to.tree.Times).lined++
		}
	}
	return l
}

// nodeSamples are the samples of one function at one node.
type nodeSamples struct {
	shared []cell  // by Apportion
	exact  tallies // of launches that they name
}

func (s *nodeSamples) cells() []cell { return joinCells(s.shared, s.exact.cells()) }

func (n *node) sampled(function uint32) *nodeSamples {
	if n.samples == nil {
		n.samples = map[uint32]*nodeSamples{}
	}
	if n.samples[function] == nil {
		n.samples[function] = &nodeSamples{}
	}
	return n.samples[function]
}

func (n *node) exact(function uint32) tallies {
	s := n.sampled(function)
	if s.exact == nil {
		s.exact = tallies{}
	}
	return s.exact
}

// Drop forgets a tree.
func (a *Aggregator) Drop(t *Tree) {
	a.Sets.Drop(t)
	if a.Sampling != nil {
		a.Sampling.drop(t)
		a.Reset()
	}
}

// drop forgets a tree. What ran for no other tree still counts when samples are apportioned, but one launcher
// per function is enough for it.
func (s *Sampling) drop(t *Tree) {
	for _, f := range s.functions {
		f.launchers, f.before = forget(f.launchers, t), forget(f.before, t)
	}
	for key, l := range s.launchers {
		if len(l.to) == 0 {
			delete(s.launchers, key)
		}
	}
}

func forget(launchers []*launcher, t *Tree) []*launcher {
	var gone *launcher
	left := launchers[:0]
	for _, l := range launchers {
		l.forget(t)
		if len(l.to) > 0 {
			left = append(left, l)
			continue
		}
		if gone == nil {
			gone = &launcher{}
			left = append(left, gone)
		}
		gone.join(l)
	}
	clear(launchers[len(left):])
	return left
}

func (l *launcher) forget(t *Tree) {
	l.to = slices.DeleteFunc(l.to, func(to target) bool { return to.tree == t })
}

// recent remembers the launchers of the last kernels by correlation id.
type recent struct {
	byID map[uint64]*launcher
	ids  []uint64 // a ring
	next int
}

// mostRecent is far more than a buffer of kernel records holds (10,500), which is what can lie between a kernel's
// record and its samples.
const mostRecent = 1 << 16

func newRecent() recent { return recent{byID: map[uint64]*launcher{}} }

func (r *recent) add(id uint64, l *launcher) {
	if r.byID[id] != nil { // twice in the ring, it would be forgotten with the older
		r.byID[id] = l
		return
	}
	if len(r.ids) < mostRecent {
		r.ids = append(r.ids, id)
	} else {
		delete(r.byID, r.ids[r.next])
		r.ids[r.next] = id
		r.next = (r.next + 1) % mostRecent
	}
	r.byID[id] = l
}

func (r *recent) find(id uint64) *launcher { return r.byID[id] }
