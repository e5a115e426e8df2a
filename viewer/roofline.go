package viewer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
)

// roofline is the roofline model: a frame that does F flops on B bytes cannot take less than max(F/peak flop/s, B/peak byte/s).
// That least time adds up over kernels, as all amounts do. For a subtree, with T the time of those of its frames whose work is
// known,
//
//	util        Σ least time / T         the part of T that the work needs at least
//	coverage    T / time of the subtree  the part of the time that util covers
//	attainable  Σ F / Σ least time       the rate that the work could reach: the roof at its intensity
//	intensity   Σ F / Σ B
//	bound       compute if Σ F/peak ≥ Σ B/peak, else memory
//
// For a single kernel these are the textbook's definitions. The lines below a kernel, of a profile of counts, are parts of its work: its least
// time is that of their sums, and theirs do not add up. The work of a frame is known if the frame, or a scope around it, has
// flops or bytes whose peaks are known. Other frames have no least time, and their time is left out of T, since unknown work is not
// idle time. Where T is less than half of the time, util and bound are left out, since the util of a fill of 3 µs is not that of
// the matmuls around it. The work of copies over a link is unknown here: the memory of the GPU does not limit them.
type roofline struct {
	flops   []flopsOf // recorded metrics that count flops
	bytes   *recorded // nil when none was recorded
	devices []ceilings
	of      map[deviceKey]int32
	lined   map[*frame]*peaks.Roof // kernels with lines below them that have work, with the work of all; nil of such lines

	compute, memory, least int // amounts, in seconds
	unknown                int // kernels with lines of which one has an unknown peak
	elapsed                int // time, in seconds
	covered                int // that of frames whose work is known
	traffic                int // bytes of the GPU's memory
}

// leastCoverage is the part of a row's time whose work must be known for util and bound to be shown.
const leastCoverage = 0.5

// coverage is the part of a row's time whose work is known: 0 to 1, NaN where there is no time.
func (r *roofline) coverage(a []float64) float64 {
	if !(a[r.elapsed] > 0) {
		return missing
	}
	return add(0, a[r.covered]) / a[r.elapsed]
}

func (r *roofline) util(a []float64) float64 {
	if !(r.coverage(a) >= leastCoverage) {
		return missing
	}
	return a[r.least] / a[r.covered]
}

// flopsOf is a recorded metric and the type of operands it counts.
type flopsOf struct {
	metric recorded
	dtype  string // "" if its name has none
}

type deviceKey struct{ typ, id string }

// ceilings are a device's peaks; NaN where a figure is unknown.
type ceilings struct {
	flops []float64 // by position in roofline.flops
	bytes float64
}

// roofColumn reads util, coverage, intensity, attainable, bound and roof_time.
func (b *builder) roofColumn(name string) (column, bool, error) {
	base, wanted, fixed := strings.Cut(name, "/")
	if !slices.Contains([]string{"util", "coverage", "intensity", "attainable", "bound", "roof_time"}, base) {
		return column{}, false, nil
	}
	if err := b.needRoofline(base); err != nil {
		return column{}, true, err
	}
	c, r := column{Column: Column{Label: base, Inclusive: true}, unit: figures.Unit{Factor: 1}}, b.roof
	var units *figures.Quantity
	switch base {
	case "util", "coverage":
		c.Ratio, c.value = true, map[string]func([]float64) float64{"util": r.util, "coverage": r.coverage}[base]
		if !fixed {
			return c, true, nil
		}
		units = &figures.Quantity{Units: []figures.Unit{figures.Percent}}
	case "attainable":
		flops, rate := b.allFlops(), figures.FlopRate("")
		c.value, units = func(a []float64) float64 { return flops(a) / r.leastOf(a) }, &rate
	case "roof_time":
		c.Additive, c.value, units = true, r.leastOf, &figures.Times
	case "intensity":
		if r.bytes == nil || len(r.flops) == 0 {
			return column{}, true, errors.New("intensity: needs both flops and bytes, and the profile has only one of them; let launch_metadata return both")
		}
		flops := b.allFlops()
		c.Unit, c.value = "flop/B", func(a []float64) float64 { return flops(a) / a[r.traffic] }
	case "bound":
		c.Text, c.word = true, r.bound
	}
	if units == nil && fixed {
		return column{}, true, fmt.Errorf("%s: %s has no unit", name, base)
	}
	if units == nil {
		return c, true, nil
	}
	return c.shownIn(units, name, wanted, fixed)
}

