package aggregate

import (
	"io"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/chrometrace"
	"github.com/goproton/goproton/profiler/callpath"
)

// counted throws a timeline away and counts it.
type counted struct{ lanes, slices, flows int }

func (c *counted) Lane(profile.Lane) error    { c.lanes++; return nil }
func (c *counted) Slice(*profile.Slice) error { c.slices++; return nil }
func (c *counted) Flow(profile.Flow) error    { c.flows++; return nil }

// pipeline is the drainer's part of a profiler: a resolver before an aggregator with one session.
type pipeline struct {
	*callpath.Resolver
	agg  *Aggregator
	set  uint32
	now  uint64
	corr uint64
}

func newPipeline(tb testing.TB, o TreeOptions) *pipeline {
	tb.Helper()
	if err := hotpath.Init(); err != nil {
		tb.Fatal(err)
	}
	p := &pipeline{Resolver: callpath.New(), agg: New(NewSets()), now: 1e18}
	p.Metric, p.Event = p.agg.AddMetric, p.agg.Event
	p.Alone = func(uint32) bool { return false }
	p.set = p.agg.Sets.Launch([]*Tree{p.agg.Sets.NewTree(o)})
	return p
}

// launches has a thread launch n kernels in a scope each, and the GPU run them n at a time, last first on two streams.
func (p *pipeline) launches(n int, timed bool) {
	var records []hotpath.Record
	for range n {
		p.corr++
		p.now += 1000
		launch := hotpath.Record{Type: hotpath.Launch, ID: p.corr, Set: p.set}
		if !timed {
			records = append(records, launch)
			continue
		}
		launch.Word, launch.Flags = p.now+10, hotpath.FlagTimed
		records = append(records, hotpath.Record{Type: hotpath.Begin, Set: p.set, Word: p.now}, launch,
			hotpath.Record{Type: hotpath.CallEnd, ID: p.corr, Set: p.set, Word: p.now + 500, Op: 307},
			hotpath.Record{Type: hotpath.End, Set: p.set, Word: p.now + 600})
	}
	p.Add(1, records)
	for i := range n {
		corr := p.corr - uint64(i)
		start := p.now - 1000*uint64(i) + 5000
		k := record.Activity{Name: "kernel", Correlation: corr, Start: start, End: start + 900 + corr*2654435761%100, Stream: 7 + uint32(corr%2)}
		at, _ := p.Resolve(&k)
		p.agg.Add(&k, &at)
	}
	p.NextCycle()
}

// TestTimelineKeepsOnlyWhatIsOpen: a million launches, each in a scope, take the memory of the thousand in flight.
func TestTimelineKeepsOnlyWhatIsOpen(t *testing.T) {
	var out counted
	tl := NewTimeline(&out, func(uint32) (string, bool) { return "launch", false })
	p := newPipeline(t, TreeOptions{Timeline: tl})
	p.launches(1000, true)
	before := testkit.Heap()
	for range 999 {
		p.launches(1000, true)
	}
	if after := testkit.Heap(); after > before+64<<10 {
		t.Errorf("a million launches later the heap has %d bytes more", after-before)
	}
	// Scopes of the root node have no name that a session sees, but count: a scope, a call and a kernel each.
	if out.lanes != 3 || out.slices != 3e6 || out.flows != 1e6 {
		t.Errorf("%+v, want 3 lanes, 3e6 slices, 1e6 arrows", out)
	}
}

// A stream of records with gaps: ends without beginnings and beginnings without ends pile nothing up.
func TestTimelineOfARingThatOverflowed(t *testing.T) {
	var out counted
	tl := NewTimeline(&out, func(uint32) (string, bool) { return "launch", false })
	p := newPipeline(t, TreeOptions{Timeline: tl})
	p.Add(1, []hotpath.Record{{Type: hotpath.End, Set: p.set, Node: 5, Word: 1}, {Type: hotpath.CallEnd, ID: 9, Set: p.set, Word: 1}})
	var begins []hotpath.Record
	for i := range 3 * maxOpen {
		begins = append(begins, hotpath.Record{Type: hotpath.Begin, Set: p.set, Word: uint64(1000 - i)},
			hotpath.Record{Type: hotpath.Launch, ID: uint64(i + 1), Set: p.set, Word: 5, Flags: hotpath.FlagTimed})
	}
	p.Add(1, begins)
	if th := tl.threads[1]; len(th.open) > maxOpen || len(th.calls) > maxCalls {
		t.Errorf("%d frames and %d calls are open", len(th.open), len(th.calls))
	}
	tl.Finish(0)
	if tl.err != nil || out.slices != maxOpen {
		t.Errorf("%d slices, %v", out.slices, tl.err)
	}
}

// A ring that another thread takes over: what the first left open ends, and the second has a lane of its own.
func TestRingsAreUsedAgain(t *testing.T) {
	var out profile.Timeline
	tl := NewTimeline(&out, func(uint32) (string, bool) { return "launch", false })
	p := newPipeline(t, TreeOptions{Timeline: tl})
	for tid := uint64(100); tid < 102; tid++ {
		p.Add(1, []hotpath.Record{{Type: hotpath.ThreadID, Set: p.set, Word: tid}, {Type: hotpath.Begin, Set: p.set, Word: tid},
			{Type: hotpath.Launch, ID: tid, Set: p.set, Word: tid, Flags: hotpath.FlagTimed}})
	}
	// The first thread's kernel comes when its ring is another's: no arrow from a lane that did not launch it.
	for _, corr := range []uint64{100, 101} {
		k := record.Activity{Name: "k", Correlation: corr, Start: 500, End: 501}
		at, _ := p.Resolve(&k)
		p.agg.Add(&k, &at)
	}
	tl.Finish(200)
	if len(out.Lanes) != 3 || out.Lanes[0].Thread != 100 || len(out.Flows) != 1 || len(out.Slices) != 4 {
		t.Errorf("%+v", out)
	}
}

func BenchmarkSums(b *testing.B) {
	for _, c := range []struct {
		name  string
		times bool
	}{{"totals", false}, {"distributions", true}} {
		b.Run(c.name, func(b *testing.B) {
			p := newPipeline(b, TreeOptions{Times: c.times})
			b.ReportAllocs()
			for b.Loop() {
				p.launches(1000, false)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/kernel")
		})
	}
}

func BenchmarkTimeline(b *testing.B) {
	w := chrometrace.NewWriter(io.Discard, 1e18, nil)
	p := newPipeline(b, TreeOptions{Timeline: NewTimeline(w, func(uint32) (string, bool) { return "cuLaunchKernel", false })})
	b.ReportAllocs()
	for b.Loop() {
		p.launches(1000, true)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/kernel")
}
