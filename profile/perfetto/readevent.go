package perfetto

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/profile"
)

// event is a track event as it is read; the next one uses its memory again.
type event struct {
	kind           uint64
	track          uint64
	name, category string
	flows, ends    []uint64

	path     []string
	id       uint64
	launch   profile.LaunchKind
	metrics  []profile.Metric
	bytes    profile.Value
	hasBytes bool
}

func (d *reader) readEvent(state *sequenceState, at int64, message []byte) error {
	d.e = event{track: state.track, flows: d.e.flows[:0], ends: d.e.ends[:0], metrics: d.e.metrics[:0]}
	e := &d.e
	err := fields(message, func(f field) error {
		switch f.number {
		case eventType:
			e.kind = f.v
		case eventTrack:
			e.track = f.v
		case eventNameIID:
			e.name = state.names[f.v]
		case eventName:
			e.name = d.text(f.b)
		case eventCategoryIID:
			e.category = cmp.Or(e.category, state.categories[f.v])
		case eventCategory:
			e.category = cmp.Or(e.category, d.text(f.b))
		case eventFlows, eventFlowsOld:
			e.flows = append(e.flows, f.v)
		case eventEnds, eventEndsOld:
			e.ends = append(e.ends, f.v)
		case eventAnnotations:
			return d.annotation(state, e, f.b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch e.kind {
	case sliceBegin:
		d.begin(e, at)
	case sliceEnd:
		d.end(d.tracks.at(e.track), at)
	}
	return nil
}

// mostOpen bounds the slices that are open at once on a track: what a broken file never ends piles up.
const mostOpen = profile.MaxDepth

func (d *reader) begin(e *event, at int64) {
	tr := d.tracks.at(e.track)
	tr.events, tr.last = true, max(tr.last, at)
	if len(tr.open) == mostOpen {
		return
	}
	s := profile.Slice{Lane: tr.id, Kind: kindOf(e.category), Name: e.name, Start: at, Path: e.path, ID: e.id}
	switch s.Kind {
	case profile.CopySlice, profile.FillSlice:
		if e.hasBytes {
			s.Metrics = append(s.Metrics, profile.Metric{Name: keyBytes, Value: e.bytes})
		}
		tr.gpu = true
	case profile.KernelSlice, profile.GraphSlice:
		tr.gpu = true
		if s.Kind == profile.KernelSlice && e.launch.ID != "" {
			e.launch.Kernel = e.name
			s.Launch = d.launches.Of(e.launch)
		}
	}
	s.Metrics = append(s.Metrics, e.metrics...)
	tr.open = append(tr.open, len(d.t.Slices))
	for _, id := range e.flows {
		d.flows = append(d.flows, flowPoint{id: id, track: tr.id, at: at})
	}
	for _, id := range e.ends {
		d.flows = append(d.flows, flowPoint{id: id, track: tr.id, at: at, ends: true})
	}
	d.t.Slices = append(d.t.Slices, s)
}

// kindOf returns the kind of a slice by its category. Slices with other programs' categories are scopes.
func kindOf(category string) profile.SliceKind {
	if kind := slices.Index(categories[:], category); kind >= 0 {
		return profile.SliceKind(kind)
	}
	switch category {
	case "gpu_memcpy":
		return profile.CopySlice
	case "gpu_memset":
		return profile.FillSlice
	}
	return profile.ScopeSlice
}

func (d *reader) end(tr *track, at int64) {
	tr.last = max(tr.last, at)
	if len(tr.open) == 0 {
		return // it began before the trace
	}
	s := &d.t.Slices[tr.open[len(tr.open)-1]]
	tr.open = tr.open[:len(tr.open)-1]
	s.Duration = max(at-s.Start, 0)
}

// closeAll ends what has no end in the file where its track ends.
func (d *reader) closeAll() {
	for _, tr := range d.tracks.order {
		for len(tr.open) > 0 {
			d.end(tr, tr.last)
		}
	}
}

// flowPoint is a slice that an arrow touches.
type flowPoint struct {
	id    uint64
	track int
	at    int64
	ends  bool
}

// joinFlows makes arrows of the points with one id: from the first in time to the next and so on. An arrow of two points,
// one of which ends it, keeps its direction whatever the clocks of CPU and GPU say.
func (d *reader) joinFlows() {
	slices.SortStableFunc(d.flows, func(a, b flowPoint) int { return cmp.Compare(a.id, b.id) })
	for start := 0; start < len(d.flows); {
		end := start
		for end < len(d.flows) && d.flows[end].id == d.flows[start].id {
			end++
		}
		points := d.flows[start:end]
		slices.SortStableFunc(points, func(a, b flowPoint) int {
			if len(points) == 2 && a.ends != b.ends {
				return cmp.Compare(ended(a), ended(b))
			}
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(ended(a), ended(b)))
		})
		for i := 1; i < len(points); i++ {
			from, to := points[i-1], points[i]
			if from.ends {
				continue
			}
			d.t.Flows = append(d.t.Flows, profile.Flow{ID: from.id, From: d.tracks.lanes[from.track], To: d.tracks.lanes[to.track], Start: from.at, End: to.at})
		}
		start = end
	}
}

func ended(p flowPoint) int {
	if p.ends {
		return 1
	}
	return 0
}
