package profiler

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/hotpath/scratch"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profiler/callpath"
)

// InsideBackend is upstream's name for sessions that record scopes inside kernels. They collect with the backend that fits the
// machine, so that the time of a kernel stands next to the cycles of its scopes.
const InsideBackend = "instrumentation"

// insideRecording is what all sessions that record scopes inside kernels share.
type insideRecording struct {
	mode     *string // nil while there is none
	recorded bool    // some session since the first has recorded scopes, so records may be on their way
	base     scratch.Losses
	launched map[uint64]callpath.Place // where launches were made, in a replay
}

// takeInside removes the mode of the records inside kernels from the options and returns it; nil if the session has none. The
// options that remain are those of a session that times kernels.
func (o *StartOptions) takeInside() *string {
	if !strings.EqualFold(o.Backend, InsideBackend) {
		return nil
	}
	mode := o.Mode
	o.Backend, o.Mode = "", ""
	return &mode
}

// prepareInside notes what records inside kernels a session wants.
func (d *drainer) prepareInside(s *session) error {
	if s.inside == nil {
		return nil
	}
	if err := d.checkInside(s.inside); err != nil {
		return err
	}
	d.inside.mode, d.inside.recorded = s.inside, true
	return nil
}

// endInside lets the next session choose another mode once no session records scopes inside kernels.
func (d *drainer) endInside() {
	if !slices.ContainsFunc(d.list, func(s *session) bool { return s.inside != nil }) {
		d.inside.mode = nil
	}
}

// checkInside checks that all sessions want the same records: a kernel is compiled with one set of them.
func (d *drainer) checkInside(mode *string) error {
	if mode != nil && d.inside.mode != nil && *d.inside.mode != *mode {
		return &ArgumentError{differentMode}
	}
	return nil
}

// recordInside has launches recorded while some active session wants it.
func (d *drainer) recordInside(on bool) {
	if !on {
		scratch.Stop()
		return
	}
	if err := scratch.Start(insideLimit()); err != nil {
		d.problem(err.Error())
	}
}

// insideLimit is how many bytes of GPU memory launches may take together.
func insideLimit() uint64 {
	mib, err := strconv.ParseUint(settings.InsideMemory.Get(os.Getenv), 10, 32)
	if err != nil || mib == 0 {
		mib = 1024
	}
	return mib << 20
}

// drainInside takes the launches whose records have arrived, and leaves those that arrive meanwhile to the next round: they may come
// faster than they are read. The ring of their thread was drained before.
func (d *drainer) drainInside() {
	if !d.inside.recorded {
		return
	}
	for range scratch.Ready() {
		if scratch.Next(d.addInside) {
			d.work++
		}
	}
}

func discardInside() {
	for scratch.Next(func(*inside.Launch) {}) {
		continue
	}
}

// insidePatience is how long the records of no launch may arrive until a flush goes on without them. The GPU has finished by then.
const insidePatience = 10 * time.Second

// awaitInside waits for the records of the launches so far. Each command of the drainer takes what has arrived.
func (m *Manager) awaitInside() {
	missing := scratch.Await(insidePatience, func() { m.drainer.do(func(*drainer) {}) }, func() { m.ending.moves.Add(1) })
	if missing > 0 {
		m.Problem(fmt.Errorf("the records of scopes inside %d launches did not arrive within %v of the end of the work, and are missing", missing, insidePatience))
	}
}

// insideProblems says which launches of kernels with scopes were not recorded, and why.
func (d *drainer) insideProblems() (sentences []string) {
	for _, loss := range inside.Losses(&d.agg.Inside.Losses, d.agg.Inside.Full) {
		sentences = append(sentences, "scopes inside kernels: "+loss)
	}
	if !d.inside.recorded {
		return sentences
	}
	l, was := scratch.Lost(), d.inside.base
	say := func(n, before uint64, format string, args ...any) {
		if n > before {
			sentences = append(sentences, "scopes inside kernels: "+figures.Count(n-before, "launch")+" "+fmt.Sprintf(format, args...))
		}
	}
	say(l.NoRoom, was.NoRoom, "found no memory for records (up to %d MiB at once, and %s=%d is the limit): raise it, use a smaller buffer_size, or launch less often",
		(l.LargestSize+1<<20-1)>>20, settings.InsideMemory.Name, insideLimit()>>20)
	say(l.TooMany, was.TooMany, "had more blocks than the code of this release of Triton can address the records of: launch fewer blocks, use a smaller buffer_size, or Triton 3.8 or newer")
	say(l.Foreign, was.Foreign, "got memory from another profile allocator (triton.runtime._allocation.set_profile_allocator): leave it to the profiler while a session records")
	say(l.Elsewhere, was.Elsewhere, "got memory of another GPU than the one that ran it: allocate it on the GPU of the launch")
	say(l.Unknown, was.Unknown, "were of kernels that were loaded while no session was there to see it: load them in a session")
	say(l.Failed, was.Failed, "left records that the driver refused to copy (error %d): does the program fail on the GPU?", l.DriverError)
	say(l.Replays, was.Replays, "of replayed graphs came faster than their records could be read")
	return sentences
}
