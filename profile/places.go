package profile

// places answers where in the tree a slice of a timeline belongs.
type places struct {
	t     *Timeline
	paths map[int][]string // of slices that have none of their own
	steps map[step][]string
}

// step leads from a path to one below it.
type step struct {
	parent *string
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
	p := &places{t: t}
	missing := false
	for i := range t.Slices {
		missing = missing || len(t.Slices[i].Path) == 0
	}
	if !missing {
		return p
	}
	p.paths, p.steps = map[int][]string{}, map[step][]string{}
	order := byStart(t.Slices)
	launches := p.nest(order, lanes)
	p.follow(order, lanes, launches)
	return p
}

// of returns the path of a slice: its own or the one that was found.
func (p *places) of(i int) []string {
	if s := &p.t.Slices[i]; len(s.Path) > 0 {
		return s.Path
	}
	if path, found := p.paths[i]; found {
		return path
	}
	return []string{rootName, p.t.Slices[i].Name}
}

// nest gives the slices of each thread the path of the one around them, and returns the launches by their ID.
// A launch is no frame: its path is that of the scope around it, and kernels hang below that.
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
			parent := top
			if len(around) > 0 {
				parent = p.of(around[len(around)-1])
			}
			p.paths[i] = parent
			if s.Kind != LaunchSlice && s.Kind != OtherSlice {
				p.paths[i] = p.below(parent, s.Name)
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

// deepest bounds paths that are made up from nesting: a path is as long as it is deep, so a file of slices that all
// nest could fill the memory with them.
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
			p.paths[i] = p.below(p.of(launch), s.Name)
		}
	}
}

// below returns the path of a frame below another one; equal paths are one slice.
func (p *places) below(parent []string, name string) []string {
	if len(parent) == 0 {
		parent = top
	}
	key := step{&parent[0], len(parent), name}
	path := p.steps[key]
	if path == nil {
		path = append(parent[:len(parent):len(parent)], name)
		p.steps[key] = path
	}
	return path
}

// top is the path of the root.
var top = []string{rootName}
