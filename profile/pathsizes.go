package profile

import "fmt"

// PathSizes adds up what the call paths of frames take where each is written out, as in stacks and in rows with paths. That grows with the
// square of the depth, and a file of some kilobytes can have a tree whose paths take gigabytes.
type PathSizes struct {
	What    string // has the paths: "a file of folded stacks"
	Instead string // what to do if they take too much
	Frame   int    // bytes of a frame of a path
	Names   bool   // in addition to those of its name

	above           []uint64 // bytes of the path that ends at each depth
	frames, deepest int
	own, all        uint64
}

// Paths may take mostPaths bytes, and any number if they have less than mostAbove frames on average: call paths of programs have some dozens,
// a recursion in Python has a thousand at its end.
const (
	mostPaths = 256 << 20
	mostAbove = 512
)

// Add adds the path of a frame; parents come first.
func (s *PathSizes) Add(name string, depth int) {
	above := uint64(0)
	if depth > 0 && depth <= len(s.above) {
		above = s.above[depth-1]
	}
	all := above + s.Of(name)
	s.above = append(s.above[:min(depth, len(s.above))], all)
	s.AddPath(name, depth, all)
}

// AddPath adds the path of a frame, of which it is known what it takes.
func (s *PathSizes) AddPath(name string, depth int, all uint64) {
	s.all += all
	s.own += s.Of(name)
	s.frames++
	s.deepest = max(s.deepest, depth+1)
}

// Of is what a frame of a path takes.
func (s *PathSizes) Of(name string) uint64 {
	if s.Names {
		return uint64(s.Frame + len(name))
	}
	return uint64(s.Frame)
}

// Err says that the paths take too much.
func (s *PathSizes) Err() error {
	if s.all <= mostPaths || s.all <= mostAbove*s.own {
		return nil
	}
	return fmt.Errorf("%s repeats the call path of each frame: those of %d frames, up to %d deep, would take %.1f GB; %s", s.What, s.frames, s.deepest, float64(s.all)/1e9, s.Instead)
}