// leastOf is the least time of a row. That of a line below a kernel is not among those that add up.
func (r *roofline) leastOf(a []float64) float64 {
	if math.IsNaN(a[r.least]) && math.IsNaN(a[r.unknown]) && !(math.IsNaN(a[r.compute]) && math.IsNaN(a[r.memory])) {
		return max(add(a[r.compute], 0), add(a[r.memory], 0))
	}
	return a[r.least]
}

// bound is "compute" or "memory": what limits a row's work; "" if that is not known.
func (r *roofline) bound(a []float64) string {
	if least := r.leastOf(a); math.IsNaN(least) || least == 0 || r.coverage(a) < leastCoverage {
		return ""
	}
	return peaks.Bound(add(0, a[r.compute]), add(0, a[r.memory]))
}

// allFlops is the amount that counts flops of all types. Where a frame has both flops and flops16, they are the same work: flops
// is the total, flops16 its part of one type.
func (b *builder) allFlops() func(a []float64) float64 {
	list := b.flops()
	at := b.computed(ours+"flops of all types", true, func(f *frame) float64 {
		typed, total := missing, missing
		for i := range list {
			if v := f.does().Number(list[i].metric.name); list[i].plain() {
				total = v
			} else {
				typed = add(typed, v)
			}
		}
		if !math.IsNaN(total) {
			return total
		}
		return typed
	})
	return func(a []float64) float64 { return a[at] }
}

// plain reports whether the metric's name has no type of operands.
func (f *flopsOf) plain() bool { return f.dtype == "" }

// flops lists the metrics that count flops: flops, flops8 … flops64, flops_bf16 and so on.
func (b *builder) flops() []flopsOf {
	var list []flopsOf
	for _, r := range b.workMetrics() {
		if dtype, ok := profile.Flops(r.name); ok {
			list = append(list, flopsOf{r, dtype})
		}
	}
	return list
}

// needRoofline adds the amounts that rooflines are made of.
func (b *builder) needRoofline(asked string) error {
	if b.roof != nil {
		return nil
	}
	r := &roofline{flops: b.flops(), of: map[deviceKey]int32{}}
	for _, metric := range b.workMetrics() {
		if figures.MetricName(metric.name) == profile.BytesMetric && r.bytes == nil {
			r.bytes = &metric
		}
	}
	if halves := b.aboutHalves(); len(r.flops) == 0 && r.bytes == nil && halves != "" {
		return fmt.Errorf("%s: %s", asked, halves)
	}
	if len(r.flops) == 0 && r.bytes == nil {
		return fmt.Errorf("%s: the profile has neither flops nor bytes; for operators of PyTorch profile with --torch=modules,flops; or give Triton kernels a launch_metadata function and profile with the triton hook, or add the metrics flops16 and bytes to a scope; or measure them with proton run -m counters", asked)
	}
	elapsed, err := b.seconds("time") // a profile of cycles has none, and its work still has an intensity
	if err != nil && (asked == "util" || asked == "coverage") {
		return err
	}
	b.roof = r
	b.findDevices(elapsed.own)
	b.findWork()
	b.findLines()
	r.elapsed = b.computed(ours+"time", true, func(f *frame) float64 { return elapsed.own(f) })
	r.covered = b.computed(ours+"time of known work", true, func(f *frame) float64 {
		if !f.worked {
			return missing
		}
		return elapsed.own(f)
	})
	r.traffic = b.computed(ours+"memory traffic", true, r.bytesOf)
	part := func(which func(compute, memory float64) float64) func(f *frame) float64 {
		return func(f *frame) float64 {
			work := r.work(f)
			if all := r.lined[f]; math.IsNaN(work.Least()) || all != nil && math.IsNaN(all.Least()) {
				return missing
			}
			return which(work.Parts())
		}
	}
	r.compute = b.computed(ours+"compute time", true, part(func(compute, _ float64) float64 { return compute }))
	r.memory = b.computed(ours+"memory time", true, part(func(_, memory float64) float64 { return memory }))
	r.unknown = b.computed(ours+"kernels with unknown lines", true, func(f *frame) float64 {
		if all := r.lined[f]; all != nil && math.IsNaN(all.Least()) {
			return 1
		}
		return missing
	})
	r.least = b.computed(ours+"least time", true, func(f *frame) float64 {
		work := r.work(f)
		if all, lined := r.lined[f]; all != nil {
			work = *all
		} else if lined {
			return missing
		}
		return work.Least()
	})
	return nil
}

