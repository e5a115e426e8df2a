package perfetto

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// event is a track event while it is read. The next event uses the same memory.
type event struct {
	lanes.Event
	kind        uint64
	track       uint64
	flows, ends []uint64
	submits     []uint64 // events of render stages
	value       int64    // of a counter
	async       bool     // it has a phase of Chrome's format that lies on no thread
	duration    int64    // of a slice that one event tells whole
}

func (d *reader) readEvent(state *sequenceState, at int64, fault lanes.TimeFault, message []byte) error {
	d.e = event{Event: lanes.Event{Start: at, StartFault: fault, Metrics: d.e.Metrics[:0]}, track: state.track, flows: d.e.flows[:0], ends: d.e.ends[:0],
		submits: d.e.submits[:0]}
	e := &d.e
	err := fields(message, func(f field) error {
		switch f.number {
		case eventType:
			e.kind = f.v
		case eventTrack:
			e.track = f.v
		case eventCounter:
			e.value = int64(f.v)
		case eventNameIID:
			e.Name = state.names[f.v]
		case eventName:
			e.Name = d.text(f.b)
		case eventCategoryIID:
			e.Category = cmp.Or(e.Category, state.categories[f.v])
		case eventCategory:
			e.Category = cmp.Or(e.Category, d.text(f.b))
		case eventFlows, eventFlowsOld:
			e.flows = append(e.flows, f.v)
		case eventEnds, eventEndsOld:
			e.ends = append(e.ends, f.v)
		case eventSubmits:
			return e.submit(f.b)
		case eventGPUAPI:
			e.Call = true
		case eventAnnotations:
			return d.annotation(state, e, f.b)
		case eventLegacy:
			return e.legacy(f.b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch e.kind {
	case 0:
		if e.async {
			d.b.Async++
		}
	case sliceBegin:
		d.b.Begin(d.begin(e), &e.Event)
	case wholeSlice:
		d.b.Slice(d.begin(e), &e.Event, e.duration)
	case sliceEnd:
		d.b.End(d.tracks.at(e.track).Lane, &e.Event)
	case counterValue:
		if c := d.tracks.at(e.track).counter; c != nil {
			c.Points = append(c.Points, profile.Point{At: at, Value: e.value})
		}
	}
	return nil
}

// wholeSlice is a kind of event that Perfetto's enumeration lacks: a slice with its duration.
const wholeSlice = 1 << 32

// legacy reads what Chrome's own macros write in place of a type: the phase of an event of Chrome's JSON format.
func (e *event) legacy(message []byte) error {
	return fields(message, func(f field) error {
		switch {
		case f.number == legacyDuration:
			e.duration = max(min(int64(f.v), lanes.FarAway/1000), 0) * 1000
		case f.number != legacyPhase || e.kind != 0:
		case f.v == legacyBegin:
			e.kind = sliceBegin
		case f.v == legacyEnd:
			e.kind = sliceEnd
		case f.v == legacyComplete:
			e.kind = wholeSlice
		default:
			e.async = strings.ContainsRune(legacyAsync, rune(f.v))
		}
		return nil
	})
}

// begin returns the lane of a slice, after it has noted the arrows that touch its beginning.
func (d *reader) begin(e *event) *lanes.Lane {
	l := d.tracks.at(e.track).Lane
	for _, id := range e.flows {
		d.flows = append(d.flows, flowPoint{id: id, lane: l.ID, at: e.Start})
	}
	for _, id := range e.ends {
		d.flows = append(d.flows, flowPoint{id: id, lane: l.ID, at: e.Start, ends: true})
	}
	for _, id := range e.submits {
		d.submissions = append(d.submissions, flowPoint{id: id, lane: l.ID, at: e.Start})
	}
	return l
}

// submit reads which render stages a call submitted.
func (e *event) submit(message []byte) error {
	return fields(message, func(f field) error {
		if f.number == submittedStage && f.kind == protowire.VarintType {
			e.submits = append(e.submits, f.v)
		}
		return nil
	})
}

// flowPoint is a slice that an arrow touches.
type flowPoint struct {
	id   uint64
	lane int
	at   int64
	ends bool
}

// endsLater orders an end of an arrow behind what is none.
func endsLater(a, b flowPoint) int {
	return figures.OneIf[int](a.ends) - figures.OneIf[int](b.ends)
}

// joinFlows makes arrows between the points with one id: from each to the next in time. Of two points, one of which ends the
// arrow, that one is the end even if the clocks of CPU and GPU disagree.
func (d *reader) joinFlows(all []flowPoint) {
	slices.SortStableFunc(all, func(a, b flowPoint) int { return cmp.Compare(a.id, b.id) })
	for start := 0; start < len(all); {
		end := start
		for end < len(all) && all[end].id == all[start].id {
			end++
		}
		points := all[start:end]
		slices.SortStableFunc(points, func(a, b flowPoint) int {
			if len(points) == 2 && a.ends != b.ends {
				return endsLater(a, b)
			}
			return cmp.Or(cmp.Compare(a.at, b.at), endsLater(a, b))
		})
		for i := 1; i < len(points); i++ {
			from, to := points[i-1], points[i]
			if from.ends {
				continue
			}
			d.b.Flow(profile.Flow{ID: from.id, From: from.lane, To: to.lane, Start: from.at, End: to.at})
		}
		start = end
	}
}
