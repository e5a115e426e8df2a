package viewer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
)

// counted says whether hardware counters measured some launch of the profile.
func (b *builder) counted() bool { _, ok := b.index[counters.Launches]; return ok }

// target is a frame at which measured work counts: a kernel, or the scope or operator around it that says what its kernels do.
type target struct {
	bytes                      float64
	flops                      map[string]float64
	time, bytesTime, flopsTime float64 // of its kernels: of all, and of those that were measured
	measured                   int     // kernels
	declares                   bool    // it, and not only its kernels, has flops or bytes
}

// measure has the bytes and flops that hardware counters measured count instead of those that are declared or estimated. Both count at the same
// frame, since the least time is that of the longer of the two. Where only a part of what a scope declares was measured, what it declares counts.
func (b *builder) measure() {
	elapsed, timed := b.find("time")
	if !b.counted() || !timed {
		return
	}
	var declaring []string
	for _, r := range b.recorded {
		if !r.text && countsWork(r.name) {
			declaring = append(declaring, r.name)
		}
	}
	targets := map[int32]*target{}
	at := make([]int32, len(b.frames))     // the nearest frame that declares work, the frame itself included; -1 for none
	kernel := make([]int32, len(b.frames)) // the nearest frame that was measured
	lined := map[int32]bool{}              // kernels with lines below them that have work: of a profile of counts
	for i := range b.frames {
		f := &b.frames[i]
		at[i], kernel[i] = -1, -1
		if f.parent >= 0 {
			at[i], kernel[i] = at[f.parent], kernel[f.parent]
		}
		declares := hasAny(f.done(), declaring)
		if declares {
			at[i] = int32(i)
			lined[kernel[i]] = true
		}
		ran, measured := f.node.Number(elapsed.name), !math.IsNaN(counters.Stands(f.node))
		if measured {
			kernel[i] = int32(i)
		}
		if profile.WorkOf(f.node.Name) != profile.KernelWork || !measured && !(ran > 0) {
			continue
		}
		to := at[i]
		if to < 0 {
			to = int32(i)
		}
		if targets[to] == nil {
			targets[to] = &target{declares: at[i] >= 0, flops: map[string]float64{}}
		}
		targets[to].add(f, ran)
	}
	for _, i := range slices.Sorted(maps.Keys(targets)) {
		if !lined[i] {
			b.substitute(&b.frames[i], targets[i], declaring)
		}
	}
}

func (t *target) add(f *frame, ran float64) {
	ran = add(0, ran)
	t.time += ran
	bytes, flops := counters.WorkOf(f.node)
	if !math.IsNaN(bytes) {
		t.bytes, t.bytesTime = t.bytes+bytes, t.bytesTime+ran
	}
	if flops != nil {
		t.flopsTime += ran
	}
	for dtype, v := range flops {
		t.flops[profile.FlopsMetric(dtype)] += v
	}
	if !math.IsNaN(bytes) || flops != nil {
		t.measured++
	}
}

// wholly is the part of a time that stands for all of it.
const wholly = 0.99

// substitute gives a frame its measured work.
func (b *builder) substitute(f *frame, t *target, declaring []string) {
	whole := func(part float64) bool { return t.measured > 0 && part >= wholly*t.time && (part > 0 || t.time == 0) }
	bytes, flops := whole(t.bytesTime), whole(t.flopsTime)
	if !t.declares && bytes != flops {
		b.halves++ // a roofline of one of them would be far too low for half of all kernels
		return
	}
	if !bytes && !flops {
		if t.measured > 0 {
			b.partial++
			b.needMeasured()
		}
		return
	}
	did := &profile.Node{Name: f.node.Name}
	for _, metric := range declaring {
		if v := f.done().Number(metric); !math.IsNaN(v) && !(bytes && isBytes(metric)) && !(flops && !isBytes(metric)) {
			did.Set(metric, profile.FloatValue(v))
		}
	}
	if bytes {
		did.Set(profile.BytesMetric, profile.FloatValue(t.bytes))
		f.said = add(0, f.done().Number(profile.BytesMetric))
		b.measures(profile.BytesMetric)
	}
	for _, metric := range slices.Sorted(maps.Keys(t.flops)) { // the first is the roof of a picture
		if flops {
			did.Set(metric, profile.FloatValue(t.flops[metric]))
			b.measures(metric)
		}
	}
	f.did = did
	b.needMeasured()
}

// isBytes tells the metrics of bytes from those of flops.
func isBytes(metric string) bool {
	return withoutOrigin(figures.MetricName(metric)) == profile.BytesMetric
}

// measures adds a metric of measured work to those that rooflines and rates are made of.
func (b *builder) measures(metric string) {
	if !slices.ContainsFunc(b.measuredWork, func(r recorded) bool { return r.name == metric }) {
		b.measuredWork = append(b.measuredWork, recorded{name: metric, inclusive: true})
	}
}