// noteUtil adds notes on what util does not cover, and on what makes it too high.
func (b *builder) noteUtil(names *namer) {
	shown := func(label string) bool {
		return b.roof != nil && slices.ContainsFunc(b.sums.columns, func(c column) bool { return c.Label == label })
	}
	if shown("util") || shown("bound") {
		b.noteCoverage()
	}
	if shown("util") {
		b.noteExcess(names)
	}
	b.noteLosses(shown("util"))
}

// noteExcess names the row with the highest util if that is above 1, which no work can reach.
func (b *builder) noteExcess(names *namer) {
	highest, most, rows := 0, 0.0, 0
	for i := range b.sums.rows {
		util := b.roof.util(b.sums.of(b.sums.sum, i))
		if !(util > 1.005) { // up to there it is 1, rounded
			continue
		}
		if rows++; util >= most { // of a scope and the only one with work below it, the latter
			highest, most = i, util
		}
	}
	if rows == 0 {
		return
	}
	why := ""
	if b.measuredWork != nil {
		why = ", or a measured launch found less in the caches than the others"
	}
	b.note(fmt.Sprintf("util is above 1 in %s, at most %s of %s: flops or bytes count twice where both a scope and kernels below it have them, or the GPU ran at a higher clock than the file has%s; --peak sets its peaks",
		figures.Count(rows, "row"), figures.Places(most, 3), term.Printable(names.label(b.sums.rows[highest].node.Name)), why))
}

// noteLosses says what the profiler has lost, and that util is then too high.
func (b *builder) noteLosses(util bool) {
	lost := func(metric string) uint64 {
		sum := 0.0
		for i := range b.frames {
			if n := b.frames[i].node.Number(metric); n > 0 {
				sum += n
			}
		}
		return uint64(min(sum, math.MaxInt64))
	}
	var parts []string
	if n := lost(profile.LostRecordsMetric); n > 0 {
		parts = append(parts, figures.Count(n, "record")+" of launches and scopes, so that kernels stand below <unattributed>")
	}
	if n := lost(profile.DroppedActivitiesMetric); n > 0 {
		parts = append(parts, figures.Count(n, "record")+" of kernels or copies, which are missing")
	}
	if parts == nil {
		return
	}
	text := "the profiler lost " + strings.Join(parts, ", and ")
	if util {
		text += "; flops and bytes may count where their time does not, which makes util too high"
	}
	b.note(text)
}

// noteCoverage adds a note on the share of the time that util covers, if that is not all.
func (b *builder) noteCoverage() {
	switch part := b.roof.coverage(b.sums.of(b.sums.sum, 0)); {
	case part >= 0.99 || math.IsNaN(part) || part == 0 && len(b.notes) > 0: // nothing is left out, or another note explains why all is
	case part == 0 && slices.ContainsFunc(b.frames, func(f frame) bool { return f.worked }):
		b.note("util is not known: no kernel is below a frame with flops or bytes; with --context python scopes and kernels are on different call paths, so profile with --context shadow")
	case part >= leastCoverage:
		b.note(fmt.Sprintf("util covers the %s of the time whose flops or bytes are known; -m coverage shows it for each row", figures.Share(part)))
	default:
		b.note(fmt.Sprintf("the flops or bytes of only %s of the time are known: util and bound are shown for rows with at least half; -m coverage shows it for each row", figures.Share(part)))
	}
}

// findWork marks the frames whose work is known, and those below them.
func (b *builder) findWork() {
	for i := range b.frames {
		f := &b.frames[i]
		work := b.roof.work(f)
		f.worked = !math.IsNaN(work.Least()) || f.parent >= 0 && b.frames[f.parent].worked
	}
}

