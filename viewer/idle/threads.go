package idle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// thread is what one thread of the program did.
type thread struct {
	*finder
	segments []segment
	launches []call  // by start
	open     []int32 // slices that have not ended, the innermost last
}

// call is a launch, and the innermost scope around it, none for none.
type call struct{ launch, scope int32 }

// segment begins at a time and lasts until the next one. Its slice is the innermost that the thread was in.
type segment struct {
	start int64
	slice int32 // none for none
}

const none = -1

// add takes in the next slice by start.
func (th *thread) add(i int32) {
	s := &th.t.Slices[i]
	th.close(s.Start)
	if s.Kind == profile.LaunchSlice {
		th.launches = append(th.launches, call{i, th.innermostScope()})
	}
	th.begin(s.Start, i)
	th.open = append(th.open, i)
}

// close ends the slices that end until a time.
func (th *thread) close(until int64) {
	for len(th.open) > 0 {
		ended := th.t.Slices[th.open[len(th.open)-1]].End()
		if ended > until {
			return
		}
		th.open = th.open[:len(th.open)-1]
		// What ended before the slices within it, as scopes that overlap do, is left out.
		for len(th.open) > 0 && th.t.Slices[th.open[len(th.open)-1]].End() <= ended {
			th.open = th.open[:len(th.open)-1]
		}
		outer := int32(none)
		if len(th.open) > 0 {
			outer = th.open[len(th.open)-1]
		}
		th.begin(ended, outer)
	}
}

func (th *thread) begin(at int64, slice int32) {
	if n := len(th.segments); n > 0 && th.segments[n-1].start == at {
		th.segments[n-1].slice = slice
		return
	}
	th.segments = append(th.segments, segment{at, slice})
}

func (th *thread) innermostScope() int32 {
	for _, i := range slices.Backward(th.open) {
		if isScope(&th.t.Slices[i]) {
			return i
		}
	}
	return none
}

func isScope(s *profile.Slice) bool {
	return s.Kind == profile.ScopeSlice || s.Kind == profile.OtherSlice
}

// path is the call path of a scope, or of the scope around a call.
func (f *finder) path(slice int32) int32 {
	if slice == none {
		return 0
	}
	s, path := &f.t.Slices[slice], f.paths.Of(slice)
	switch own := len(s.Path) > 0; {
	case s.Kind == profile.OtherSlice && !own: // it has no frame of its own in the tree
		return f.paths.Below(path, s.Name)
	case !isScope(s) && (own || s.Kind == profile.SyncSlice) && f.paths.Name(path) == s.Name:
		return f.paths.Above(path)
	}
	return path
}

// during reports what the thread did from one time to another.
func (th *thread) during(from, to int64, report func(doing Doing, path int32, from, to int64)) {
	at, exact := slices.BinarySearchFunc(th.segments, from, func(s segment, t int64) int { return cmp.Compare(s.start, t) })
	if !exact {
		at--
	}
	for ; from < to; at++ {
		slice, until := int32(none), to
		if at >= 0 {
			slice = th.segments[at].slice
		}
		if at+1 < len(th.segments) {
			until = min(until, th.segments[at+1].start)
		}
		if slice != none && !isScope(&th.t.Slices[slice]) {
			report(doingIn(&th.t.Slices[slice]), th.path(slice), from, until)
		} else {
			report(Code, th.codePath(slice, from), from, until)
		}
		from = until
	}
}

// codePath is the call path of code in a scope. The next launch knows more of it if it is directly in the same scope: the
// Python functions.
func (th *thread) codePath(scope int32, at int64) int32 {
	i, _ := slices.BinarySearchFunc(th.launches, at, func(c call, t int64) int { return cmp.Compare(th.t.Slices[c.launch].Start, t) })
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