// workMetrics are the metrics of flops and bytes that rooflines and rates are made of: those that were recorded, and those that were measured.
func (b *builder) workMetrics() []recorded {
	b.lend()
	var all []recorded
	for _, r := range b.recorded {
		if !r.text && profile.CountsWork(figures.MetricName(r.name)) {
			all = append(all, r)
		}
	}
	for _, r := range b.measuredWork {
		if !slices.ContainsFunc(all, func(known recorded) bool { return known.name == r.name }) {
			all = append(all, r)
		}
	}
	return all
}

// does is where the flops and bytes of a frame are that rooflines and rates are made of: what was measured before what was said.
func (f *frame) does() *profile.Node {
	if f.did != nil {
		return f.did
	}
	return f.done()
}

// needMeasured adds the amounts of how much of a row was measured.
func (b *builder) needMeasured() (share func(a []float64) float64) {
	if b.measuredShare != nil {
		return b.measuredShare
	}
	elapsed, _ := b.find("time")
	of := func(name string, keep func(f *frame) bool) int {
		return b.computed(ours+name, true, func(f *frame) float64 {
			if profile.WorkOf(f.node.Name) != profile.KernelWork || !keep(f) {
				return missing
			}
			return f.node.Number(elapsed.name)
		})
	}
	kernels := of("time of kernels", func(*frame) bool { return true })
	measured := of("time of measured kernels", func(f *frame) bool { return !math.IsNaN(counters.Stands(f.node)) })
	b.measuredShare = func(a []float64) float64 { return add(0, a[measured]) / a[kernels] }
	return b.measuredShare
}

// MeasuredMark and PartlyMark stand before the names of rows with Row.Measured, in views for people.
const (
	MeasuredMark = "#"
	PartlyMark   = "~"
)

// Mark is what stands before a row's name in views for people: LentMark, MeasuredMark or PartlyMark, or several.
func (r *Row) Mark() string {
	mark := ""
	if r.WorkOf != "" {
		mark = LentMark
	}
	switch {
	case r.Measured >= wholly:
		mark += MeasuredMark
	case r.Measured > 0:
		mark += PartlyMark
	}
	return mark
}

// aboutHalves says which kernels have no place on the roofline although they were measured; "" if there are none.
func (b *builder) aboutHalves() string {
	if b.halves == 0 {
		return ""
	}
	return fmt.Sprintf("hardware counters measured bytes or flops of %s, not both, and nothing declares the others, so their util is not known; run with -m counters:set=roofline", figures.Count(b.halves, "kernel"))
}

// markMeasured marks the rows whose numbers come from hardware counters.
func (b *builder) markMeasured(t *Table) {
	if text := b.aboutHalves(); text != "" && b.roof != nil {
		b.note(text)
	}
	if n := b.impossible(); n > 0 {
		b.note(impossibleText(n))
	}
	if b.measuredShare == nil {
		return
	}
	whole, partly := 0, 0
	for r := range t.All() {
		share := b.measuredShare(t.sums.of(t.sums.sum, r.id))
		switch {
		case !(share > 0):
			continue
		case share >= wholly:
			whole++
		default:
			partly++
		}
		r.Measured = min(share, 1)
	}
	if whole+partly > 0 {
		b.note(fmt.Sprintf("%s hardware counters measured the kernels of %s%s", MeasuredMark, figures.Count(whole, "row"), b.standIns()))
	}
	if strings.Contains(b.profile.Info[profile.InfoCounters], runinfo.CopiesCount) && whole+partly > 0 {
		b.note(runinfo.CopiesCount)
	}
	if partly > 0 {
		b.note(fmt.Sprintf("%s and a part of those of %s: -m measured is the share of their time, and sums lack the others", PartlyMark, figures.Count(partly, "row")))
		if _, why, found := strings.Cut(b.profile.Info[profile.InfoCounters], "; left out: "); found {
			b.note("counters left out: " + term.Printable(why))
		}
	}
	if b.partial > 0 && b.roof != nil {
		b.note(fmt.Sprintf("util has what %s declared: hardware counters measured only a part of the kernels below", figures.Plural(b.partial, "scope has", "scopes have")))
	}
}

// impossible is how many frames have counters that no GPU counts.
func (b *builder) impossible() (n int) {
	for i := range b.frames {
		if counters.Impossible(b.frames[i].node) {
			n++
		}
	}
	return n
}

func impossibleText(frames int) string {
	return fmt.Sprintf("the hardware counters of %s are left out: the file has values below 0 or without an end, or more measured launches than launches", figures.Count(frames, "frame"))
}

// standIns says for how many launches the measured ones stand.
func (b *builder) standIns() string {
	var measured, all float64
	for i := range b.frames {
		if n := b.frames[i].node; !math.IsNaN(counters.Stands(n)) {
			measured += n.Number(counters.Launches)
			all += n.Number(counters.Launches) * counters.Stands(n)
		}
	}
	if !(all > measured) {
		return ""
	}
	return fmt.Sprintf(", in %s that stand for %s of the same kernels at the same call paths", figures.Count(int(measured), "launch"), figures.Count(int(all), "launch"))
}
