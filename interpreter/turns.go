package interpreter

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/goproton/goproton/interpreter/check"
)

// In the co-operative order, instances take turns: one runs until it ends, or until an atomic operation or a load of it sees for the second time
// what it saw before, at the same address, with nothing changed by the instance in between. It goes on when the memory there is another one,
// or when no instance is left that can run. In other orders, an instance that waits so for too long is ended.

// sight is what an operation saw of memory, in one instance.
type sight struct {
	instance, progress int64 // of the machine
	address            int64
	seen               uint64
	turns              int64
}

// mostPolls is how often an instance may look at what nothing changes, if no other instance runs.
const mostPolls = 1 << 20

// polls says whether an operation may be one that waits for another instance: an atomic one, a volatile load, and a load that decides
// whether a loop goes on.
func (c *compiler) polls() bool {
	return c.deciding || c.op.Flag("isVolatile")
}

// polled ends an operation on the elements at some addresses that may wait. It changed memory, or not.
func (m *machine) polled(s *site, addresses []int64, masks []bit, changed bool) {
	if changed {
		m.progress++
		return
	}
	if m.launch.stopped == nil && m.launch.workers != 1 {
		return // others run, and may write there at this moment
	}
	seen, first := m.memory.seen(addresses, masks, s.size)
	if first < 0 {
		return
	}
	now := sight{m.instances, m.progress, addresses[first], seen, s.sight.turns}
	if s.sight != now {
		s.sight = now
		s.sight.turns = 0
		return
	}
	s.sight.turns++
	switch {
	case m.launch.stopped != nil:
		m.park(s, addresses, masks, now.address)
	case s.sight.turns > mostPolls:
		panic(m.finding(s.op, check.Deadlock, fmt.Sprintf("%s was looked at %d times, and nothing changes it: the program instance waits for another one, which does not run before this one ends. run in the co-operative order, with --order cooperative",
			m.memory.describe(addresses[first], s.size), s.sight.turns), first))
	}
}

// seen is a hash of the elements at some addresses, and the first of them that the mask does not leave out; -1 if it leaves out all.
func (m *memory) seen(addresses []int64, masks []bit, size int) (sum uint64, first int) {
	h, first := fnv.New64a(), -1
	for i, address := range addresses {
		if masks != nil && masks[i] == 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		_, _ = h.Write(m.bytes(address, size))
	}
	return h.Sum64(), first
}

// waiting is what an instance waits for.
type waiting struct {
	site      *site
	addresses []int64
	masks     []bit
	kind      sight // what it saw there, which it compares with what it waited for the time before
}

var errAbandoned = errors.New("the launch has ended")

// park lets other instances run. first is the first of the addresses that the mask does not leave out.
func (m *machine) park(s *site, addresses []int64, masks []bit, first int64) {
	m.waits = waiting{site: s, addresses: addresses, masks: masks, kind: sight{instance: m.instances, address: first, seen: s.sight.seen}}
	m.launch.stopped <- true
	if !<-m.resume {
		panic(errAbandoned)
	}
}

// changed says whether the memory that an instance waits for is another one.
func (w *waiting) changed(m *memory) bool {
	h, _ := m.seen(w.addresses, w.masks, w.site.size)
	return h != w.kind.seen
}

// maxWaiting bounds the memory of instances that have begun, in bytes; so many instances may begin in any case.
const (
	maxWaiting   = 4 << 30
	leastWaiting = 16
)

// turns runs instances in the co-operative order.
type turns struct {
	l       *launch
	more    func() (*machine, error)
	idle    []*machine
	parked  []*machine // in the order in which they began to wait
	all     int
	bytes   int
	stalled int  // turns in which nothing changed
	full    bool // there is no room for another instance
	ended   bool // all instances have begun
}

