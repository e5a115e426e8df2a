package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/callpath"
)

// streamKey identifies a stream: two GPUs, or two contexts of one, have streams of the same number.
type streamKey struct{ device, context, stream uint32 }

// streamLane is one stream, and above it the lane of the graph scopes that its kernels were captured in.
type streamLane struct {
	key      streamKey
	id       int
	launch   uint64 // correlation id of the last activity
	launched bool   // whether there was one

	graph  int          // lane of graph scopes; -1 until there is one
	frames []graphFrame // open ones, all of launch
	last   uint64       // end of the last kernel below them
}

type graphFrame struct {
	node  *node
	start uint64
}

var sliceKinds = [...]profile.SliceKind{
	record.Kernel: profile.KernelSlice, record.Graph: profile.GraphSlice, record.Memcpy: profile.CopySlice, record.Memset: profile.FillSlice,
}

// activity shows what a stream did. A wait is shown by its call, and what was not timed has no place.
func (t *Timeline) activity(k *record.Activity, at *callpath.Attribution, n *node) {
	if k.Kind == record.Sync || !k.Timed() {
		return
	}
	s := t.stream(k, at)
	first := !s.launched || s.launch != k.Correlation
	if first {
		t.closeGraph(s, 0)
	}
	s.launch, s.launched = k.Correlation, true
	if at.Captured != nil {
		t.openGraph(s, k, n)
	}
	t.slice = profile.Slice{
		Lane: s.id, Kind: sliceKinds[k.Kind], Name: n.name, Start: int64(k.Start), Duration: int64(k.Duration()),
		Path: n.names(), Metrics: metricsOf(k, at), ID: k.Correlation, Launch: t.kind(tagOf(k, at)),
	}
	t.write(&t.slice)
	t.insideKernel(k)
	if first && at.Called != 0 {
		t.arrow(s, k, at)
	}
}

// kind is what a tag stands for; nil if it was never registered.
func (t *Timeline) kind(tag uint16) *profile.LaunchKind {
	if tag == 0 {
		return nil
	}
	known, found := t.kinds[tag]
	if !found {
		if kind := LaunchKindOf(tag); kind.ID != "" {
			known = &kind
		}
		t.kinds[tag] = known
	}
	return known
}

func metricsOf(k *record.Activity, at *callpath.Attribution) (list []profile.Metric) {
	if k.Bytes > 0 {
		list = append(list, profile.Metric{Name: profile.BytesMetric, Value: profile.IntValue(int64(k.Bytes))})
	}
	for _, m := range at.Metrics {
		list = withMetric(list, m)
	}
	if at.Captured != nil {
		for _, m := range at.Captured.Metrics {
			list = withMetric(list, m)
		}
		if of := at.Captured.Tensor; of != nil && at.Read != nil {
			list = withRead(list, of, at.Read)
		}
	}
	return list
}

// arrow leads from a launch to what it started; of a graph, to the first of each run on a stream.
func (t *Timeline) arrow(s *streamLane, k *record.Activity, at *callpath.Attribution) {
	th := t.threads[at.Thread]
	if t.err != nil || th == nil || th.tid != at.ThreadID {
		return // the thread is gone, and its ring another's
	}
	t.flows++
	t.err = t.out.Flow(profile.Flow{ID: t.flows, From: t.laneOf(th), To: s.id, Start: int64(at.Called), End: int64(k.Start)})
}

func (t *Timeline) stream(k *record.Activity, at *callpath.Attribution) *streamLane {
	key := streamKey{k.Device, k.Context, cmp.Or(k.Stream, at.Stream)}
	s := t.streams[key]
	if s == nil {
		s = &streamLane{key: key, graph: -1}
		s.id = t.lane(s.lane(profile.StreamLane, ""))
		t.streams[key] = s
	}
	return s
}

func (s *streamLane) lane(kind profile.LaneKind, prefix string) profile.Lane {
	return profile.Lane{
		Kind: kind, Name: fmt.Sprintf("%sGPU %d Stream %d", prefix, s.key.device, s.key.stream),
		Device: strconv.Itoa(int(s.key.device)), Context: s.key.context, Stream: s.key.stream,
	}
}

// openGraph makes the open graph scopes of a stream those that the kernel was captured in: those that stay are
// left open, the others end with the last kernel that was in them.
func (t *Timeline) openGraph(s *streamLane, k *record.Activity, leaf *node) {
	frames := captureFrames(leaf)
	same := 0
	for same < len(frames) && same < len(s.frames) && frames[same] == s.frames[same].node {
		same++
	}
	t.closeGraph(s, same)
	for _, n := range frames[same:] {
		s.frames = append(s.frames, graphFrame{n, k.Start})
	}
	s.last = max(s.last, k.End)
}

// captureFrames are the frames above a leaf from where it was captured on; none if that was in no session.
func captureFrames(leaf *node) (frames []*node) {
	for n := leaf.parent; n != nil; n = n.parent {
		frames = append(frames, n)
		if n.name == CapturedAtFrame {
			slices.Reverse(frames)
			return frames
		}
	}
	return nil
}

// closeGraph ends the graph scopes from the i-th on, the outermost first.
func (t *Timeline) closeGraph(s *streamLane, i int) {
	for _, f := range s.frames[i:] {
		if s.graph < 0 {
			s.graph = t.lane(s.lane(profile.GraphLane, "Graph: "))
		}
		t.slice = profile.Slice{
			Lane: s.graph, Kind: profile.ScopeSlice, Name: f.node.name, Start: int64(f.start), Duration: since(f.start, s.last), Path: f.node.names(),
		}
		t.write(&t.slice)
	}
	s.frames = s.frames[:i]
}

func (t *Timeline) sortedStreams() []*streamLane {
	return slices.SortedFunc(maps.Values(t.streams), func(a, b *streamLane) int { return cmp.Compare(a.id, b.id) })
}
