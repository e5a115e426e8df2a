package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// rootName is what the root is called in a timeline without call paths.
const rootName = "ROOT"

// Summarize makes the profile's tree from its timeline: at its call path, each kernel, copy and fill with its time and count
// and with the distribution of its times, each scope with its metrics and the time it took on the CPU, and each wait.
// Kinds of metrics that are known already stay. A launch does not get a frame; the kernel, copy or memset that it started does.
// Kernels whose launch has a kind are also summed up by kind.
//
// Slices without a call path, as torch.profiler writes them, get one: a thread's slices from those around them, a
// GPU's from the launch of the same ID or from the one an arrow comes from.
func (p *Profile) Summarize() {
	if p.Kinds == nil {
		p.Kinds = Kinds{}
	}
	p.Root, p.Launches = &Node{Name: rootName}, nil
	s := summary{p: p, paths: p.Timeline.CallPaths(), nodes: []*Node{p.Root}, ranks: newRanks(p), kinds: map[LaunchKind]int{}, launches: map[launchesKey]int{}}
	for _, i := range s.paths.ByStart() {
		s.add(i)
	}
	if s.ranks != nil {
		s.ranks.finish()
	}
	s.say()
	p.CountOperatorsOnce()
	s.finish()
}

// BeyondTimeline counts the metrics of the profile's tree that Summarize would not make of its timeline. In a timeline merged of
// several processes the lanes say which device is whose, and the tree's names of devices do not count.
func (p *Profile) BeyondTimeline() int {
	again := &Profile{Kinds: maps.Clone(p.Kinds), Devices: p.Devices, Timeline: p.Timeline}
	again.Summarize()
	merged := slices.ContainsFunc(p.Timeline.Lanes, func(l Lane) bool { return l.Process != "" })
	type pair struct{ mine, made *Node }
	beyond := 0
	for pending := []pair{{p.Root, again.Root}}; len(pending) > 0; {
		at := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		made := make(map[string]*Node)
		if at.made != nil {
			for _, c := range at.made.Children {
				made[c.Name] = c
			}
		}
		for _, m := range at.mine.Metrics {
			if at.made != nil {
				if v, found := at.made.Metric(m.Name); found && equal(v, m.Value) {
					continue
				}
			}
			if v, number := m.Value.Float(); number && v == 0 {
				continue // the root's zeros
			}
			if merged && (m.Name == DeviceIDMetric || m.Name == DeviceTypeMetric) {
				continue
			}
			beyond++
		}
		for _, c := range at.mine.Children {
			pending = append(pending, pair{c, made[c.Name]})
		}
	}
	return beyond
}

func equal(a, b Value) bool {
	x, isNumber := a.Float()
	y, alsoNumber := b.Float()
	if isNumber || alsoNumber {
		return isNumber && alsoNumber && (x == y || x != x && y != y)
	}
	return a.Str() == b.Str() && slices.Equal(a.Ints(), b.Ints()) && slices.Equal(a.Floats(), b.Floats())
}

// byStart lists slices in the order in which they began, the longer first, so that children of the tree come in the
// order of their first appearance, and a slice after those around it.
func byStart(list []Slice) []int32 {
	order := make([]int32, len(list))
	sorted := true
	for i := range order {
		order[i] = int32(i)
		sorted = sorted && (i == 0 || startsBefore(&list[i-1], &list[i]) <= 0)
	}
	if !sorted {
		slices.SortStableFunc(order, func(a, b int32) int { return startsBefore(&list[a], &list[b]) })
	}
	return order
}

func startsBefore(a, b *Slice) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Duration, a.Duration))
}

// summary is a tree in the making.
type summary struct {
	p        *Profile
	paths    *CallPaths
	nodes    []*Node             // by path
	ranks    *ranks              // nil if one process has all GPUs
	kinds    map[LaunchKind]int  // positions in the profile
	launches map[launchesKey]int // and in the node
}

type launchesKey struct {
	node   *Node
	kind   int
	device int
}

// node finds or makes the frame at a path.
func (s *summary) node(path int32) *Node {
	if int(path) >= len(s.nodes) {
		s.nodes = append(s.nodes, make([]*Node, s.paths.Len()-len(s.nodes))...)
	}
	n := s.nodes[path]
	if n == nil {
		above := s.node(s.paths.Above(path)) // nesting is bounded
		n = &Node{Name: s.paths.Name(path)}
		above.Children = append(above.Children, n)
		s.nodes[path] = n
	}
	return n
}

