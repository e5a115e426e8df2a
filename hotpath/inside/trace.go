package inside

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
)

// Trace is a timeline in the form in which Triton's Proton writes it: each block is a process, each warp a few threads, a cycle is
// drawn as a ns, and blocks are placed by the global timer. It holds pairs until it is written, at most tracePairs of them.
type Trace struct {
	Left uint64 // pairs that found no room

	launches []traceLaunch
	pairs    int
	least    uint64 // init of the first block
	begun    bool
}

type traceLaunch struct {
	kernel *Kernel
	stack  []string
	blocks []Block // with pairs in order of warp and start, before time_shift moved them
}

// tracePairs bound the memory of a trace: 24 bytes each. Upstream takes 3 KB each, without a bound.
const tracePairs = 8 << 20

// Colours are given to the names of a launch in order of their first use.
var colours = [...]string{
	"cq_build_passed", "cq_build_failed", "thread_state_iowait", "thread_state_running", "thread_state_runnable", "thread_state_unknown",
	"rail_response", "rail_idle", "rail_load", "cq_build_attempt_passed", "cq_build_attempt_failed",
}

// Costs of one record in cycles, as time_shift subtracts them.
const (
	costCUDA = 7
	costHIP  = 36
)

// Begin begins with a launch. stack is the call path of its kernel, the root and the kernel included.
func (t *Trace) Begin(k *Kernel, stack []string) {
	t.launches = append(t.launches, traceLaunch{kernel: k, stack: slices.Clone(stack)})
}

// Launches is how many were begun.
func (t *Trace) Launches() int { return len(t.launches) }

// Add adds a block to the launch that was begun last.
func (t *Trace) Add(b *Block) {
	if t.pairs+len(b.Pairs) > tracePairs {
		t.Left += uint64(len(b.Pairs))
		return
	}
	l := &t.launches[len(t.launches)-1]
	own := *b
	own.Pairs = append(inOrder(b.Pairs, false), inOrder(b.Pairs, true)...)
	t.pairs += len(own.Pairs)
	if strings.Contains(l.kernel.Mode, "time_shift") {
		own.shift(l.kernel)
	}
	if !t.begun || own.Init < t.least {
		t.begun, t.least = true, own.Init
	}
	l.blocks = append(l.blocks, own)
}

// shift subtracts what records cost, as upstream does: the cost of each record from all timestamps of its warp that are not before it, first
// of the scopes, and then of the events.
func (b *Block) shift(k *Kernel) {
	cost := uint64(costCUDA)
	if k.Backend == "hip" {
		cost = costHIP
	}
	byWarp := map[uint16][]*uint64{}
	for i := range b.Pairs {
		p := &b.Pairs[i]
		byWarp[p.Warp] = append(byWarp[p.Warp], &p.Start)
		byWarp[p.EndWarp] = append(byWarp[p.EndWarp], &p.End)
	}
	subtract := func(warp uint16, from uint64) {
		for _, at := range byWarp[warp] {
			if *at >= from {
				*at -= cost
			}
		}
	}
	for _, events := range []bool{false, true} {
		for i := range b.Pairs {
			p := &b.Pairs[i]
			if p.Event != events {
				continue
			}
			subtract(p.Warp, p.Start)
			subtract(p.EndWarp, p.End)
			if !events && p.End < p.Start {
				p.End = p.Start + cost/2
			}
		}
	}
}

// Write writes the file: one line, in the form of the release of Triton that compiled the kernels.
func (t *Trace) Write(w io.Writer) error {
	newer := slices.ContainsFunc(t.launches, func(l traceLaunch) bool { return withEvents(l.kernel.Triton) })
	out := traceWriter{w: bufio.NewWriterSize(w, 1<<16), newer: newer, least: t.least}
	if t.pairs == 0 {
		if newer {
			out.raw(`{"displayTimeUnit":"us","traceEvents":[]}` + "\n")
		}
		return out.w.Flush()
	}
	out.raw(`{"displayTimeUnit":"ns","traceEvents":[`)
	for i := range t.launches {
		out.launch(&t.launches[i])
	}
	out.raw("]}\n")
	return out.w.Flush()
}

// withEvents reports whether a release of Triton has events in kernels: 3.9 and newer. It writes more of each slice.
func withEvents(triton string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(triton, "%d.%d", &major, &minor) //nolint:errcheck // n says it
	return n == 2 && (major > 3 || major == 3 && minor >= 9)
}

type traceWriter struct {
	w       *bufio.Writer
	newer   bool
	least   uint64
	written bool
	names   [256]string
	colour  map[string]string
	arcs    int // events that another warp ended
}

func (w *traceWriter) raw(s string) { w.w.WriteString(s) }

func (w *traceWriter) launch(l *traceLaunch) {
	w.colour = map[string]string{}
	for id := range w.names {
		path := l.kernel.Path(uint8(id))
		w.names[id] = path[len(path)-1]
	}
	stack := w.stack(l)
	blocks := slices.Clone(l.blocks)
	slices.SortStableFunc(blocks, func(a, b Block) int {
		return cmp.Or(cmp.Compare(a.SM, b.SM), cmp.Compare(a.Program, b.Program))
	})
	for i := range blocks {
		w.block(l, &blocks[i], stack)
	}
}

