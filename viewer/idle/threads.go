package idle

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// thread is what one thread of the program did.
type thread struct {
	slices   []*profile.Slice // by start
	segments []segment
	launches []call                      // by start
	paths    map[*profile.Slice][]string // of slices whose own path is missing, or includes the call itself
}

// call is a launch, and the innermost scope around it, nil for none.
type call struct{ launch, scope *profile.Slice }

// segment begins at a time and lasts until the next one. Its slice is the innermost that the thread was in, nil for none.
type segment struct {
	start int64
	slice *profile.Slice
}

func (th *thread) prepare() {
	slices.SortStableFunc(th.slices, byStart)
	var open []*profile.Slice // the innermost last
	close := func(until int64) {
		for len(open) > 0 {
			top := open[len(open)-1]
			if end(top) > until {
				return
			}
			open = open[:len(open)-1]
			var outer *profile.Slice
			// What ended before the slices within it, as scopes that overlap do, is left out.
			for len(open) > 0 && end(open[len(open)-1]) <= end(top) {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				outer = open[len(open)-1]
			}
			th.begin(end(top), outer)
		}
	}
	for _, s := range th.slices {
		close(s.Start)
		scope := innermostScope(open)
		th.place(s, scope)
		if s.Kind == profile.LaunchSlice {
			th.launches = append(th.launches, call{s, scope})
		}
		th.begin(s.Start, s)
		open = append(open, s)
	}
	close(math.MaxInt64)
}

// place finds the path of a slice that says none, as in traces of torch.profiler: it is in the scope around it.
func (th *thread) place(s, scope *profile.Slice) {
	path := s.Path
	switch {
	case path == nil:
		path = th.path(scope)
		if isScope(s) {
			path = append(slices.Clip(path), s.Name)
		}
	case !isScope(s) && path[len(path)-1] == s.Name:
		path = path[:len(path)-1]
	default:
		return
	}
	if th.paths == nil {
		th.paths = map[*profile.Slice][]string{}
	}
	th.paths[s] = path
}

// path is the call path of a scope, or of the scope around a call; nil for no slice.
func (th *thread) path(s *profile.Slice) []string {
	if path, found := th.paths[s]; found || s == nil {
		return path
	}
	return s.Path
}

func innermostScope(open []*profile.Slice) *profile.Slice {
	for _, s := range slices.Backward(open) {
		if isScope(s) {
			return s
		}
	}
	return nil
}

func isScope(s *profile.Slice) bool {
	return s.Kind == profile.ScopeSlice || s.Kind == profile.OtherSlice
}

func (th *thread) begin(at int64, s *profile.Slice) {
	if n := len(th.segments); n > 0 && th.segments[n-1].start == at {
		th.segments[n-1].slice = s
		return
	}
	th.segments = append(th.segments, segment{at, s})
}

// during reports what the thread did from one time to another.
func (th *thread) during(from, to int64, report func(doing Doing, path []string, from, to int64)) {
	at, exact := slices.BinarySearchFunc(th.segments, from, func(s segment, t int64) int { return cmp.Compare(s.start, t) })
	if !exact {
		at--
	}
	for ; from < to; at++ {
		var s *profile.Slice
		until := to
		if at >= 0 {
			s = th.segments[at].slice
		}
		if at+1 < len(th.segments) {
			until = min(until, th.segments[at+1].start)
		}
		if s != nil && !isScope(s) {
			report(doingIn(s), th.path(s), from, until)
		} else {
			report(Code, th.codePath(s, from), from, until)
		}
		from = until
	}
}

// codePath is the call path of code in a scope, nil for none. The next launch knows more of it if it is directly in the same scope: the
// Python functions.
func (th *thread) codePath(scope *profile.Slice, at int64) []string {
	i, _ := slices.BinarySearchFunc(th.launches, at, func(c call, t int64) int { return cmp.Compare(c.launch.Start, t) })
	if i < len(th.launches) && th.launches[i].scope == scope {
		return th.path(th.launches[i].launch)
	}
	return th.path(scope)
}

func doingIn(s *profile.Slice) Doing {
	switch {
	case s.Kind == profile.SyncSlice:
		return Wait
	case strings.Contains(strings.ToLower(s.Name), "memcpy"):
		return Copy
	}
	return Launch
}

// launches finds what launched a piece of work.
type launches struct {
	byEnd map[place]*profile.Slice // by the end of an arrow
	byID  map[launchID]*profile.Slice
	lanes map[int]*profile.Lane
}

type place struct {
	lane int
	at   int64
}

type launchID struct {
	process string
	id      uint64
}

func findLaunches(t *profile.Timeline, threads map[int]*thread, lanes map[int]*profile.Lane) launches {
	l := launches{byEnd: map[place]*profile.Slice{}, byID: map[launchID]*profile.Slice{}, lanes: lanes}
	for lane, th := range threads {
		for _, c := range th.launches {
			if c.launch.ID != 0 {
				l.byID[launchID{l.lanes[lane].Process, c.launch.ID}] = c.launch
			}
		}
	}
	for _, flow := range t.Flows {
		th := threads[flow.From]
		if th == nil {
			continue
		}
		i, exact := slices.BinarySearchFunc(th.launches, flow.Start, func(c call, at int64) int { return cmp.Compare(c.launch.Start, at) })
		if !exact {
			i--
		}
		if i >= 0 && end(th.launches[i].launch) >= flow.Start {
			l.byEnd[place{flow.To, flow.End}] = th.launches[i].launch
		}
	}
	return l
}

// of is the slice of the call that launched some work, nil if it is not known.
func (l *launches) of(work *profile.Slice) *profile.Slice {
	if s := l.byEnd[place{work.Lane, work.Start}]; s != nil {
		return s
	}
	if lane := l.lanes[work.Lane]; lane != nil && work.ID != 0 {
		return l.byID[launchID{lane.Process, work.ID}]
	}
	return nil
}
