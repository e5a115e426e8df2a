package pprofile

import (
	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/profile"
)

// inlines follows a walk and finds the nodes that are lines of inlined functions. Below a kernel with
// instruction samples come frames of its own lines; what is below those was inlined there. pprof has that as one location
// with several lines.
type inlines struct {
	depths []int // of the path to the node that is visited: in how many lines each of its nodes was inlined, or one of these
}

// enter is called for every node of the walk, in its order.
func (l *inlines) enter(p *profile.Profile, n *profile.Node, depth int) {
	if p.Sampling == nil {
		return
	}
	within := notALine
	if len(n.Samples) > 0 {
		within = isSampled
	} else if depth > 0 && l.depths[depth-1] != notALine && l.depths[depth-1] < mostInlined && isSourceLine(n.Name) {
		within = l.depths[depth-1] + 1
	}
	l.depths = append(l.depths[:depth], within)
}

// The values in depths of nodes that are not source lines.
const (
	notALine  = -2
	isSampled = -1
)

// mostInlined bounds the lines of a location, since each location repeats the lines around it.
const mostInlined = 64

func isSourceLine(name string) bool {
	_, _, _, ok := splitFrame(name)
	return ok
}

// within is the number of lines directly above the visited node that it was inlined in.
func (l *inlines) within(depth int) int {
	if depth >= len(l.depths) {
		return 0
	}
	return max(l.depths[depth], 0)
}

// isLine says whether the visited node is a source line of GPU code.
func (l *inlines) isLine(depth int) bool { return depth < len(l.depths) && l.depths[depth] >= 0 }

// inlined returns the location of a line that was inlined in another: the lines of the other location, and this one as the innermost.
func (f *frames) inlined(name string, outer *pprof.Location) *pprof.Location {
	key := locationKey{frame: name, outer: outer}
	if l := f.locations[key]; l != nil {
		return l
	}
	file, line, function, _ := splitFrame(name)
	l := &pprof.Location{ID: uint64(len(f.p.Location) + 1), Mapping: outer.Mapping}
	l.Line = append(l.Line, pprof.Line{Function: f.function(function, file), Line: line})
	l.Line = append(l.Line, outer.Line...)
	f.p.Location = append(f.p.Location, l)
	f.locations[key] = l
	return l
}
