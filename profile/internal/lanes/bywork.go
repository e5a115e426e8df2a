package lanes

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/goproton/goproton/profile"
)

// byWork finds the processes of work where the ids of the file leave several. Then it depends on the work:
//
//  1. If the events of these processes follow each other in the file, as in files that were put together, work belongs to the process whose
//     events come before it.
//  2. Else work belongs to the only process that has a call with its id or, if none has, from which an arrow leads to it.
//
// What is left has no process, and its call path is not known. Work whose id calls of several processes have is noted with its time.
type byWork struct {
	*assignment
	gpu   []*gpu              // of each lane; nil of others
	calls map[uint64][]*owner // the processes that have calls with an id
	order map[int][]section   // of the parts of the file whose processes follow each other
	from  map[laneTime]*owner // where arrows come from, by their end

	lanes map[laneOwner]*Lane
	kept  map[int]*owner     // of lanes that have work of an owner
	moved map[laneTime]*Lane // where slices went that are not on their lane any more

	time                int64 // ns of all work
	byOrder, unassigned int64 // ns of work whose id several processes use
}

// section is where the events of a process are in the file, by the places of slices in the timeline.
type section struct {
	*owner
	first, last int
}

type laneTime struct {
	lane int
	at   int64
}

type laneOwner struct {
	lane int
	*owner
}

func (a *assignment) decideByWork(doubtful []*gpu) {
	s := &byWork{assignment: a, gpu: make([]*gpu, len(a.b.lanes)), calls: map[uint64][]*owner{}, order: map[int][]section{}, from: map[laneTime]*owner{},
		lanes: map[laneOwner]*Lane{}, kept: map[int]*owner{}, moved: map[laneTime]*Lane{}}
	for _, g := range doubtful {
		for _, l := range g.lanes {
			s.gpu[l.ID] = g
		}
	}
	s.look()
	t := a.b.Profile.Timeline
	for _, each := range []func(int, *profile.Slice){s.find, s.place} {
		for i := range t.Slices {
			if sl := &t.Slices[i]; s.gpu[sl.Lane] != nil {
				each(i, sl)
			}
		}
	}
	for i := range t.Flows {
		if l := s.moved[laneTime{t.Flows[i].To, t.Flows[i].End}]; l != nil {
			t.Flows[i].To = l.ID
		}
	}
	for _, g := range doubtful {
		for _, l := range g.lanes { // without work
			if s.kept[l.ID] == nil {
				s.keep(l, s.unknown(g))
			}
		}
	}
	s.say()
}

// look goes over the file once: which processes have calls with which ids, and whether they follow each other.
func (s *byWork) look() {
	sections := map[*owner]*section{}
	t := s.b.Profile.Timeline
	for i := range t.Slices {
		sl := &t.Slices[i]
		o, l := s.of[sl.Lane], s.b.lanes[sl.Lane]
		if sl.IsWork() {
			s.time += sl.Duration
		}
		if o == nil || o.calls == noCall || l.GPU {
			continue
		}
		if sections[o] == nil {
			sections[o] = &section{o, i, i}
		}
		sections[o].last = i
		if with := s.calls[sl.ID]; sl.ID != 0 && callKindOf(sl) == o.calls && len(with) < mostWith && !slices.Contains(with, o) {
			s.calls[sl.ID] = append(with, o)
		}
	}
	for _, o := range s.owners {
		if sections[o] != nil {
			s.order[o.Part] = append(s.order[o.Part], *sections[o])
		}
	}
	for part, list := range s.order {
		slices.SortFunc(list, func(a, b section) int { return cmp.Compare(a.first, b.first) })
		if !s.followEachOther(list, part) {
			delete(s.order, part)
		}
	}
	for _, f := range t.Flows {
		if o := s.of[f.From]; o != nil && o.calls != noCall && !s.b.lanes[f.From].GPU && s.gpu[f.To] != nil {
			s.from[laneTime{f.To, f.End}] = o
		}
	}
}