// findLines finds frames with work below kernels. A kernel has a count of its own, and nothing that ran is below it.
func (b *builder) findLines() {
	b.roof.lined = map[*frame]*peaks.Roof{}
	ran, below := make([]bool, len(b.frames)), make([]bool, len(b.frames))
	for i := len(b.frames) - 1; i >= 0; i-- {
		f := &b.frames[i]
		ran[i] = f.node.Number(profile.CountMetric) > 0
		if f.parent >= 0 {
			below[f.parent] = below[f.parent] || below[i] || ran[i]
		}
	}
	kernels := make([]int32, len(b.frames)) // the kernel that a frame is below, or is; -1 for none
	for i := range b.frames {
		f := &b.frames[i]
		kernels[i] = -1
		if f.parent >= 0 {
			kernels[i] = kernels[f.parent]
		}
		if ran[i] && !below[i] {
			kernels[i] = int32(i)
		}
		if ran[i] || kernels[i] < 0 {
			continue
		}
		if own := b.roof.work(f); math.IsNaN(own.Least()) && !b.roof.has(f) {
			continue
		}
		kernel := &b.frames[kernels[i]]
		if b.roof.lined[kernel] == nil {
			b.roof.lined[kernel] = new(b.roof.work(kernel))
		}
		b.roof.lined[f] = nil
		b.roof.addWork(b.roof.lined[kernel], f, f.does())
	}
}

// has says whether a frame itself has work, whose peaks may not be known.
func (r *roofline) has(f *frame) bool {
	return r.bytesOf(f) > 0 || slices.ContainsFunc(r.flops, func(of flopsOf) bool { return f.node.Number(of.metric.name) > 0 })
}

// work is that of a frame itself, by its metrics. The metric without a type of operands counts only if none with a type does.
func (r *roofline) work(f *frame) peaks.Roof {
	var work peaks.Roof
	r.addWork(&work, f, f.does())
	return work
}

// addWork adds the work of a frame that stands at a node: what was measured, or what was said.
func (r *roofline) addWork(work *peaks.Roof, f *frame, at *profile.Node) {
	peaks := &r.devices[f.device]
	typed := slices.ContainsFunc(r.flops, func(of flopsOf) bool { return !of.plain() && at.Number(of.metric.name) > 0 })
	for i := range r.flops {
		if of := &r.flops[i]; of.plain() != typed {
			work.Compute(at.Number(of.metric.name), peaks.flops[i])
		}
	}
	work.Move(r.bytesAt(f, at), peaks.bytes)
}

// bytesOf are the bytes that a frame reads from the memory of its GPU or writes there. A copy within that memory does both.
func (r *roofline) bytesOf(f *frame) float64 { return r.bytesAt(f, f.does()) }

func (r *roofline) bytesAt(f *frame, at *profile.Node) float64 {
	if r.bytes == nil {
		return missing
	}
	bytes := at.Number(r.bytes.name)
	switch profile.WorkOf(f.node.Name) {
	case profile.LinkedCopy:
		return missing
	case profile.LocalCopy:
		return 2 * bytes
	}
	return bytes
}

// findDevices gives every frame its device: its own; else the one that worked longest below it, since scopes have flops but no
// device; else its caller's.
func (b *builder) findDevices(time func(f *frame) float64) {
	for i := range b.frames {
		f := &b.frames[i]
		f.device = -1
		id, _ := f.node.Metric("device_id")
		if id.Str() == "" {
			continue
		}
		typ, _ := f.node.Metric("device_type")
		f.device = b.ceilings(deviceKey{typ.Str(), id.Str()})
	}
	below := b.devicesBelow(time)
	if b.frames[0].device < 0 && below[0] < 0 {
		below[0] = b.ceilings(deviceKey{}) // nothing names a device: other profilers' files
	}
	for i := range b.frames {
		switch f := &b.frames[i]; {
		case f.device >= 0:
		case below[i] >= 0:
			f.device = below[i]
		default:
			f.device = b.frames[f.parent].device
		}
	}
}

// devicesBelow returns, by frame, the device whose work in the frame's subtree took longest, -1 where none worked.
func (b *builder) devicesBelow(time func(f *frame) float64) []int32 {
	longest, device, sum := none(len(b.frames)), make([]int32, len(b.frames)), make([]float64, len(b.frames))
	for i := range device {
		device[i] = -1
	}
	for d := range int32(len(b.roof.devices)) {
		for i := range sum {
			sum[i] = missing
		}
		for i := len(b.frames) - 1; i >= 0; i-- {
			f := &b.frames[i]
			if f.device == d {
				sum[i] = add(add(sum[i], 0), time(f))
			}
			if !math.IsNaN(sum[i]) && !(longest[i] >= sum[i]) {
				longest[i], device[i] = sum[i], d
			}
			if i > 0 {
				sum[f.parent] = add(sum[f.parent], sum[i])
			}
		}
	}
	return device
}

