package profiler

import (
	"fmt"
	"maps"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/runinfo"
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
	// As long as kernels= has matched no kernel, the kernels that ran.
	unmatched bool
	ran       map[string]uint64
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
	d.counting = counting{source: source, request: request, graphs: map[string]uint64{}, unmatched: request.Kernels != nil, ran: map[string]uint64{}}
}

// count adds to a kernel what was measured of its launch. It reports true if the kernel is held until that is known.
func (c *counting) count(k *record.Activity, at *callpath.Attribution) (held bool) {
	if c.source == nil || k.Kind != record.Kernel {
		return false
	}
	c.match(k.Name)
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

// match looks whether kernels= names a kernel that ran, until it does.
func (c *counting) match(kernel string) {
	const most = 1 << 12 // names that are kept
	if !c.unmatched {
		return
	}
	if c.request.Wants(kernel) {
		c.unmatched, c.ran = false, nil
	} else if _, known := c.ran[kernel]; known || len(c.ran) < most {
		c.ran[kernel]++
	}
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

// facts are what was measured and what was left out; nil if nothing was to be measured, or the program has not used a GPU.
func (c *counting) facts() (facts *runinfo.Counters, took time.Duration) {
	if c.source == nil {
		return nil, 0
	}
	f := c.source.CounterFacts()
	if f.Set == "" {
		return nil, 0
	}
	facts = &runinfo.Counters{Set: f.Set, Metrics: f.Metrics, Passes: f.Passes, Measured: f.Measured, Kernels: f.Kernels, Copies: f.Copies, Processes: 1, Left: map[string]map[string]uint64{}}
	left := func(why, kernel string, n uint64) {
		if facts.Left[why] == nil {
			facts.Left[why] = map[string]uint64{}
		}
		facts.Left[why][kernel] += n
	}
	for _, l := range f.LeftOut {
		left(l.Why, l.Kernel, l.Launches)
	}
	for name, n := range c.graphs {
		left("in a graph", name, n)
	}
	if c.unmatched && f.Measured == 0 { // where kernels have no records, one that matches was measured or is left out by name
		facts.Unmatched, facts.Ran = c.request.Pattern, maps.Clone(c.ran)
		for _, name := range f.Ran {
			facts.Ran[name]++
		}
	}
	return facts, f.Took
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
	facts, took := c.facts()
	if facts == nil {
		return
	}
	in := ""
	if took > 0 {
		in = ", in " + figures.Time(took.Nanoseconds())
	}
	info[profile.InfoCounters] = facts.Sentence(in)
}