// followEachOther says whether the processes of a part of the file were written one after the other, each with its work. If all work comes
// behind all calls, the order says nothing of it.
func (s *byWork) followEachOther(list []section, part int) bool {
	for i := 1; i < len(list); i++ {
		if list[i].first < list[i-1].last {
			return false
		}
	}
	t := s.b.Profile.Timeline
	for i := list[0].first; i < list[len(list)-1].first; i++ {
		if g := s.gpu[t.Slices[i].Lane]; g != nil && g.from.Part == part && t.Slices[i].IsWork() {
			return true
		}
	}
	return false
}

// with lists the processes that may have launched a slice and have a call with its id.
func (s *byWork) with(g *gpu, sl *profile.Slice) (list []*owner) {
	if sl.ID == 0 {
		return nil
	}
	for _, o := range s.calls[sl.ID] {
		if g.may(o) {
			list = append(list, o)
		}
	}
	return list
}

// mostWith bounds the processes that are known to use an id.
const mostWith = 64

// find notes whose work a GPU has.
func (s *byWork) find(i int, sl *profile.Slice) {
	g := s.gpu[sl.Lane]
	if o, _ := s.launcher(g, i, sl); o != nil && !slices.Contains(g.found, o) {
		g.found = append(g.found, o)
	}
}

// place puts a slice on the lane of its process.
func (s *byWork) place(i int, sl *profile.Slice) {
	g, l := s.gpu[sl.Lane], s.b.lanes[sl.Lane]
	o, several := s.launcher(g, i, sl)
	switch {
	case several && o != nil:
		s.byOrder += sl.Duration
	case several:
		s.unassigned += sl.Duration
	case o == nil && len(g.found) == 1: // all that is known of the GPU is of one process
		o = g.found[0]
	}
	if o == nil && !sl.IsWork() {
		return
	}
	if o == nil {
		o = s.unknown(g)
	}
	if s.kept[l.ID] == nil {
		s.keep(l, o)
	} else if s.kept[l.ID] != o {
		to := s.further(l, o)
		s.moved[laneTime{sl.Lane, sl.Start}] = to
		sl.Lane = to.ID
	}
}

// launcher decides whose a slice is; nil if that is not known. several says that it is work whose id calls of several processes have.
func (s *byWork) launcher(g *gpu, i int, sl *profile.Slice) (o *owner, several bool) {
	with := s.with(g, sl)
	several = len(with) > 1 && sl.IsWork()
	order := s.order[g.from.Part]
	before := sort.Search(len(order), func(k int) bool { return order[k].first > i })
	for _, section := range slices.Backward(order[max(before-mostWith, 0):before]) {
		if g.may(section.owner) {
			return section.owner, several
		}
	}
	switch len(with) {
	case 0:
		return s.from[laneTime{sl.Lane, sl.Start}], false
	case 1:
		return with[0], false
	}
	return nil, several
}

func (s *byWork) keep(l *Lane, o *owner) {
	s.kept[l.ID], s.of[l.ID] = o, o
	o.work = true
}

// further is the lane of another process with work on a lane.
func (s *byWork) further(l *Lane, o *owner) *Lane {
	key := laneOwner{l.ID, o}
	if s.lanes[key] == nil {
		n := s.b.NewLane()
		id := n.ID
		*n = *l
		n.ID = id
		s.lanes[key] = n
		s.gpu, s.of = append(s.gpu, nil), append(s.of, o)
		o.work = true
	}
	return s.lanes[key]
}

// unknown stands for the process of work of a GPU that is not known.
func (s *byWork) unknown(g *gpu) *owner {
	if g.unknown == nil {
		g.unknown = &owner{Process: g.from.Process, name: "unknown process"}
	}
	return g.unknown
}

func (s *byWork) say() {
	for _, doubt := range []struct {
		time int64
		what string
	}{
		{s.byOrder, ": it counts for the process whose events come before it in the file"},
		{s.unassigned, ", and nothing says whose it is: it stands at the root"},
	} {
		if doubt.time > 0 {
			s.b.Profile.Note(fmt.Sprintf("%.1f%% of the GPU time has correlation ids that several processes use%s", 100*float64(doubt.time)/float64(s.time), doubt.what))
		}
	}
}
