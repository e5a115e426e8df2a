package record

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/runinfo"
)

// Log is the trace of this process. Launches come through the ring, everything else through its methods, which may be
// called from any thread.
type Log struct {
	header   header
	ring     *ring
	complain func(string)

	mu          sync.Mutex    // guards what follows
	definitions *ownfile.File // nil when what is defined is not kept for a crash
	numbers     map[string]uint64
	waiting     [][]byte // events that were not completed yet
	accepted    uint64   // events

	dictionary dictionary
	wake       chan struct{} // there is an event
	completed  chan completed
	stop       chan struct{}
	done       chan struct{}

	expander expander // of the writing goroutine
}

// Begin opens the trace of this process. What goes wrong later is said once, through complain.
func Begin(o Options, complain func(string)) (*Log, error) {
	if err := os.MkdirAll(o.Folder, 0o777); err != nil {
		return nil, fmt.Errorf("make the trace folder: %w", err)
	}
	l := &Log{
		header: newHeader(o), complain: complain, numbers: map[string]uint64{},
		wake: make(chan struct{}, 1), completed: make(chan completed), stop: make(chan struct{}), done: make(chan struct{}),
	}
	err := l.open()
	for n := 2; errors.Is(err, errInUse); n++ {
		l.header.Host = fmt.Sprintf("%s-%d", hostLabel(), n)
		err = l.open()
	}
	if err != nil {
		return nil, err
	}
	h := l.header
	if o.Status != "" {
		_ = runinfo.MoveAside(o.Status, h.PID, ".trace") // of the program that this process was before
	}
	l.expander = expander{header: h, dictionary: &l.dictionary, out: output{header: h, rank: noRank}, complain: complain}
	l.expander.commit(l.ring)
	go l.completeEvents()
	go l.write()
	return l, nil
}

// open makes the ring files. A folder that cannot hold it is refused, unless only mapping fails there. errInUse says that another
// process has our names: one in a container, which counts its processes for itself and may have the host's name.
func (l *Log) open() (err error) {
	if err := recoverOwn(l.header); errors.Is(err, errInUse) {
		return err
	} else if err != nil {
		l.complain(err.Error())
	}
	var unmapped error
	if l.ring, unmapped = newRing(l.header.ringFile("ring")); errors.Is(unmapped, errInUse) {
		return unmapped
	}
	if l.definitions, err = openDefinitions(l.header); err != nil {
		if l.ring != nil {
			l.ring.close(true)
		}
		return fmt.Errorf("write into the trace folder: %w", err)
	}
	if unmapped == nil {
		return nil
	}
	l.complain(fmt.Sprintf("%v: launches are kept in memory until they are written, a crash loses the last moments", unmapped))
	l.dropDefinitions()
	l.ring, err = privateRing()
	return err
}

func (l *Log) dropDefinitions() {
	if l.definitions != nil {
		_ = os.Remove(l.definitions.Name())
		_ = l.definitions.Close()
		l.definitions = nil
	}
}

// Memory is the ring, as the launching threads fill it.
func (l *Log) Memory() []byte { return l.ring.mem }

// Define gives a value a number by which launches refer to it. Equal values get equal numbers.
func (l *Log) Define(value []byte) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id := l.numbers[string(value)]; id != 0 {
		return id
	}
	value = append([]byte(nil), value...)
	l.keep(isDefinition, value)
	id := l.dictionary.add(value)
	l.numbers[string(value)] = id
	return id
}

// Event takes a compilation or autotune record, to be completed and written.
func (l *Log) Event(text []byte) {
	l.mu.Lock()
	text = append([]byte(nil), text...)
	l.keep(isEvent, text)
	l.waiting = append(l.waiting, text)
	l.accepted++
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// keep writes what a crash must not lose. The caller holds mu.
func (l *Log) keep(kind byte, payload []byte) {
	if l.definitions == nil {
		return
	}
	if _, err := l.definitions.Write(appendEntry(nil, kind, payload)); err != nil {
		l.complain(fmt.Sprintf("write %s: %s: a crash would lose launches that are not written yet", l.definitions.Name(), why(err)))
		_ = l.definitions.Close()
		l.definitions = nil
	}
}

// completeEvents runs until stop, and does one event after another.
func (l *Log) completeEvents() {
	var sources sourceLines
	for {
		text := l.nextEvent()
		if text == nil {
			select {
			case <-l.wake:
				continue
			case <-l.stop:
				return
			}
		}
		c := l.safely(text, &sources)
		select {
		case l.completed <- c:
		case <-l.stop:
			return
		}
	}
}

// safely turns a panic into an error: a bug of ours must not end the program.
func (l *Log) safely(text []byte, sources *sourceLines) (c completed) {
	defer func() {
		if p := recover(); p != nil {
			c.err = fmt.Errorf("BUG: completing a compilation: %v; please report this", p)
		}
	}()
	return l.header.complete(text, sources)
}

func (l *Log) nextEvent() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return nil
	}
	text := l.waiting[0]
	l.waiting = l.waiting[1:]
	return text
}

