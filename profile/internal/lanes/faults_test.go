package lanes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// Slices with times that cannot be are counted and do not stretch the timeline; all others stay as they are.
func TestTimesThatCannotBe(t *testing.T) {
	const at = 1_782_700_000_000_000_000 // 2026
	const boot = 40 * hour
	type event struct {
		cat             string
		start, duration int64
		fault, length   TimeFault
	}
	kernels := func(start int64) (list []event) {
		for i := range int64(5) {
			list = append(list, event{cat: "kernel", start: start + 100*i, duration: 50})
		}
		return list
	}
	for name, c := range map[string]struct {
		events []event
		kept   int
		note   string
	}{
		"all is well":                        {kernels(at), 5, ""},
		"times from 0":                       {append(kernels(0), event{cat: "kernel"}), 6, ""},
		"a kernel without a time":            {append(kernels(at), event{cat: "kernel"}), 5, "1 slice is left out"},
		"more kernels without a time":        {append(kernels(at), make([]event, 9)...), 5, "9 slices are left out"},
		"and with times since the start":     {append(kernels(boot), event{cat: "kernel"}), 5, "1 slice is left out"},
		"a scope at 0 with such times":       {append(kernels(boot), event{cat: "cpu_op"}), 6, ""},
		"a scope at 0":                       {append(kernels(at), event{cat: "cpu_op", duration: 5}), 5, "1 slice is left out"},
		"a scope in the year 2200":           {append(kernels(at), event{cat: "cpu_op", start: at + 174*year}), 5, "1 slice is left out"},
		"an arrow from 0":                    {append(kernels(at), event{cat: "arrow"}), 5, ""},
		"days between":                       {append(kernels(at), kernels(at+300*day)...), 10, ""},
		"a time that is none":                {append(kernels(at), event{cat: "cpu_op", fault: NoTime}), 5, "1 slice is left out"},
		"a time that is too large":           {append(kernels(at), event{cat: "kernel", start: FarAway, fault: OutOfRange}), 5, "1 slice is left out"},
		"all times are too large":            {[]event{{cat: "kernel", start: FarAway, fault: OutOfRange}, {cat: "cpu_op", start: FarAway, fault: OutOfRange}}, 0, "all slices are left out, since their times are more than 73 years"},
		"a kernel that never ends":           {append(kernels(at), event{cat: "kernel", start: at, duration: FarAway, length: OutOfRange}), 5, "1 slice is left out"},
		"a kernel of a negative time":        {append(kernels(at), event{cat: "kernel", start: at, length: Negative}), 5, "1 slice is left out"},
		"a kernel of decades":                {append(kernels(at), event{cat: "kernel", start: at, duration: 56 * year}), 5, "1 slice is left out"},
		"an operator that had not ended":     {append(kernels(at), event{cat: "cpu_op", start: at, duration: FarAway, length: OutOfRange}), 6, "1 slice of the host has a negative or endless duration"},
		"an operator of a negative time":     {append(kernels(at), event{cat: "cpu_op", start: at, length: Negative}), 6, "1 slice of the host has a negative or endless duration"},
		"an operator of decades, and others": {append(kernels(at), event{cat: "cpu_op", start: at, duration: 56 * year}, event{cat: "kernel"}), 6, "1 slice is left out, whose times cannot be: none, 0 or more than a year from those of the others, or without an end; 1 slice of the host has"},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder()
			host, stream := b.NewLane(), b.NewLane()
			for _, e := range c.events {
				l := host
				if e.cat == "" {
					e.cat = "kernel"
				}
				if e.cat == "kernel" {
					l = stream
				}
				if e.cat == "arrow" {
					b.Flow(profile.Flow{From: host.ID, To: stream.ID, Start: at, End: e.start})
					continue
				}
				b.Slice(l, &Event{Category: e.cat, Name: e.cat, Start: e.start, StartFault: e.fault, DurationFault: e.length}, e.duration)
				if e.fault == NoFault {
					b.Flow(profile.Flow{From: host.ID, To: stream.ID, Start: e.start, End: e.start})
				}
			}
			b.EndDocument(0)
			p := b.Finish(-1)
			if len(p.Timeline.Slices) != c.kept {
				t.Errorf("%d slices stay, want %d", len(p.Timeline.Slices), c.kept)
			}
			if note := p.Info[profile.InfoNote]; !strings.HasPrefix(note, c.note) || (note == "") != (c.note == "") {
				t.Errorf("the note is %q, want %q", note, c.note)
			}
			first, last := p.Timeline.First(), int64(0)
			for _, s := range p.Timeline.Slices {
				last = max(last, s.Start+s.Duration)
			}
			if last-first > year {
				t.Errorf("the timeline lasts %s", fmt.Sprint(last-first))
			}
		})
	}
}

// Lanes that are described are ours: their times were looked at when they were first read.
func TestOurTimesStay(t *testing.T) {
	b := NewBuilder()
	l := b.NewLane()
	l.Described = true
	for _, at := range []int64{0, 1_782_700_000_000_000_000} {
		b.Slice(l, &Event{Category: "kernel", Name: "k", Start: at}, 0)
	}
	b.EndDocument(0)
	if p := b.Finish(-1); len(p.Timeline.Slices) != 2 || p.Info != nil {
		t.Errorf("%d slices stay, and %v is said", len(p.Timeline.Slices), p.Info)
	}
}