// ceilings returns the position of a device's peaks, looked up once.
func (b *builder) ceilings(key deviceKey) int32 {
	r := b.roof
	if at, ok := r.of[key]; ok {
		return at
	}
	at := int32(len(r.devices))
	r.of[key] = at
	d := b.device(key)
	c := ceilings{bytes: missing}
	for _, f := range r.flops {
		c.flops = append(c.flops, b.peakFlops(d, key, f))
	}
	if r.bytes != nil {
		c.bytes = b.peakBytes(d, key)
	}
	r.devices = append(r.devices, c)
	return at
}

// device finds a device. If no frame names one, it is the profile's only one.
func (b *builder) device(key deviceKey) *profile.Device {
	if key.id == "" && len(b.profile.Devices) == 1 {
		return &b.profile.Devices[0]
	}
	return peaks.Device(b.profile, key.typ, key.id)
}

// peakFlops is the peak for the type that a metric counts: the user's (--peak), or the GPU's.
func (b *builder) peakFlops(d *profile.Device, key deviceKey, f flopsOf) float64 {
	dtype := f.dtype
	if given, ok := b.overrides[strings.ToLower(f.metric.name)]; ok {
		if given.dtype == "" {
			return given.value
		}
		dtype = given.dtype
	}
	if given, ok := b.overrides[dtype]; ok && given.dtype == "" {
		return given.value
	}
	if dtype == "" {
		if len(b.roof.flops) == 1 && b.counts(f.metric) {
			b.note("flops do not name the type of their operands, so they have no peak: record flops16 or flops_bf16 instead, or give --peak flops=bf16")
		}
		return missing
	}
	return b.peakOf(d, key, func(d profile.Device) (float64, error) { return peaks.Peak(d, dtype) })
}

// counts reports whether any frame has a positive value of a metric: a profile of copies alone may name flops and have none.
func (b *builder) counts(r recorded) bool {
	return slices.ContainsFunc(b.frames, func(f frame) bool { return f.node.Number(r.name) > 0 })
}

func (b *builder) peakBytes(d *profile.Device, key deviceKey) float64 {
	if given, ok := b.overrides["bytes"]; ok {
		return given.value
	}
	return b.peakOf(d, key, peaks.Bandwidth)
}

// peakOf is a peak of the GPU; NaN with a note where it is not known.
func (b *builder) peakOf(d *profile.Device, key deviceKey, of func(profile.Device) (float64, error)) float64 {
	why := "the profile does not describe it; give its peaks"
	if d != nil {
		peak, err := of(*d)
		if err == nil {
			return peak
		}
		why = err.Error() + "; give them"
	}
	b.note(fmt.Sprintf("no roofline for device %s: %s with --peak flops16=990T,bytes=4.8T", cmp.Or(term.Printable(key.id), "(unnamed)"), why))
	return missing
}

// note adds a note for the reader, once.
func (b *builder) note(text string) {
	if !slices.Contains(b.notes, text) {
		b.notes = append(b.notes, text)
	}
}

// peak is the value of --peak for one metric: a rate, or a type of operands whose rate is known.
type peak struct {
	value float64
	dtype string
}

// parsePeaks reads flops16=990T, bytes=4.8T, flops32=fp32, bf16=990T.
func parsePeaks(list []string) (map[string]peak, error) {
	peaks := map[string]peak{}
	for _, text := range list {
		what, value, ok := strings.Cut(strings.ToLower(strings.TrimSpace(text)), "=")
		_, flops := profile.Flops(what)
		if !ok || what != "bytes" && !flops && profile.OperandBits(what) == 0 {
			return nil, badOption("read --peak %s: write bytes=4.8T, flops16=990T or another flops metric or type (%s)", text, strings.Join(profile.OperandTypes, ", "))
		}
		if profile.OperandBits(value) > 0 && what != "bytes" {
			peaks[what] = peak{dtype: value}
			continue
		}
		v, err := parseRate(value)
		if err != nil {
			return nil, badOption("read --peak %s: %w", text, err)
		}
		peaks[what] = peak{value: v}
	}
	return peaks, nil
}

// parseRate reads 990T, 4.8t, 1e15.
func parseRate(text string) (float64, error) {
	factor := 1.0
	for i, prefix := range []string{"k", "m", "g", "t", "p", "e"} {
		if number, has := strings.CutSuffix(text, prefix); has {
			text, factor = number, math.Pow(1000, float64(i+1))
			break
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || !figures.Finite(v) {
		return 0, errors.New("write the rate per second as a number with k, M, G, T or P behind it: 990T")
	}
	return v * factor, nil
}
