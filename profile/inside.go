package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Metrics of the frames of scopes inside of kernels, as Triton's Proton names them. They are exclusive: a scope's cycles
// include those of the scopes inside of it.
const (
	CyclesMetric           = "cycles"            // summed over warps, blocks and launches
	NormalizedCyclesMetric = "normalized_cycles" // cycles of a launch by its warps that were recorded, summed over launches
)

// Inside is what the instrumentation of kernels recorded at exactly one call path. One pointer is nil.
type Inside struct {
	Kernel *InsideKernel // at the frame of a kernel
	Scope  *InsideScope  // at the frame of a scope, below it
}

// InsideKernel sums the instrumented launches of a kernel.
type InsideKernel struct {
	Launches  uint64
	Blocks    uint64 // that were decoded
	Warps     uint64 // of these blocks, those that were recorded: what a scope's cycles are shared by
	AllWarps  uint64 // of these blocks, recorded or not
	Nanos     uint64 // that these blocks ran, one by one, without the copying of their records
	CopyNanos uint64 // that they copied records at least
	WarpNanos uint64 // that recorded warps existed
	Cycles    uint64 // the same, by the measured rates of the clocks; 0 if none could be measured
	CyclesOff uint64 // by how many cycles that may be too many or too few; as many as Cycles if there is no upper bound
	Losses    InsideLosses

	Times  *Sketch       // how long each block ran, in ns
	BySM   []InsideShare // blocks and their ns by multiprocessor
	Builds []InsideBuild // in order
}

// InsideBuild is one way in which the kernel was compiled.
type InsideBuild struct {
	Mode     string // of the instrumentation
	Triton   string // version of the compiler
	Arch     string // as of a Device
	Warps    int    // of a block
	SlotSize int    // bytes that a block leaves
	Rings    int    // of these, those of its records; 0 if no block has come
}

// InsideScope sums the times that warps were in a scope.
type InsideScope struct {
	Cycles  uint64 // sum of Each
	Events  uint64 // times that are events, which another warp may end
	Crossed uint64 // of these, those that another warp did end

	Each   *Sketch       // cycles of each time
	ByWarp []InsideShare // times and cycles by number of the warp in its block
	BySM   []InsideShare // times and cycles by multiprocessor
	Sums   *Sketch       // of a warp's cycles in one block, of warps that were in the scope
	Lines  []InsideLine  // of the code, in order
}

// InsideShare is the part of one warp number or of one multiprocessor. Lists of them are in order.
type InsideShare struct {
	At            uint32
	Count, Amount uint64
}

// InsideLine is where a scope begins.
type InsideLine struct {
	File string
	Line int
}

// InsideLosses counts what the records of kernels do not say, or do not say for sure.
type InsideLosses struct {
	NotStarted uint64 // slots of blocks that never ran
	Unfinished uint64 // blocks that did not reach their end
	Invalid    uint64 // slots whose numbers contradict each other
	Missing    uint64 // slots that the buffer is too short for
	Launches   uint64 // launches whose buffer did not arrive

	Overwritten uint64 // entries that younger ones have overwritten in a full ring
	FullRings   uint64 // rings that were full
	Need        uint64 // bytes of rings per block that would have held everything; 0 if nothing was overwritten. It does not add up

	Starts  uint64 // starts without an end
	Ends    uint64 // ends without a start, other than those whose start was overwritten
	Unknown uint64 // times of scopes that the kernel's table does not have
	Torn    uint64 // clocks whose halves were read on both sides of a carry; they are repaired
	Unsure  uint64 // times that may be off by a multiple of 2^32 cycles: 32-bit clocks in a block of more than a second
	Broken  uint64 // times left out: their clocks cannot be those of one block
}

// Figure is a number of a struct, with its name in files.
type Figure struct {
	Name  string
	Value *uint64
}

// OnlyInside takes out the frames that were recorded for their time alone: of what is left, a frame or one below it was
// instrumented, or has a metric that is not a kernel's.
func (p *Profile) OnlyInside() {
	var nodes []*Node
	p.Root.Walk(func(n *Node, _ int) bool { nodes = append(nodes, n); return true })
	for _, n := range slices.Backward(nodes) {
		n.Children = slices.DeleteFunc(n.Children, func(c *Node) bool {
			return len(c.Children) == 0 && c.Inside == nil && !slices.ContainsFunc(c.Metrics, notOfKernels)
		})
	}
}

func notOfKernels(m Metric) bool {
	return m.Name != TimeMetric && m.Name != CountMetric && m.Name != DeviceIDMetric && m.Name != DeviceTypeMetric
}

// Figures lists the numbers in order of name.
func (k *InsideKernel) Figures() []Figure {
	return []Figure{
		{"all_warps", &k.AllWarps}, {"blocks", &k.Blocks}, {"copy_ns", &k.CopyNanos}, {"cycles", &k.Cycles}, {"cycles_off", &k.CyclesOff},
		{"launches", &k.Launches}, {"ns", &k.Nanos}, {"warp_ns", &k.WarpNanos}, {"warps", &k.Warps},
	}
}

// Figures is as that of InsideKernel.
func (s *InsideScope) Figures() []Figure {
	return []Figure{{"crossed", &s.Crossed}, {"cycles", &s.Cycles}, {"events", &s.Events}}
}

// Figures is as that of InsideKernel.
func (l *InsideLosses) Figures() []Figure {
	return []Figure{
		{"broken", &l.Broken}, {"ends", &l.Ends}, {"full_rings", &l.FullRings}, {"invalid", &l.Invalid}, {"launches", &l.Launches},
		{"missing", &l.Missing}, {"need", &l.Need}, {"not_started", &l.NotStarted}, {"overwritten", &l.Overwritten},
		{"starts", &l.Starts}, {"torn", &l.Torn}, {"unfinished", &l.Unfinished}, {"unknown", &l.Unknown}, {"unsure", &l.Unsure},
	}
}