// add sums up one slice at its call path.
func (s *summary) add(slice int32) {
	sl := &s.p.Timeline.Slices[slice]
	switch sl.Kind {
	case KernelSlice, GraphSlice, CopySlice, FillSlice:
		n := s.node(s.paths.Of(slice))
		s.sum(n, TimeMetric, IntValue(sl.Duration), Inclusive)
		s.sum(n, CountMetric, IntValue(1), Inclusive)
		s.device(n, sl)
		s.metrics(n, sl.Metrics)
		if n.Times == nil {
			n.Times = &Sketch{}
		}
		n.Times.Add(uint64(max(sl.Duration, 0)))
		if sl.Launch != nil {
			s.launch(n, sl)
		}
	case SyncSlice:
		n := s.node(s.paths.Of(slice))
		s.sum(n, SyncTimeMetric, IntValue(sl.Duration), Inclusive)
		s.sum(n, SyncCountMetric, IntValue(1), Inclusive)
	case ScopeSlice:
		if l := s.paths.lanes[sl.Lane]; l != nil && l.Kind != ThreadLane {
			return // the kernels of a captured scope say where they belong, and its time is theirs
		}
		n := s.node(s.paths.Of(slice))
		if !slices.ContainsFunc(sl.Metrics, func(m Metric) bool { return m.Name == CPUTimeMetric }) {
			s.sum(n, CPUTimeMetric, IntValue(sl.Duration), Exclusive)
		}
		s.metrics(n, sl.Metrics)
	}
}

// say notes what the call paths do not show.
func (s *summary) say() {
	if c := s.paths; c.reused > 0 {
		s.p.Note(fmt.Sprintf("%.1f%% of the GPU time has correlation ids that several calls of its process have: each counts for the last of them that began before it",
			100*float64(c.reused)/float64(c.working)))
	}
	if n := s.paths.deeper; n > 0 {
		s.p.Note(fmt.Sprintf("%d slices are nested deeper than %d frames and stand below frame %d", n, deepest, deepest))
	}
}

// launch adds a slice to those of its kind.
func (s *summary) launch(n *Node, sl *Slice) {
	kind, known := s.kinds[*sl.Launch]
	if !known {
		kind = len(s.p.Launches)
		s.kinds[*sl.Launch] = kind
		s.p.Launches = append(s.p.Launches, *sl.Launch)
	}
	device := 0
	if l := s.paths.lanes[sl.Lane]; l != nil {
		device, _ = strconv.Atoi(l.Device) //nolint:errcheck // a device of another name is as good as the first
	}
	key := launchesKey{n, kind, device}
	at, known := s.launches[key]
	if !known {
		at = len(n.Launches)
		s.launches[key] = at
		n.Launches = append(n.Launches, LaunchTimes{Kind: kind, Device: device, Durations: Durations{Times: &Sketch{}}})
	}
	nanos := uint64(max(sl.Duration, 0))
	l := &n.Launches[at].Durations
	if l.Count == 0 || nanos < l.Least {
		l.Least = nanos
	}
	l.Most = max(l.Most, nanos)
	l.Count++
	l.Nanos += nanos
	l.Times.Add(nanos)
}

// metrics adds the metrics of a slice. Numbers whose kind is not known are inclusive, as metrics of scopes are.
func (s *summary) metrics(n *Node, list []Metric) {
	for _, m := range list {
		kind := Inclusive
		switch m.Value.Type() {
		case String:
			kind = Property
		case Ints, Floats: // readers of trees cannot add them up
			kind = Exclusive
		}
		s.sum(n, m.Name, m.Value, kind)
	}
}

// sum adds a value to a node's metric, or replaces it where values do not add up.
func (s *summary) sum(n *Node, name string, v Value, kind Kind) {
	if known, ok := s.p.Kinds[name]; ok {
		kind = known
	} else {
		s.p.Kinds[name] = kind
	}
	old, ok := n.Metric(name)
	if ok && kind != Property {
		v = Sum(old, v)
	}
	n.Set(name, v)
}

// device says on which GPU a frame ran; of several of one process, the last.
func (s *summary) device(n *Node, sl *Slice) {
	l := s.paths.lanes[sl.Lane]
	if l == nil || l.Device == "" {
		return
	}
	name := l.Device
	if s.ranks != nil {
		name = s.ranks.device(n, l)
	}
	s.sum(n, DeviceIDMetric, StringValue(name), Property)
	for i := range s.p.Devices {
		if s.p.Devices[i].ID == name {
			s.sum(n, DeviceTypeMetric, StringValue(s.p.Devices[i].Type), Property)
			return
		}
	}
}

// finish forgets the kinds of metrics that no node has, as no tree names them.
func (s *summary) finish() {
	used := map[string]bool{}
	s.p.Root.Walk(func(n *Node, _ int) bool {
		for i := range n.Metrics {
			used[n.Metrics[i].Name] = true
		}
		return true
	})
	for name := range s.p.Kinds {
		if !used[name] {
			delete(s.p.Kinds, name)
		}
	}
}
