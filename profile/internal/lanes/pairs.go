package lanes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// mark is the begin or the end of a slice, kept until all marks of its lane are read: a file may have them in any order.
type mark struct {
	at       int64
	slice    int32 // that begins; less than 0: an end, see name
	category int32 // in Builder.categories
}

// Begin adds a slice that a later End ends, and returns what it is.
func (b *Builder) Begin(l *Lane, e *Event) profile.SliceKind {
	e.DurationFault = NoFault // its end says how long it lasts
	cat := b.categories.of(e.Category)
	if e.StartFault == NoFault {
		l.marks = append(l.marks, mark{e.Start, int32(len(b.Profile.Timeline.Slices)), cat})
	}
	return b.slice(l, e, &b.categories.list[cat], 0)
}

// End ends a slice of a lane: the innermost open one or, if the event has a name or a category, the innermost one that has them.
func (b *Builder) End(l *Lane, e *Event) {
	if e.StartFault != NoFault {
		return
	}
	if n := len(b.endNames) - 1; b.endNames[n] != e.Name {
		b.endNames = append(b.endNames, e.Name)
	}
	l.last = max(l.last, e.Start)
	l.marks = append(l.marks, mark{e.Start, -int32(len(b.endNames)), b.categories.of(e.Category)})
}

// pairing plays the marks of a lane in order of time, as Perfetto's trace_processor does.
type pairing struct {
	*Builder
	lane  *Lane
	stack []begun
	ended []int // places in the stack of slices that ended before one within them
}

// begun is a slice on the stack.
type begun struct {
	slice, category int32
	path            int32 // in Builder.Paths; 0: not looked up, unknownPath
	ended           bool
}

// unpaired counts what did not match.
type unpaired struct {
	ends  int // without a begin
	cut   int // slices that end with the one around them
	never int // slices without an end
}

// pair ends the slices of a lane.
func (b *Builder) pair(l *Lane) {
	if len(l.marks) == 0 {
		return
	}
	byTime := func(x, y mark) int { return cmp.Compare(x.at, y.at) }
	if !slices.IsSortedFunc(l.marks, byTime) {
		slices.SortStableFunc(l.marks, byTime)
	}
	p := pairing{Builder: b, lane: l}
	for _, m := range l.marks {
		p.leave(m.at)
		switch {
		case m.slice >= 0:
			p.stack = append(p.stack, begun{slice: m.slice, category: m.category})
		case !p.end(m):
			b.unpaired.ends++
		}
	}
	p.leave(l.last + 1)
	for i := range p.stack {
		b.unpaired.never++
		p.endAt(i, l.last)
	}
	l.marks = nil
}

// rootName is the first frame of a call path.
const rootName = "ROOT"

// mostSought bounds the slices among which an end looks for its own.
const mostSought = profile.MaxDepth

// end ends the slice that an end means. A slice that ends before one within it stays on the stack until time has passed its end.
func (p *pairing) end(m mark) bool {
	name := p.endNames[-m.slice-1]
	for i := len(p.stack) - 1; i >= max(0, len(p.stack)-mostSought); i-- {
		s := &p.stack[i]
		begun := p.of(i).Name
		if s.ended || m.category != 0 && m.category != s.category || name != "" && begun != "" && name != begun {
			continue
		}
		p.endAt(i, m.at)
		if i < len(p.stack)-1 {
			s.ended = true
			at, _ := slices.BinarySearch(p.ended, i)
			p.ended = slices.Insert(p.ended, at, i)
			return true
		}
		p.stack = p.stack[:i]
		return true
	}
	return false
}

// leave takes the slices off the stack that ended before a time, with those within them, which end with them.
func (p *pairing) leave(at int64) {
	for len(p.ended) > 0 {
		i := p.ended[len(p.ended)-1]
		end := p.of(i).Start + p.of(i).Duration
		if i < len(p.stack)-1 && at <= end {
			return
		}
		for within := i + 1; within < len(p.stack); within++ {
			p.unpaired.cut++
			p.endAt(within, end)
		}
		p.stack, p.ended = p.stack[:i], p.ended[:len(p.ended)-1]
	}
}

func (p *pairing) of(i int) *profile.Slice { return &p.Profile.Timeline.Slices[p.stack[i].slice] }

// endAt ends a slice on the stack. If that takes no time, its call path is kept: its times do not say whether it is within another one
// that ends or begins at the same moment.
func (p *pairing) endAt(i int, at int64) {
	s := p.of(i)
	s.Duration = max(at-s.Start, 0)
	cat := &p.categories.list[p.stack[i].category]
	cat.time = Plus(cat.time, s.Duration)
	if l := p.lane; s.Duration == 0 && len(s.Path) == 0 && !l.whole && !l.Described && l.continues == nil {
		s.Path = p.Paths.Of(max(p.pathOf(i), 0))
	}
}

// unknownPath is that of a slice that has a call path of its own, or is too deep for one.
const unknownPath = -1

// pathOf returns the call path of a slice on the stack. It looks each one up once.
func (p *pairing) pathOf(i int) int32 {
	first := i
	for first > 0 && p.stack[first-1].path == 0 {
		first--
	}
	above := int32(0)
	if first > 0 {
		above = p.stack[first-1].path
	} else {
		above, _ = p.Paths.Child(0, rootName)
	}
	for at := first; at <= i; at++ {
		s, err := p.of(at), error(nil)
		if above == unknownPath || len(s.Path) > 0 || s.Kind != profile.ScopeSlice {
			above = unknownPath
		} else if above, err = p.Paths.Child(above, s.Name); err != nil {
			above = unknownPath
		}
		p.stack[at].path = above
	}
	return above
}

// note says what did not match; "" if all did. In a file that is cut off, slices without an end are to be expected.
func (u unpaired) note(cutOff bool) string {
	if cutOff {
		u.never = 0
	}
	var said []string
	say := func(n int, one, many string) {
		if n > 0 {
			said = append(said, figures.Plural(n, one, many))
		}
	}
	say(u.ends, "end without a begin, which is left out", "ends without a begin, which are left out")
	say(u.cut, "slice that ends with the one around it", "slices that end with the ones around them")
	say(u.never, "slice without an end, which lasts until the last event of its thread", "slices without an end, which last until the last event of their threads")
	if len(said) == 0 {
		return ""
	}
	return "begins and ends of events do not match: " + strings.Join(said, ", ")
}
