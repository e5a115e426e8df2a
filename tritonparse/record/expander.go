package record

import (
	"fmt"
	"sync/atomic"

	"github.com/goproton/goproton/tritonparse/internal/store"
)

// expander turns what is in ring files into records and writes them; the living process and Recover do the same.
type expander struct {
	header     header
	dictionary *dictionary
	out        output
	complain   func(string)

	read     uint64 // of the ring
	events   uint64
	done     atomic.Uint64 // events, as other goroutines may read it
	counts   Counts
	kept     Counts // what is in the file
	problems []string
	failed   bool // nothing is written any more
	panics   int

	rankChanged bool // and no commit names the new file yet
	line        []byte
}

func (x *expander) completedEvents() uint64 { return x.done.Load() }

// drain writes the launches that are in the ring, and says how many.
func (x *expander) drain(r *ring) (n int) {
	for end := r.written(); x.read < end; {
		payload, next, err := r.record(x.read, end)
		if err != nil {
			x.problem(fmt.Sprintf("%v: launches are missing", err))
			x.read = end
			break
		}
		x.record(payload)
		x.read = next
		n++
		if x.rankChanged {
			x.commit(r)
			x.rankChanged = false
		}
		if x.out.full() {
			x.flush(r)
		}
	}
	if n > 0 || len(x.out.pending) > 0 {
		x.flush(r)
	}
	return n
}

func (x *expander) record(payload []byte) {
	if len(payload) == 0 {
		return
	}
	switch body := payload[1:]; payload[0] {
	case recordLaunch:
		x.launch(body)
	case recordRank:
		x.changeRank(body)
	default:
		x.problem(fmt.Sprintf("%v: a record of kind %d", errDamaged, payload[0]))
	}
}

func (x *expander) launch(body []byte) {
	if x.failed {
		x.counts.Lost++
		return
	}
	l, err := readLaunch(body)
	if err == nil {
		err = x.expand(l)
	}
	if err != nil {
		x.problem(err.Error())
		x.counts.Lost++
		return
	}
	x.out.add(x.line)
	x.counts.Launches++
}

// expand turns a panic into an error: a bug of ours must not end the program.
func (x *expander) expand(l launch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("BUG: writing a launch: %v; please report this", p)
		}
	}()
	x.line, err = x.dictionary.appendLaunch(x.line[:0], x.header.PID, l)
	return err
}

// changeRank ends the file: TritonParse has a file for each rank that a process has had.
func (x *expander) changeRank(body []byte) {
	c := store.Cursor{In: body}
	rank := c.Varint()
	if c.Damaged || rank == x.out.rank {
		return
	}
	if err := x.out.flush(); err != nil {
		x.writingFailed(err)
	}
	if err := x.out.end(); err != nil {
		x.writingFailed(err)
	}
	x.out.rank = rank
	x.rankChanged = true
}

func (x *expander) addEvent(c completed) {
	x.events++
	switch {
	case c.err != nil:
		x.problem(c.err.Error())
	case !x.failed:
		x.out.add(c.line)
		x.counts.add(c.counts)
	}
	if c.missing != nil {
		x.problem(c.missing.Error())
	}
	x.done.Store(x.events)
}

// flush writes what is pending, and commits in the ring how far the output got.
func (x *expander) flush(r *ring) {
	if err := x.out.flush(); err != nil {
		x.writingFailed(err)
	}
	x.sayRemoved()
	x.commit(r)
}

func (x *expander) sayRemoved() {
	if x.out.removed {
		x.problem(fmt.Sprintf("%s was removed or moved while the program ran: what had been traced went with it", x.out.path()))
	}
}

func (x *expander) commit(r *ring) {
	c := commit{
		Read: x.read, Events: x.events, OutSize: uint64(x.out.written()), Rank: x.out.rank,
		Launches: uint64(x.counts.Launches), Others: uint64(x.counts.Compilations)<<32 | uint64(x.counts.Autotunes),
	}
	if x.out.frameOpen {
		c.FrameOpen = 1
	}
	r.commit(c)
	x.kept = x.counts
}

// writingFailed ends the writing for good. The program goes on.
func (x *expander) writingFailed(err error) {
	if x.failed {
		return
	}
	x.out.pending, x.failed = nil, true
	x.counts.Lost += x.counts.Launches - x.kept.Launches
	x.counts.Launches, x.counts.Compilations, x.counts.Autotunes = x.kept.Launches, x.kept.Compilations, x.kept.Autotunes
	x.problem(fmt.Sprintf("write %s: %s: launches and compilations from here on are lost; the trace has what came before", x.out.path(), why(err)))
}

// problem reports a problem, once.
func (x *expander) problem(what string) {
	for _, have := range x.problems {
		if have == what {
			return
		}
	}
	x.problems = append(x.problems, what)
	if x.complain != nil {
		x.complain("trace: " + what)
	}
}

func (x *expander) finish(r *ring) {
	x.flush(r)
	if err := x.out.end(); err != nil {
		x.writingFailed(err)
	}
	x.sayRemoved()
}