// cooperate runs all instances. more makes another machine.
func (l *launch) cooperate(first *machine, more func() (*machine, error)) error {
	l.stopped = make(chan bool)
	t := &turns{l: l, more: more}
	t.add(first)
	defer t.close()
	for {
		m, err := t.next()
		if m == nil || err != nil {
			return err
		}
		before := m.waits.kind
		m.resume <- true
		waits := <-l.stopped
		if waits {
			t.parked = append(t.parked, m)
		} else {
			t.idle = append(t.idle, m)
		}
		if !waits || before != m.waits.kind {
			t.stalled = 0
		}
		if l.err != nil {
			return l.err
		}
	}
}

func (t *turns) add(m *machine) {
	m.resume = make(chan bool)
	t.all++
	t.bytes += m.bytes
	t.idle = append(t.idle, m)
	go m.serve()
}

// serve runs an instance each time that it is resumed.
func (m *machine) serve() {
	for <-m.resume {
		m.guard(m.instance)
		m.launch.stopped <- false
	}
}

// next is the machine that runs now; nil at the end.
func (t *turns) next() (*machine, error) {
	for i, m := range t.parked {
		if m.waits.changed(t.l.memory) {
			t.parked = slices.Delete(t.parked, i, i+1)
			t.stalled = 0
			return m, nil
		}
	}
	if !t.ended && (!t.full || len(t.idle) > 0) {
		if m, err := t.begin(); m != nil || err != nil {
			return m, err
		}
	}
	if len(t.parked) == 0 {
		return nil, nil
	}
	if t.stalled++; t.stalled > max(mostTurns, 20*len(t.parked)) {
		return nil, t.deadlock()
	}
	m := t.parked[0]
	t.parked = t.parked[1:]
	return m, nil
}

// begin is a machine for an instance that has not begun; nil if there is none.
func (t *turns) begin() (*machine, error) {
	if len(t.idle) == 0 {
		if t.bytes+t.bytes/t.all > maxWaiting && t.all >= leastWaiting {
			t.full = true
			return nil, nil
		}
		m, err := t.more()
		if err != nil {
			return nil, err
		}
		t.add(m)
	}
	at, ok := t.l.take()
	if !ok {
		t.ended = true
		return nil, nil
	}
	m := t.idle[len(t.idle)-1]
	t.idle = t.idle[:len(t.idle)-1]
	m.at, m.waits = at, waiting{}
	t.full = false
	return m, nil
}

// maxPlaces bounds how many places a deadlock names.
const maxPlaces = 8

// mostTurns is how many instances may run, one after another, without a change: some only look a certain number of times. It is a variable for
// tests.
var mostTurns = 1 << 20

// deadlock is the finding that all instances wait.
func (t *turns) deadlock() error {
	var f *Finding
	seen := map[*site]bool{}
	for _, m := range t.parked {
		w := &m.waits
		text := m.memory.describe(w.kind.address, w.site.size)
		if f == nil {
			f = m.accessFinding(w.site, check.Deadlock, fmt.Sprintf("%d program instances wait, and nothing changes what they wait for: %s", len(t.parked), text), w.kind.address, 0)
			if t.full {
				f.Text += fmt.Sprintf("; more instances did not begin, since the values of those that wait need %d MB", t.bytes>>20)
			}
		} else if len(f.Others) < maxPlaces && !seen[w.site.first(m)] {
			p := m.place(w.site.op, m.at, 0)
			p.Access = w.site.kind.String() + " of " + text
			f.Others = append(f.Others, p)
		}
		seen[w.site.first(m)] = true
	}
	if t.l.o.KeepGoing {
		t.l.findings.Add(f)
		return nil
	}
	return f
}

// first is the site of the same operation in the launch's first machine.
func (s *site) first(m *machine) *site { return m.launch.first.sites[s.number] }

// close ends all machines.
func (t *turns) close() {
	for _, m := range t.parked {
		m.resume <- false // the instance ends
		<-t.l.stopped
		close(m.resume)
	}
	for _, m := range t.idle {
		close(m.resume)
	}
}