const (
	busy = 20 * time.Millisecond  // between two rounds of a program that launches
	idle = 200 * time.Millisecond // of one that does not; the ring has room for seconds
)

// write is the goroutine that owns the output.
func (l *Log) write() {
	defer close(l.done)
	pause := time.NewTimer(busy)
	defer pause.Stop()
	for {
		next := idle
		select {
		case <-l.stop:
			l.guarded(func() { l.expander.drain(l.ring) })
			return
		case c := <-l.completed:
			l.guarded(func() { l.expander.addEvent(c) })
			next = busy
		case <-pause.C:
			l.guarded(func() {
				if l.expander.drain(l.ring) > 0 {
					next = busy
				}
			})
		}
		pause.Reset(next)
	}
}

// guarded ends the writing after a panic: a bug of ours must not end the program. Later launches are counted as lost.
func (l *Log) guarded(do func()) {
	defer func() {
		if p := recover(); p != nil {
			x := &l.expander
			if x.panics++; x.panics > 1 { // counting them panicked too
				x.read = l.ring.written()
				x.commit(l.ring)
			}
			x.writingFailed(fmt.Errorf("BUG: %v; please report this", p))
		}
	}()
	do()
}

// End writes what is left, waiting for compilations no longer than the patience, and closes the trace. What took longer
// stays in the ring files for Recover. The ring must not be written to any more.
func (l *Log) End(patience time.Duration) Counts {
	const tick = time.Millisecond
	for waited := time.Duration(0); !l.allDone() && waited < patience; waited += tick { // counted and not measured: time in which the process is stopped does not count
		time.Sleep(tick)
	}
	close(l.stop)
	if !l.waitWritten() {
		return l.leaveUnwritten()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &l.expander
	left := l.accepted - e.events
	if left > 0 && (l.definitions == nil || l.ring.file == nil) {
		e.problem(figures.Plural(left, "compilation was", "compilations were") + " not written in time")
		left = 0
	}
	if lost := l.ring.lost(); lost > 0 {
		e.counts.Lost += lost
		e.problem(fmt.Sprintf("%s lost: there was no room, since %s could not be written as fast", figures.Plural(lost, "launch is", "launches are"), e.out.path()))
	}
	if left == 0 {
		e.finish(l.ring)
		l.dropDefinitions()
	} else {
		_ = e.out.file.Close() // its frame is ended by the process that continues it
		_ = l.definitions.Close()
		l.definitions = nil // a thread may be defining something yet
	}
	l.ring.close(left == 0)
	status{Counts: e.counts, Problems: e.problems, Files: e.out.names}.write(l.header.Options.Status, l.header.PID)
	return e.counts
}

// writePatience is how long a single write may take at the end.
var writePatience = 5 * time.Second

// waitWritten waits until all is written, as long as something is.
func (l *Log) waitWritten() bool {
	for {
		before := atomic.LoadUint64(l.ring.word(atRead))
		if _, ok := procstat.Receive(l.done, writePatience); ok {
			return true
		}
		if !l.finished() && atomic.LoadUint64(l.ring.word(atRead)) == before {
			return false
		}
	}
}

func (l *Log) finished() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// leaveUnwritten lets the program end although the file system does not answer. Files and memory stay as they are, in use by
// the writing goroutine; once the process is gone, they are Recover's.
func (l *Log) leaveUnwritten() Counts {
	what := fmt.Sprintf("the trace is not written yet, and %s does not answer: `proton trace info %[1]s` completes it when it does", l.header.Options.Folder)
	l.complain("trace: " + what)
	c := l.ring.last()
	counts := Counts{Launches: int64(c.Launches), Compilations: int64(c.Others >> 32), Autotunes: int64(c.Others & 0xFFFFFFFF), Lost: l.ring.lost()}
	status{Counts: counts, Problems: []string{what}}.write(l.header.Options.Status, l.header.PID)
	return counts
}

// allDone reports whether all events have been completed.
func (l *Log) allDone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) == 0 && l.accepted == l.expander.completedEvents()
}
