package profile

// places answers where in the tree a slice of a timeline belongs.
type places struct {
	t     *Timeline
	found map[int]*place // of slices that have no path of their own
	steps map[step]*place
	given map[step]*place // of paths that slices have, by their first frame and their length
	top   *place          // of the root
}

// place is a call path as a chain from its last frame up: a file of slices within slices has as many paths as slices, and
// written out each would be as long as it is deep.
type place struct {
	above *place // nil: path is all of it
	name  string
	path  []string
	node  *Node // once the tree has it
}

// step leads from a place to one below it.
type step struct {
	above  *place
	first  *string // of a path that a slice has
	length int
	name   string
}

// call tells the calls of several processes apart.
type call struct {
	process string
	id      uint64
}

// newPlaces finds paths for the slices that have none. It costs nothing where all have one.
func newPlaces(t *Timeline, lanes map[int]*Lane) *places {
	p := &places{t: t, top: &place{path: []string{rootName}}}
	missing := false
	for i := range t.Slices {
		missing = missing || len(t.Slices[i].Path) == 0
	}
	if !missing {
		return p
	}
	p.found, p.steps, p.given = map[int]*place{}, map[step]*place{}, map[step]*place{}
	order := byStart(t.Slices)
	launches := p.nest(order, lanes)
	p.follow(order, lanes, launches)
	return p
}

// of returns the place of a slice: that of its own path or the one that was found.
func (p *places) of(i int) *place {
	if s := &p.t.Slices[i]; len(s.Path) > 0 {
		key := step{first: &s.Path[0], length: len(s.Path)}
		at := p.given[key]
		if at == nil {
			if p.given == nil {
				p.given = map[step]*place{}
			}
			at = &place{path: s.Path}
			// Readers keep the paths of scopes that nest in one piece of memory. Their frames are looked up once, not once for
			// each deeper scope.
			if above := p.given[step{first: key.first, length: key.length - 1}]; above != nil {
				at = &place{above: above, name: s.Path[len(s.Path)-1]}
			}
			p.given[key] = at
		}
		return at
	}
	if at, found := p.found[i]; found {
		return at
	}
	return &place{path: []string{rootName, p.t.Slices[i].Name}}
}

// nest gives the slices of each thread the path of the one around them, and returns the launches by their ID.
// A launch does not get a frame: its path is that of the scope around it, and its kernels are children of that scope.
func (p *places) nest(order []int, lanes map[int]*Lane) (launches map[call]int) {
	launches = map[call]int{}
	open := map[int][]int{} // of each lane, the innermost last
	for _, i := range order {
		s := &p.t.Slices[i]
		if l := lanes[s.Lane]; l == nil || l.Kind != ThreadLane {
			continue
		}
		around := open[s.Lane]
		for len(around) > 0 && !p.t.Slices[around[len(around)-1]].holds(s) {
			around = around[:len(around)-1]
		}
		if len(s.Path) == 0 {
			parent := p.top
			if len(around) > 0 {
				parent = p.of(around[len(around)-1])
			}
			p.found[i] = parent
			if s.Kind != LaunchSlice && s.Kind != OtherSlice {
				p.found[i] = p.below(parent, s.Name)
			}
		}
		if s.ID != 0 && s.Kind != ScopeSlice {
			launches[call{lanes[s.Lane].Process, s.ID}] = i
		}
		if len(around) < deepest {
			around = append(around, i)
		}
		open[s.Lane] = around
	}
	return launches
}

// deepest bounds paths that are made up from nesting.
const deepest = 1000

// holds says whether another slice of the lane lies within this one. Clocks are rounded, so a slice may stick out by
// a microsecond.
func (s *Slice) holds(inner *Slice) bool {
	const rounding = 1000
	return inner.Start < s.Start+s.Duration && inner.Start+inner.Duration <= s.Start+s.Duration+rounding
}

// follow gives GPU slices the path of their launch.
func (p *places) follow(order []int, lanes map[int]*Lane, launches map[call]int) {
	for _, i := range order {
		s := &p.t.Slices[i]
		l := lanes[s.Lane]
		if len(s.Path) > 0 || s.ID == 0 || l == nil || l.Kind == ThreadLane {
			continue
		}
		if launch, found := launches[call{l.Process, s.ID}]; found {
			p.found[i] = p.below(p.of(launch), s.Name)
		}
	}
}

// below returns the place of a frame below another one, the same for equal paths.
func (p *places) below(above *place, name string) *place {
	key := step{above: above, name: name}
	at := p.steps[key]
	if at == nil {
		at = &place{above: above, name: name}
		p.steps[key] = at
	}
	return at
}
