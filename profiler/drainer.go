package profiler

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/hotpath/scratch"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/callpath"
)

// drainer owns the sessions, their trees, and what fills them. It carries out one command at a time (do): functions with a
// drainer for receiver or argument are commands, or parts of one. Except to
// attach it, they make no call of the vendor's library that may hang, so that draining, checkpoints and the end of the process go on.
type drainer struct {
	turn sync.Mutex // held by the command that runs

	sessions
	source        Source
	attached      bool
	waiting       bool // until the program initialises its GPU, and the source is attached
	gpuStarting   bool // the program is initialising its GPU right now
	resolver      *callpath.Resolver
	decoder       decoder
	buffers       buffersNeeded
	agg           *aggregate.Aggregator
	tensors       tensors // tensors that nodes of graphs read as metrics
	sampler       Sampler // while instructions are sampled
	counting      counting
	images        *images // modules in which samples fell
	paths         reclaimer
	inside        insideRecording
	traceFolder   string // where the run is traced to; "" while it is not
	sets          launchSets
	newest        uint64 // correlation id of the last launch of former sessions
	recording     record.Kinds
	ahead         int64 // ns by which the source's clock is ahead; only for timelines
	measured      bool  // ahead has been measured
	work          int   // records and buffers since the last round
	loss          Loss
	base          lossBase
	problems      []string
	intervalsLost int // windows that sinks did not take, of sessions that have ended
	ending        *ending
	heard         func(*inside.Launch) // gets the scopes inside of each launch, for a recording; may be nil
	spending      *spending            // nil: no session has a budget
}

// Loss counts what could not be recorded.
type Loss struct {
	Records      uint64 // launches, graph nodes and call paths that found no room in the rings and arenas
	Buffers      uint64 // activity records that the vendor library dropped, or buffers we could not give it
	Unattributed uint64 // kernels that were timed but whose launch is unknown
	Untimed      uint64 // kernels that were counted but not timed
	Late         uint64 // metrics that came after their phase was written or cleared
}

// sentences say what is lost, and what to do.
func (l Loss) sentences() (list []string) {
	if l.Records > 0 {
		list = append(list, fmt.Sprintf("the profile lacks %s of launches and scopes, which the program makes faster than they are read: %s below <unattributed>, without a call path; record in windows, or a tree instead of a timeline",
			figures.Count(l.Records, "record"), figures.Plural(l.Unattributed, "kernel is", "kernels are")))
	}
	if l.Buffers > 0 {
		list = append(list, fmt.Sprintf("the profile lacks %s of GPU work, which the vendor's library dropped or had no buffer for: their kernels and copies are missing", figures.Count(l.Buffers, "record")))
	}
	return list
}

type lossBase struct{ records, refused uint64 }

func newDrainer(e *ending) *drainer {
	d := &drainer{ending: e}
	d.reset(aggregate.NewSets())
	return d
}

// buffersNeeded watches how many activity buffers are in use, so that those of a drainer that was late, or of a burst, are not kept for ever.
type buffersNeeded struct {
	since      time.Time
	most, last int // the most that were in use at once since then, and in the time before
}

// buffersKept is the length of a time after which buffers that were not needed in it lose their memory. A buffer that is given
// back and taken again costs 2 MiB of zeroes to write, less than a millisecond. With ten minutes instead of 30 s, one late
// drain in each ten minutes was enough to keep all of its buffers for ever, so memory rose step by step.
const buffersKept = 30 * time.Second

// needed is called with the number of buffers that are in use now. After each time of buffersKept it returns how many buffers have to
// keep their memory, otherwise 0.
func (b *buffersNeeded) needed(now time.Time, used int) int {
	b.most = max(b.most, used)
	if now.Sub(b.since) < buffersKept {
		return 0
	}
	keep := max(b.most, b.last) + spareBuffers
	b.since, b.most, b.last = now, 0, b.most
	return keep
}

// reset forgets former sessions, except the numbers of their launch sets: a late record of such a set must reach no
// session.
func (d *drainer) reset(sets *aggregate.Sets) {
	if d.resolver != nil {
		d.newest = d.newestLaunch()
	}
	d.resolver, d.agg = callpath.New(), aggregate.New(sets)
	d.resolver.Metric, d.resolver.Event, d.resolver.Alone, d.resolver.Wait = d.agg.AddMetric, d.agg.Event, d.alone, d.waited
	d.sampler, d.images, d.problems = nil, nil, nil
	d.intervalsLost = 0
	d.spending = nil
	d.loss, d.base = Loss{}, lossBase{hotpath.Lost(), hotpath.BuffersRefused()}
	d.paths, d.sets, d.measured = reclaimer{}, launchSets{}, false
	d.inside = insideRecording{base: scratch.Lost()}
	d.tensors = tensors{values: callpath.NewValues()}
	d.resolver.Tensor = d.tensors.values.Expect
}

// do carries out a command. While there are sessions everything is drained first: a command sees what was ready when it was
// given. A command runs on the goroutine of its caller. On a goroutine of the drainer's own, a command of a program's thread
// would cost two switches of threads: 220,000 in 10,000 phases (BenchmarkPhasesForEver), 3 s of system time.
func (d *drainer) do(f func(*drainer)) {
	d.turn.Lock()
	defer d.turn.Unlock()
	if len(d.list) > 0 {
		d.drain()
	}
	f(d)
}