// stack is the call path that all events of a launch show: that of its first one, without its own frame.
func (w *traceWriter) stack(l *traceLaunch) string {
	frames := slices.Clone(l.stack)
	for i := range l.blocks {
		if pairs := l.blocks[i].Pairs; len(pairs) > 0 {
			path := l.kernel.Path(pairs[0].Scope)
			frames = append(frames, path[:len(path)-1]...)
			break
		}
	}
	for i, frame := range frames {
		frames[i] = quoted(frame)
	}
	return "[" + strings.Join(frames, ",") + "]"
}

// inOrder are the pairs of warps, or those of events, by warp and start.
func inOrder(pairs []Pair, events bool) (some []Pair) {
	for _, p := range pairs {
		if p.Event == events {
			some = append(some, p)
		}
	}
	slices.SortStableFunc(some, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(a.Warp, b.Warp), cmp.Compare(a.Start, b.Start))
	})
	return some
}

func (w *traceWriter) block(l *traceLaunch, b *Block, stack string) {
	least := uint64(math.MaxUint64)
	for i := range b.Pairs {
		least = min(least, b.Pairs[i].Start, b.Pairs[i].End) // time_shift may move an end before all starts
	}
	at := func(cycles uint64) float64 { return float64(int64(cycles-least+b.Init-w.least)) / 1000 }
	rows := rowsOf(b.Pairs)
	for i := range b.Pairs {
		if p := &b.Pairs[i]; p.Event {
			w.event(l, b, p, stack, at, rows[i])
		} else {
			w.slice(l, b, p, stack, at, rows[i])
		}
	}
}

// rowsOf gives each pair the lowest row of its warp in which it overlaps no other, in order of start.
func rowsOf(pairs []Pair) []int {
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(pairs[x].Warp, pairs[y].Warp), cmp.Compare(pairs[x].Start, pairs[y].Start))
	})
	rows := make([]int, len(pairs))
	var ends []uint64 // of the last pair in each row of a warp
	for n, i := range order {
		p := &pairs[i]
		if p.Warp != p.EndWarp {
			continue
		}
		if n == 0 || p.Warp != pairs[order[n-1]].Warp {
			ends = ends[:0]
		}
		row := slices.IndexFunc(ends, func(end uint64) bool { return end <= p.Start })
		if row < 0 {
			row = len(ends)
			ends = append(ends, 0)
		}
		ends[row], rows[i] = p.End, row
	}
	return rows
}

func (w *traceWriter) next() {
	if w.written {
		w.raw(",")
	}
	w.written = true
}

func (w *traceWriter) slice(l *traceLaunch, b *Block, p *Pair, stack string, at func(uint64) float64, row int) {
	w.next()
	w.raw(`{"args":{"Finalization Time (ns)":` + strconv.FormatUint(b.PostFinal-b.PreFinal, 10) + `,"Frequency (MHz)":1000.0,`)
	if w.newer {
		w.raw(`"Init Time (ns)":` + strconv.FormatUint(b.Init, 10) + `,"Post Final Time (ns)":` + strconv.FormatUint(b.PostFinal, 10) + `,`)
	}
	w.raw(`"call_stack":` + stack + `},"cat":` + quoted(l.kernel.Name) + `,"cname":"` + w.colourOf(w.names[p.Scope]) + `","dur":` + p.duration())
	w.raw(`,"name":` + quoted(w.names[p.Scope]))
	w.place(l, b, p.Warp, row, at(p.Start))
}

// duration is below zero where more was subtracted from the end than from the start.
func (p *Pair) duration() string { return double(float64(int64(p.Cycles())) / 1000) }

// place ends an event with the keys that name its lane and its time.
func (w *traceWriter) place(l *traceLaunch, b *Block, warp uint16, row int, at float64) {
	w.raw(`,"ph":"X","pid":` + quoted(l.kernel.Name+" Core"+strconv.FormatUint(uint64(b.SM), 10)+" CTA"+strconv.FormatUint(uint64(b.Program), 10)))
	w.raw(`,"tid":"warp ` + strconv.Itoa(int(warp)) + ` (line ` + strconv.Itoa(row) + `)","ts":` + double(at) + `}`)
}

// event writes one event that its own warp ended as a slice, and one that another warp ended as two that are bound.
func (w *traceWriter) event(l *traceLaunch, b *Block, p *Pair, stack string, at func(uint64) float64, row int) {
	name := w.names[p.Scope]
	if p.Warp == p.EndWarp {
		w.next()
		w.raw(`{"args":{"call_stack":` + stack + `},"cat":"async","cname":"` + w.colourOf(name) + `","dur":` + p.duration() + `,"name":` + quoted(name))
		w.place(l, b, p.Warp, row, at(p.Start))
		return
	}
	w.arcs++
	for _, end := range []bool{false, true} {
		warp, when, way := p.Warp, p.Start, `"flow_out":true`
		if end {
			warp, when, way = p.EndWarp, p.End, `"flow_in":true`
		}
		w.next()
		w.raw(`{"args":{"call_stack":` + stack + `},"bind_id":` + strconv.Itoa(w.arcs) + `,"cat":"flow","cname":"` + w.colourOf(name) + `","dur":0,` + way + `,"name":` + quoted(name))
		w.place(l, b, warp, 0, at(when))
	}
}

func (w *traceWriter) colourOf(name string) string {
	c, known := w.colour[name]
	if !known {
		c = colours[len(w.colour)%len(colours)]
		w.colour[name] = c
	}
	return c
}

func quoted(s string) string { return string(jsontext.Quote(s)) }

// double writes the shortest text of a number, with a decimal point.
func double(f float64) string { return string(jsontext.AppendFloat(nil, f)) }
