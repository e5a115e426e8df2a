package profile

// CallPaths says where in the tree the slices of a timeline belong, and which call launched them.
type CallPaths struct {
	Paths
	t       *Timeline
	lanes   map[int]*Lane
	order   []int32         // all slices by start
	found   []int32         // the path of each slice that has none of its own, plus 1; 0 where it is not known; nil where all slices have one
	given   map[given]int32 // of paths that slices have
	calls   []int32         // the launch of each slice, plus 1; 0 for none; nil until it is asked for
	reused  int64           // ns of GPU work whose correlation id several calls of its process have, at different call paths
	deeper  int             // slices that are nested deeper than paths are made
	working int64           // ns of all GPU work
}

// given is a path that a slice has, by its memory.
type given struct {
	first  *string
	length int
}

// CallPaths finds paths for the slices that have none. It costs little where all have one.
func (t *Timeline) CallPaths() *CallPaths {
	p := &CallPaths{t: t, lanes: make(map[int]*Lane, len(t.Lanes)), order: byStart(t.Slices), given: map[given]int32{}}
	for i := range t.Lanes {
		p.lanes[t.Lanes[i].ID] = &t.Lanes[i]
	}
	missing := false
	for i := range t.Slices {
		missing = missing || len(t.Slices[i].Path) == 0
	}
	if missing {
		p.found = make([]int32, len(t.Slices))
		p.nest()
		p.follow()
	}
	return p
}

// ByStart lists the slices in the order in which they began, the longer first.
func (p *CallPaths) ByStart() []int32 { return p.order }

// Of returns the path of a slice: its own or the one that was found. Work of a GPU whose launch is not known stands at the root.
func (p *CallPaths) Of(slice int32) int32 {
	s := &p.t.Slices[slice]
	if len(s.Path) > 0 {
		return p.ofGiven(s.Path)
	}
	if p.found[slice] == 0 {
		p.found[slice] = p.Below(0, s.Name) + 1
	}
	return p.found[slice] - 1
}

// ofGiven returns the number of a path that a slice has. Readers keep the paths of scopes that nest in one piece of memory; their frames
// are looked up once, not once for each deeper scope.
func (p *CallPaths) ofGiven(path []string) int32 {
	key := given{&path[0], len(path)}
	at, known := p.given[key]
	if known {
		return at
	}
	if above, known := p.given[given{key.first, key.length - 1}]; known {
		at = p.Below(above, path[len(path)-1])
	} else {
		if path[0] == rootName {
			path = path[1:]
		}
		for _, name := range path {
			at = p.Below(at, name)
		}
	}
	p.given[key] = at
	return at
}

// deepest bounds paths that are made up from nesting.
const deepest = 1000

// nest gives the slices of each thread the path of the one around them. A launch does not get a frame: its path is that of the scope
// around it, and its kernels are children of that scope.
func (p *CallPaths) nest() {
	open := map[int][]int32{} // of each lane, the innermost last
	for _, i := range p.order {
		s := &p.t.Slices[i]
		if l := p.lanes[s.Lane]; l == nil || l.Kind != ThreadLane {
			continue
		}
		around := open[s.Lane]
		for len(around) > 0 && !p.t.Slices[around[len(around)-1]].holds(s) {
			around = around[:len(around)-1]
		}
		if len(s.Path) == 0 {
			path := int32(0)
			if n := min(len(around), deepest); n > 0 {
				path = p.Of(around[n-1])
			}
			if len(around) > deepest {
				p.deeper++
			}
			if s.Kind != LaunchSlice && s.Kind != OtherSlice {
				path = p.Below(path, s.Name)
			}
			p.found[i] = path + 1
		}
		open[s.Lane] = append(around, i)
	}
}

// holds says whether another slice of the lane lies within this one. Clocks are rounded, so a slice may stick out by
// a microsecond.
func (s *Slice) holds(inner *Slice) bool {
	const rounding = 1000
	return inner.Start < s.Start+s.Duration && inner.Start+inner.Duration <= s.Start+s.Duration+rounding
}

// follow gives slices of GPUs the path of their launch.
func (p *CallPaths) follow() {
	for _, i := range p.order {
		if s := &p.t.Slices[i]; len(s.Path) == 0 {
			if launch, known := p.Launch(i); known {
				p.found[i] = p.Below(p.Of(launch), s.Name) + 1
			}
		}
	}
}