// ask is do for a question.
func ask[T any](d *drainer, question func(*drainer) T) (answer T) {
	d.do(func(d *drainer) { answer = question(d) })
	return answer
}

// drain empties rings and the buffers that are full when it begins. The rings are read after that moment: the launches of all kernels in the
// buffers were recorded before these came back full, and a metric is recorded before a graph stores a value of it. Buffers that
// come back meanwhile are left to the next round: a program that launches faster than this reads would keep commands waiting.
func (d *drainer) drain() {
	began, before, used, bytes := time.Now(), d.work, hotpath.BuffersInUse(), 0
	returned := hotpath.BuffersReturned()
	d.readRings()
	for buffer, ok := hotpath.TakeBuffer(returned); ok; buffer, ok = hotpath.TakeBuffer(returned) {
		bytes += buffer.Size()
		d.decoder.decode(buffer, d.activity)
		buffer.Recycle()
		d.resolver.NextCycle()
		d.work++
		if bytes >= ringsReadAfter && time.Since(began) < ringsReadFor {
			d.readRings()
			bytes = 0
		}
	}
	d.drainHeld()
	d.readWaiting(false)
	d.agg.TakeSlots()
	d.drainSamples()
	d.drainReadings()
	d.drainInside()
	if d.attached && d.work > before {
		hotpath.PrepareBuffers(spareBuffers)
	}
	if keep := d.buffers.needed(time.Now(), used); keep > 0 {
		hotpath.TrimBuffers(keep)
	}
}

// While buffers are decoded the rings fill: they are read again after so many bytes, which take some ten milliseconds. A command does so for
// a limited time, for the rings of a program that launches faster than this reads are full each time.
const (
	ringsReadAfter = 1 << 20
	ringsReadFor   = time.Second
)

func (d *drainer) readRings() {
	d.takeValues()
	d.work += hotpath.Drain(d.resolver.Add)
	d.addValues()
}

// discard empties rings and buffers of what belongs to no session: its call paths are about to be forgotten, or
// were, and the strings that records point to may be gone.
func (d *drainer) discard() {
	for buffer, ok := hotpath.TakeBuffer(hotpath.BuffersReturned()); ok; buffer, ok = hotpath.TakeBuffer(hotpath.BuffersReturned()) {
		buffer.Recycle()
	}
	hotpath.Drain(func(_ uintptr, records []hotpath.Record) {
		for i := range records {
			if r := &records[i]; r.Type == hotpath.Launch || r.Type == hotpath.GraphLaunch {
				d.newest = callpath.Latest(d.newest, r.Correlation())
			}
		}
	})
	hotpath.TakeSlots(func([]hotpath.Slot) {})
	discardInside()
}

func (d *drainer) activity(k *record.Activity) {
	d.ending.ended(k)
	d.resolver.Watch.Ended(k)
	at, ok := d.resolver.Resolve(k)
	if k.Name == aggregate.MetricFrame && d.metricNode(k, &at, ok) {
		return
	}
	d.spending.compare(k)
	d.spending.count(k, at.Launch.Set)
	d.onOurClock(k)
	if !ok {
		if set := d.sets.of(k); set != 0 && !slices.Contains(d.backend.Own, k.Name) {
			d.agg.AddUnattributed(k, set)
		}
		return
	}
	d.launchedAt(k, &at)
	d.unknownGraph(k, &at)
	if !d.counting.count(k, &at) {
		d.agg.Add(k, &at)
	}
}

// newestLaunch is the correlation id of the last launch that is known, 0 before the first.
func (d *drainer) newestLaunch() uint64 { return callpath.Latest(d.newest, d.resolver.Newest()) }

// waited takes a wait that a thread of the program reports itself. Its launch is in the same ring, before it.
func (d *drainer) waited(rec *hotpath.Record) {
	name, device, nanos := rec.Wait()
	k := record.Activity{
		Kind: record.Sync, Name: d.decoder.name(name), Start: rec.Time(), End: rec.Time() + nanos, Correlation: rec.Correlation(), Device: uint32(device),
	}
	if at, ok := d.resolver.Resolve(&k); ok {
		d.agg.Add(&k, &at)
	}
}

// clockNoise is the difference, in ns, that two readings of one clock may have.
const clockNoise = 1000

// onOurClock moves an activity from the source's clock to the one that the program's threads read, should they differ and a
// timeline show it.
func (d *drainer) onOurClock(k *record.Activity) {
	if !d.agg.Sets.Timelines() || !k.Timed() {
		return
	}
	if !d.measured {
		if d.measured, d.ahead = true, d.source.ClockAhead(); d.ahead < clockNoise && d.ahead > -clockNoise {
			d.ahead = 0
		}
	}
	k.Start -= uint64(d.ahead)
	k.End -= uint64(d.ahead)
}

// alone reports whether no activity comes for a call of a vendor's function.
func (d *drainer) alone(function uint32) bool {
	_, waits := d.source.APIName(function)
	return waits && !d.recording.Has(record.Sync)
}

// problem notes a sentence, once.
func (d *drainer) problem(text string) {
	if !slices.Contains(d.problems, text) {
		d.problems = append(d.problems, text)
	}
}