// Add adds other losses.
func (l *InsideLosses) Add(o *InsideLosses) {
	need := max(l.Need, o.Need)
	addFigures(l.Figures(), o.Figures())
	l.Need = need
}

// Any reports whether something was lost that a reader of the numbers has to know. Clocks that were repaired do not count.
func (l *InsideLosses) Any() bool {
	rest := *l
	rest.Torn = 0
	return rest != InsideLosses{}
}

func addFigures(to, from []Figure) {
	for i, f := range from {
		*to[i].Value += *f.Value
	}
}

// Rate is how many cycles the clock makes in a ns, on average over the recorded warps; 0 if it was not measured.
func (k *InsideKernel) Rate() float64 {
	if k.WarpNanos == 0 {
		return 0
	}
	return float64(k.Cycles) / float64(k.WarpNanos)
}

// RateOff is by how much Rate may be off.
func (k *InsideKernel) RateOff() float64 {
	if k.WarpNanos == 0 {
		return 0
	}
	return float64(k.CyclesOff) / float64(k.WarpNanos)
}

// Count is how often warps were in the scope.
func (s *InsideScope) Count() uint64 {
	if s.Each == nil {
		return 0
	}
	return s.Each.Count
}

// Merge adds what another node of the same call path has.
func (i *Inside) Merge(o *Inside) {
	if o == nil {
		return
	}
	if o.Kernel != nil {
		if i.Kernel == nil {
			i.Kernel = &InsideKernel{}
		}
		i.Kernel.merge(o.Kernel)
	}
	if o.Scope != nil {
		if i.Scope == nil {
			i.Scope = &InsideScope{}
		}
		i.Scope.merge(o.Scope)
	}
}

// MergeInside is Merge for values that may be nil. It changes and returns a, or returns a copy of b.
func MergeInside(a, b *Inside) *Inside {
	if b == nil {
		return a
	}
	if a == nil {
		a = &Inside{}
	}
	a.Merge(b)
	return a
}

func (k *InsideKernel) merge(o *InsideKernel) {
	addFigures(k.Figures(), o.Figures())
	k.Losses.Add(&o.Losses)
	k.Times = mergedSketch(k.Times, o.Times)
	k.BySM = mergeShares(k.BySM, o.BySM)
	k.Builds = union(k.Builds, o.Builds, InsideBuild.compare)
}

func (s *InsideScope) merge(o *InsideScope) {
	addFigures(s.Figures(), o.Figures())
	s.Each = mergedSketch(s.Each, o.Each)
	s.Sums = mergedSketch(s.Sums, o.Sums)
	s.ByWarp = mergeShares(s.ByWarp, o.ByWarp)
	s.BySM = mergeShares(s.BySM, o.BySM)
	s.Lines = union(s.Lines, o.Lines, InsideLine.compare)
}

func mergedSketch(a, b *Sketch) *Sketch {
	if a == nil {
		return b.Clone()
	}
	a.Merge(b)
	return a
}

// mergeShares adds up two lists that are in order.
func mergeShares(a, b []InsideShare) []InsideShare {
	if len(b) == 0 {
		return a
	}
	all := make([]InsideShare, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].At < b[0].At:
			all, a = append(all, a[0]), a[1:]
		case b[0].At < a[0].At:
			all, b = append(all, b[0]), b[1:]
		default:
			all = append(all, InsideShare{a[0].At, a[0].Count + b[0].Count, a[0].Amount + b[0].Amount})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// union has what is in either list, once and in order.
func union[T comparable](a, b []T, compare func(T, T) int) []T {
	if len(b) == 0 {
		return a
	}
	all := append(slices.Clone(a), b...)
	slices.SortFunc(all, compare)
	return slices.Compact(all)
}

func (b InsideBuild) compare(o InsideBuild) int {
	return cmp.Or(cmp.Compare(b.Mode, o.Mode), cmp.Compare(b.Triton, o.Triton), cmp.Compare(b.Arch, o.Arch),
		cmp.Compare(b.Warps, o.Warps), cmp.Compare(b.SlotSize, o.SlotSize), cmp.Compare(b.Rings, o.Rings))
}

func (l InsideLine) compare(o InsideLine) int {
	return cmp.Or(cmp.Compare(l.File, o.File), cmp.Compare(l.Line, o.Line))
}

// Check says what is wrong with sums that were not made by Merge alone, such as those of a file.
func (i *Inside) Check() error {
	if k := i.Kernel; k != nil {
		if err := checkShares(k.BySM); err != nil {
			return err
		}
		if !slices.IsSortedFunc(k.Builds, InsideBuild.compare) {
			return errors.New("builds are not in order")
		}
	}
	if s := i.Scope; s != nil {
		if err := cmp.Or(checkShares(s.ByWarp), checkShares(s.BySM)); err != nil {
			return err
		}
		if s.Events > s.Count() || s.Crossed > s.Events {
			return fmt.Errorf("%d times, of which %d are events, of which another warp ended %d", s.Count(), s.Events, s.Crossed)
		}
		if !slices.IsSortedFunc(s.Lines, InsideLine.compare) {
			return errors.New("lines are not in order")
		}
	}
	return nil
}

func checkShares(list []InsideShare) error {
	for i := range list {
		if i > 0 && list[i].At <= list[i-1].At {
			return fmt.Errorf("number %d comes after %d", list[i].At, list[i-1].At)
		}
	}
	return nil
}
