package profiler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/callpath"
)

// CounterSource is a Source that can measure launches with hardware counters, if SourceOptions.Sampling asked for it.
type CounterSource interface {
	// Counted returns what was measured of a launch, once; nil if it was not chosen or could not be measured. known is false as long as it is
	// being measured. When the activity of a launch has arrived, the source knows whether it was chosen.
	Counted(correlation uint64) (c *record.Counters, known bool)
	CounterFacts() record.CounterFacts
}

// counting is the drainer's part of a session that measures counters.
type counting struct {
	source  CounterSource // nil: none does
	request *record.CounterRequest
	held    []heldKernel      // kernels whose launches are being measured
	graphs  map[string]uint64 // launches of kernels in graphs, by name
}

type heldKernel struct {
	activity record.Activity
	at       callpath.Attribution
}

// beginCounting readies it for the first session of a source.
func (d *drainer) beginCounting(request *record.CounterRequest) {
	d.counting = counting{}
	if request == nil {
		return
	}
	source, ok := d.source.(CounterSource)
	if !ok {
		d.problem(fmt.Sprintf("counters are not measured: the source of backend %q has none; kernels are timed", d.backend.name()))
		return
	}
	d.counting = counting{source: source, request: request, graphs: map[string]uint64{}}
}

// count adds to a kernel what was measured of its launch. It reports true if the kernel is held until that is known.
func (c *counting) count(k *record.Activity, at *callpath.Attribution) (held bool) {
	if c.source == nil || k.Kind != record.Kernel {
		return false
	}
	if at.Graph {
		if at.Launch.Set != 0 && c.request.Wants(k.Name) {
			c.graphs[k.Name]++
		}
		return false
	}
	counters, known := c.source.Counted(k.Correlation)
	if !known {
		c.held = append(c.held, heldKernel{*k, *at})
		return true
	}
	if counters != nil {
		at.Counters = counters
		if counters.Nanos > 0 { // the record of a kernel that ran several times has no time
			k.End = k.Start + counters.Nanos
		}
	}
	return false
}

// drainHeld adds the kernels whose launches have been measured since.
func (d *drainer) drainHeld() {
	held := d.counting.held
	d.counting.held = nil
	for i := range held {
		k, at := &held[i].activity, &held[i].at
		if !d.counting.count(k, at) {
			d.agg.Add(k, at)
		}
	}
}

// nodes hands every call path of the kernels that are held to f.
func (c *counting) nodes(f func(node uint32)) {
	for i := range c.held {
		c.held[i].at.Nodes(f)
	}
}

// sentence says what was measured and what was left out, "" if nothing was to be measured. Without the time that it took, ranks of a job that
// measured the same say the same.
func (c *counting) sentence(timed bool) string {
	if c.source == nil {
		return ""
	}
	f := c.source.CounterFacts()
	if f.Set == "" { // the program has not used a GPU
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "set %s, ", f.Set)
	if f.Measured == 0 {
		b.WriteString("no launch was measured")
	} else {
		fmt.Fprintf(&b, "%s in %s: %s of %s measured", figures.Count(f.Metrics, "metric"), figures.Count(f.Passes, "pass"),
			figures.Count(f.Measured, "launch"), figures.Count(f.Kernels, "kernel"))
	}
	if timed && f.Took > 0 {
		fmt.Fprintf(&b, ", in %s", figures.Time(f.Took.Nanoseconds()))
	}
	if left := c.leftOut(f.LeftOut); len(left) > 0 {
		b.WriteString("; left out: " + strings.Join(left, "; "))
	}
	return b.String()
}

// leftOut says why kernels were left out: reason by reason, with the names of those with most launches.
func (c *counting) leftOut(list []record.LeftOut) (texts []string) {
	for name, n := range c.graphs {
		list = append(list, record.LeftOut{Kernel: name, Why: "in a graph", Launches: n})
	}
	launches, total := map[string]map[string]uint64{}, map[string]uint64{}
	for _, l := range list {
		if launches[l.Why] == nil {
			launches[l.Why] = map[string]uint64{}
		}
		launches[l.Why][l.Kernel] += l.Launches
		total[l.Why] += l.Launches
	}
	for _, why := range slices.Sorted(maps.Keys(total)) {
		texts = append(texts, fmt.Sprintf("%s, %s: %s", figures.Count(total[why], "launch"), why, mostLaunched(launches[why])))
	}
	return texts
}

// mostLaunched names kernels, those with most launches first.
func mostLaunched(launches map[string]uint64) string {
	const shown, longest = 3, 6 // of a name, as the exponent of a power of two
	names := slices.SortedFunc(maps.Keys(launches), func(a, b string) int {
		return cmp.Or(cmp.Compare(launches[b], launches[a]), cmp.Compare(a, b))
	})
	if len(names) > shown {
		names = append(names[:shown], figures.Count(len(launches)-shown, "more kernel"))
	}
	for i, name := range names {
		if names[i] = demangle.Filter(name, demangle.NoParams, demangle.NoTemplateParams, demangle.MaxLength(longest)); len(names[i]) > 1<<longest {
			names[i] = strings.ToValidUTF8(names[i][:1<<longest], "") + "…"
		}
	}
	return strings.Join(slices.Compact(names), ", ")
}

// problems says what did not work.
func (c *counting) problems() []string {
	if c.source == nil {
		return nil
	}
	f := c.source.CounterFacts()
	return f.Problems
}

// describe writes the sentence into the facts of a profile.
func (c *counting) describe(info profile.Info) {
	if text := c.sentence(true); text != "" {
		info[profile.InfoCounters] = text
	}
}
