package chrometrace

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// WriteUpstream writes a profile's timeline as Triton's main branch writes one, for readers that know nothing else: scopes,
// kernels, the scopes around kernels of a graph, and arrows. Calls, copies, waits and the facts of the run are left out. Numbers
// are texts, metrics are part of a scope's name, and an arrow leaves from the start of the innermost scope.
func WriteUpstream(w io.Writer, p *profile.Profile) error {
	if p.Timeline == nil {
		return profile.ErrNoTimeline
	}
	u := newUpstream(p)
	out := bufio.NewWriterSize(w, bufferSize)
	u.out = out
	if err := u.write(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return out.Flush()
}

// capturedAt is the frame below which the call path of a capture begins.
const capturedAt = "<captured_at>"

// upstreamForm is a timeline as upstream shows it.
type upstreamForm struct {
	*profile.Profile
	lane map[int]*upstreamLane

	// Slices by their number in the timeline, in the order of the file.
	scopes, graphs, kernels []int32
	flows                   []profile.Flow
	base                    int64 // of all times: the earliest

	out    *bufio.Writer
	buf    []byte
	events bool
}

// upstreamLane is a lane with something to show.
type upstreamLane struct {
	*profile.Lane
	tid    int
	scopes []int32 // those of a thread, by start
}

func newUpstream(p *profile.Profile) *upstreamForm {
	u := &upstreamForm{Profile: p, lane: map[int]*upstreamLane{}}
	for i := range p.Timeline.Lanes {
		l := &p.Timeline.Lanes[i]
		u.lane[l.ID] = &upstreamLane{Lane: l, tid: -1}
	}
	u.choose()
	u.number()
	for _, list := range [][]int32{u.scopes, u.graphs, u.kernels} {
		slices.SortStableFunc(list, u.order)
	}
	for _, i := range u.scopes {
		l := u.lane[u.slice(i).Lane]
		l.scopes = append(l.scopes, i)
	}
	u.chooseFlows()
	u.findBase()
	return u
}

func (u *upstreamForm) slice(i int32) *profile.Slice { return &u.Timeline.Slices[i] }

func (u *upstreamForm) order(a, b int32) int {
	x, y := u.slice(a), u.slice(b)
	return cmp.Or(cmp.Compare(u.lane[x.Lane].tid, u.lane[y.Lane].tid), cmp.Compare(x.Start, y.Start), cmp.Compare(y.Duration, x.Duration))
}

// choose finds the slices that upstream has too.
func (u *upstreamForm) choose() {
	ops := u.ops()
	for i := range u.Timeline.Slices {
		s := &u.Timeline.Slices[i]
		l := u.lane[s.Lane]
		switch {
		case l == nil:
		case s.Kind == profile.KernelSlice || s.Kind == profile.GraphSlice:
			u.kernels = append(u.kernels, int32(i))
		case s.Kind != profile.ScopeSlice:
		case l.Kind == profile.GraphLane:
			u.graphs = append(u.graphs, int32(i))
		case l.Kind == profile.ThreadLane && !ops[pathKey(s.Path)] && !slices.ContainsFunc(s.Path, profile.IsLaunchMetadata):
			u.scopes = append(u.scopes, int32(i))
		}
	}
}

// ops are the call paths of kernels. A launch that the launch hook named has a slice on its thread with the path of its
// kernel; upstream shows the kernel only. The path of a captured launch begins below the frame of the capture.
func (u *upstreamForm) ops() map[string]bool {
	ops := map[string]bool{}
	var last *string // paths are shared: most kernels have that of the one before
	for i := range u.Timeline.Slices {
		s := &u.Timeline.Slices[i]
		if s.Kind != profile.KernelSlice || len(s.Path) == 0 || &s.Path[0] == last {
			continue
		}
		last = &s.Path[0]
		ops[pathKey(s.Path)] = true
		if at := slices.Index(s.Path, capturedAt); at > 0 {
			ops[pathKey(append([]string{s.Path[0]}, s.Path[at+1:]...))] = true
		}
	}
	return ops
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

// number gives the lanes that show something the ids of upstream's.
func (u *upstreamForm) number() {
	used := map[int]bool{}
	for _, list := range [][]int32{u.scopes, u.graphs, u.kernels} {
		for _, i := range list {
			used[u.slice(i).Lane] = true
		}
	}
	for _, f := range u.Timeline.Flows {
		used[f.From] = used[f.From] || used[f.To]
	}
	table := newLaneTable()
	for i := range u.Timeline.Lanes {
		l := u.Timeline.Lanes[i]
		l.Process = "" // upstream knows one
		if !used[l.ID] {
			continue
		}
		if w, _, err := table.add(l); err == nil {
			u.lane[l.ID].tid = w.rows[0].tid
		}
	}
	hidden := func(i int32) bool { return u.lane[u.slice(i).Lane].tid < 0 }
	for _, list := range []*[]int32{&u.scopes, &u.graphs, &u.kernels} {
		*list = slices.DeleteFunc(*list, hidden)
	}
}

// chooseFlows keeps the arrows to kernels, and has each leave from the start of the innermost scope.
func (u *upstreamForm) chooseFlows() {
	type place struct {
		lane int
		at   int64
	}
	kernels := make(map[place]bool, len(u.kernels))
	for _, i := range u.kernels {
		kernels[place{u.slice(i).Lane, u.slice(i).Start}] = true
	}
	ids := u.Timeline.FlowIDs()
	leaving := map[int][]int{} // numbers of arrows, by lane
	for i, f := range u.Timeline.Flows {
		if u.lane[f.From] == nil || !kernels[place{f.To, f.End}] {
			continue
		}
		f.ID = ids[i]
		leaving[f.From] = append(leaving[f.From], len(u.flows))
		u.flows = append(u.flows, f)
	}
	for lane, flows := range leaving {
		u.leaveScopes(u.lane[lane], flows)
	}
}

// leaveScopes has the arrows of a thread leave from the start of the innermost scope around them, if there is one. Scopes nest, so
// one look at each in order of time finds them.
func (u *upstreamForm) leaveScopes(l *upstreamLane, flows []int) {
	slices.SortFunc(flows, func(a, b int) int { return cmp.Compare(u.flows[a].Start, u.flows[b].Start) })
	var open []*profile.Slice
	next := 0
	for _, i := range flows {
		at := u.flows[i].Start
		for ; next < len(l.scopes) && u.slice(l.scopes[next]).Start <= at; next++ {
			s := u.slice(l.scopes[next])
			open = append(endedBefore(open, s.Start), s)
		}
		if open = endedBefore(open, at); len(open) > 0 {
			u.flows[i].Start = open[len(open)-1].Start
		}
	}
}

// endedBefore takes the scopes off that end before a time, the innermost of which are last.
func endedBefore(open []*profile.Slice, at int64) []*profile.Slice {
	for len(open) > 0 && open[len(open)-1].Start+open[len(open)-1].Duration < at {
		open = open[:len(open)-1]
	}
	return open
}

func (u *upstreamForm) findBase() {
	first := true
	see := func(at int64) {
		if first || at < u.base {
			u.base, first = at, false
		}
	}
	for _, list := range [][]int32{u.scopes, u.graphs, u.kernels} {
		for _, i := range list {
			see(u.slice(i).Start)
		}
	}
	for i := range u.flows {
		see(u.flows[i].Start)
	}
}

// write writes the document: lanes if there are kernels, scopes, graph scopes, arrows and, at last, kernels.
func (u *upstreamForm) write() error {
	u.buf = append(u.buf, '{')
	if len(u.scopes)+len(u.kernels) > 0 {
		u.buf = append(u.buf, `"baseTimeNanoseconds":`...)
		u.buf = append(strconv.AppendInt(u.buf, u.base, 10), ',')
	}
	u.buf = append(u.buf, `"displayTimeUnit":"us","traceEvents":[`...)
	if len(u.kernels) > 0 {
		u.writeLanes()
	}
	for _, i := range u.scopes {
		u.writeSlice(u.slice(i), "scope")
	}
	for _, i := range u.graphs {
		u.writeSlice(u.slice(i), "scope")
	}
	for i := range u.flows {
		u.writeFlow(&u.flows[i])
	}
	for _, i := range u.kernels {
		u.writeSlice(u.slice(i), "kernel")
	}
	u.buf = append(u.buf, "]}\n"...)
	_, err := u.out.Write(u.buf)
	return err
}

func (u *upstreamForm) event(head string) {
	if len(u.buf) >= bufferSize {
		u.out.Write(u.buf) // its error sticks
		u.buf = u.buf[:0]
	}
	if u.events {
		u.buf = append(u.buf, ',')
	}
	u.events = true
	u.buf = append(u.buf, head...)
}

func (u *upstreamForm) writeLanes() {
	u.event(`{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"Trace"}}`)
	u.event(`{"ph":"M","name":"process_sort_index","pid":0,"tid":0,"args":{"sort_index":0}}`)
	var sorted []*upstreamLane
	several := false
	device := ""
	for _, l := range u.lane {
		if l.tid < 0 {
			continue
		}
		sorted = append(sorted, l)
		if l.Kind != profile.ThreadLane {
			several = several || device != "" && device != l.Device
			device = l.Device
		}
	}
	slices.SortFunc(sorted, func(a, b *upstreamLane) int { return cmp.Compare(a.tid, b.tid) })
	for _, l := range sorted {
		u.event(`{"ph":"M","name":"thread_name","pid":0,"tid":`)
		u.buf = append(strconv.AppendInt(u.buf, int64(l.tid), 10), `,"args":{"name":`...)
		u.buf = append(jsontext.AppendString(u.buf, l.upstreamName(several)), "}}"...)
		u.event("")
		u.buf = fmt.Appendf(u.buf, `{"ph":"M","name":"thread_sort_index","pid":0,"tid":%d,"args":{"sort_index":%[1]d}}`, l.tid)
	}
}

// upstreamName is upstream's name of a lane. Upstream gives streams of several GPUs one lane; here each has its own.
func (l *upstreamLane) upstreamName(several bool) string {
	name := fmt.Sprintf("CPU Thread %d", l.tid)
	switch l.Kind {
	case profile.GraphLane:
		name = fmt.Sprintf("Graph: Stream %d", l.Stream)
	case profile.StreamLane:
		name = fmt.Sprintf("GPU Stream %d", l.Stream)
	}
	if several && l.Kind != profile.ThreadLane {
		name += " of GPU " + l.Device
	}
	return name
}

func (u *upstreamForm) writeSlice(s *profile.Slice, category string) {
	l := u.lane[s.Lane]
	if category == "scope" && len(s.Metrics) > 0 {
		category = lanes.ScopeWithMetrics
	}
	u.event(`{"ph":"X","cat":"`)
	u.buf = append(append(u.buf, category...), `","name":`...)
	u.name(s, category)
	u.place(l.tid, s.Start)
	u.buf = append(u.buf, `,"dur":`...)
	u.buf = appendMicros(u.buf, uint64(max(s.Duration, 0)))
	if l.Kind != profile.GraphLane {
		u.args(s)
	}
	u.buf = append(u.buf, '}')
}

// name writes the name of a slice; that of a scope has its metrics: "scope: <m1, 1.000000>, <m2, 3>".
func (u *upstreamForm) name(s *profile.Slice, category string) {
	if category != lanes.ScopeWithMetrics {
		u.buf = jsontext.AppendString(u.buf, s.Name)
		return
	}
	var name strings.Builder
	name.WriteString(s.Name)
	for i, m := range s.Metrics {
		separator := ": "
		if i > 0 {
			separator = ", "
		}
		fmt.Fprintf(&name, "%s<%s, %s>", separator, u.metricName(m.Name), textOf(m.Value))
	}
	u.buf = jsontext.AppendString(u.buf, name.String())
}

func (u *upstreamForm) place(tid int, at int64) {
	u.buf = append(u.buf, `,"pid":0,"tid":`...)
	u.buf = strconv.AppendInt(u.buf, int64(tid), 10)
	u.buf = append(u.buf, `,"ts":`...)
	u.buf = appendMicros(u.buf, uint64(max(at-u.base, 0)))
}

func (u *upstreamForm) args(s *profile.Slice) {
	u.buf = append(u.buf, `,"args":{"`+lanes.CallStack+`":[`...)
	path := s.Path[:min(len(s.Path), profile.MaxDepth)]
	for i, frame := range path {
		if i > 0 {
			u.buf = append(u.buf, ',')
		}
		u.buf = jsontext.AppendString(u.buf, frame)
	}
	u.buf = append(u.buf, ']')
	if s.Kind == profile.ScopeSlice {
		u.buf = append(u.buf, `,"`+lanes.ScopeID+`":`...)
		u.buf = strconv.AppendUint(u.buf, s.ID, 10)
	}
	if len(s.Metrics) == 0 && (s.Kind == profile.ScopeSlice || slices.Contains(path, capturedAt)) {
		u.buf = append(u.buf, '}')
		return
	}
	u.buf = append(u.buf, `,"`+lanes.Metrics+`":{`...) // of a kernel outside graphs even if there are none
	for i, m := range s.Metrics {
		if i > 0 {
			u.buf = append(u.buf, ',')
		}
		u.buf = append(jsontext.AppendString(u.buf, u.metricName(m.Name)), ':')
		u.buf = jsontext.AppendString(u.buf, textOf(m.Value))
	}
	u.buf = append(u.buf, "}}"...)
}

// metricName is the name with the kind of the metric, which upstream's timelines keep in the name.
func (u *upstreamForm) metricName(name string) string {
	kind, known := u.Kinds[name]
	switch {
	case known && kind == profile.Exclusive:
		return name + " (exc)"
	case known && kind == profile.Property:
		return name + " (pty)"
	}
	return name
}

// textOf is a value as upstream writes it: a number as C++'s std::to_string does.
func textOf(v profile.Value) string {
	list := func(n int, one func(int) profile.Value) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = textOf(one(i))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	switch v.Type() {
	case profile.Int:
		return strconv.FormatInt(v.Int(), 10)
	case profile.Float:
		f, _ := v.Float()
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'f', 6, 64), "+"))
	case profile.Ints:
		return list(len(v.Ints()), func(i int) profile.Value { return profile.IntValue(v.Ints()[i]) })
	case profile.Floats:
		return list(len(v.Floats()), func(i int) profile.Value { return profile.FloatValue(v.Floats()[i]) })
	}
	return v.Str()
}

func (u *upstreamForm) writeFlow(f *profile.Flow) {
	for _, end := range []struct {
		phase string
		lane  int
		at    int64
	}{{"s", f.From, f.Start}, {"f", f.To, f.End}} {
		u.event(`{"ph":"`)
		u.buf = append(append(u.buf, end.phase...), `","cat":"flow","name":"launch->kernel"`...)
		u.place(u.lane[end.lane].tid, end.at)
		u.buf = append(u.buf, `,"id":`...)
		u.buf = append(strconv.AppendUint(u.buf, f.ID, 10), `,"bp":"e"}`...)
	}
}
