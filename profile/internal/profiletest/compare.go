package profiletest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// Expect is how a format shows a timeline to trace_processor.
type Expect struct {
	Root     string // of the repository
	Prefix   string // of arguments: "args." or "debug."
	Category func(*profile.Slice) string
	Process  string // name of the one without a name
	Counted  string // what follows the name of a counter
}

const queryLanes = `from slice s join track t on t.id = s.track_id
 left join thread_track tt on tt.id = t.id left join thread th on th.utid = tt.utid left join process p on p.upid = th.upid
 left join process_track pt on pt.id = t.id left join process pp on pp.upid = pt.upid`

// Compare loads a trace into trace_processor and compares what its tables say with the timeline: every slice with its
// category, time, duration, lane and process; the arrows; and all arguments.
func (e Expect) Compare(t *testing.T, trace []byte, p *profile.Profile) {
	t.Helper()
	answers := Query(t, e.Root, trace, strings.ReplaceAll(`select coalesce(s.name, ''), s.category, s.ts - (select min(ts) from slice), s.dur,
 coalesce(th.name, t.name), coalesce(p.name, pp.name) `+queryLanes, "\n", ""),
		`select a.name, b.name, a.ts - (select min(ts) from slice), b.ts - (select min(ts) from slice) from flow join slice a on slice_out = a.id join slice b on slice_in = b.id`,
		`select coalesce(s.name, ''), key, coalesce(string_value, int_value, real_value) from slice s join args using (arg_set_id) where key like '`+e.Prefix+`%'`,
		`select t.name, c.ts - (select min(ts) from slice), c.value, p.name from counter c join process_counter_track t on t.id = c.track_id join process p using (upid)`,
		`select name, value from stats where value > 0 and severity != 'info'`)
	sameLines(t, "slices", lines(answers[0]), e.slices(p.Timeline))
	sameLines(t, "arrows", lines(answers[1]), arrows(p.Timeline))
	sameLines(t, "arguments", lines(answers[2]), e.arguments(p.Timeline))
	sameLines(t, "counters", lines(answers[3]), e.counters(p.Timeline))
	sameLines(t, "errors", lines(answers[4]), nil)
}

func lines(a Answer) (list []string) {
	for _, row := range a.Rows {
		for i, v := range row {
			if f, number := v.(float64); number {
				row[i] = number6(f)
			}
		}
		list = append(list, fmt.Sprint(row...))
	}
	return list
}

// number6 is a number as both sides print it: they have it from different texts.
func number6(f float64) string { return fmt.Sprintf(" %.9g ", f) }

func line(values ...any) string {
	for i, v := range values {
		switch v := v.(type) {
		case int64:
			values[i] = number6(float64(v))
		case float64:
			values[i] = number6(v)
		}
	}
	return fmt.Sprint(values...)
}

func (e Expect) slices(t *profile.Timeline) (list []string) {
	lanes, first := laneMap(t), firstSlice(t)
	for i := range t.Slices {
		s := &t.Slices[i]
		on := lanes[s.Lane]
		list = append(list, line(s.Name, e.Category(s), s.Start-first, s.Duration, on.Name, cmp.Or(on.Process, e.Process)))
	}
	return list
}

func (e Expect) counters(t *profile.Timeline) (list []string) {
	first := firstSlice(t)
	for _, c := range t.Counters {
		for _, p := range c.Points {
			list = append(list, line(c.Name+e.Counted, p.At-first, p.Value, cmp.Or(c.Process, e.Process)))
		}
	}
	return list
}

func laneMap(t *profile.Timeline) map[int]*profile.Lane {
	lanes := map[int]*profile.Lane{}
	for i := range t.Lanes {
		lanes[t.Lanes[i].ID] = &t.Lanes[i]
	}
	return lanes
}

func firstSlice(t *profile.Timeline) int64 {
	only := profile.Timeline{Slices: t.Slices}
	return only.First()
}

// arrows names the innermost slices that arrows touch.
func arrows(t *profile.Timeline) (list []string) {
	at := func(lane int, time int64) (found *profile.Slice) {
		for i := range t.Slices {
			s := &t.Slices[i]
			if s.Lane == lane && s.Start <= time && time <= s.Start+s.Duration && (found == nil || found.Start <= s.Start) {
				found = s
			}
		}
		return found
	}
	first := firstSlice(t)
	for _, f := range t.Flows {
		from, to := at(f.From, f.Start), at(f.To, f.End)
		list = append(list, line(from.Name, to.Name, from.Start-first, to.Start-first))
	}
	return list
}

func (e Expect) arguments(t *profile.Timeline) (list []string) {
	for i := range t.Slices {
		s := &t.Slices[i]
		add := func(key string, v any) { list = append(list, line(s.Name, e.Prefix+key, v)) }
		for i, frame := range s.Path {
			add(fmt.Sprintf("call_stack[%d]", i), frame)
		}
		if s.ID != 0 && s.Kind == profile.ScopeSlice {
			add("scope_id", int64(s.ID))
		} else if s.ID != 0 {
			add("correlation", int64(s.ID))
		}
		if s.Launch != nil {
			add("launch", s.Launch.ID)
			add("compile_hash", s.Launch.Hash)
		}
		for _, m := range s.Metrics {
			f, number := m.Value.Float()
			switch {
			case m.Name == "bytes" && (s.Kind == profile.CopySlice || s.Kind == profile.FillSlice):
				add("bytes", f)
				if s.Duration > 0 {
					add("GB/s", f/float64(s.Duration))
				}
			case number:
				add("metrics."+m.Name, f)
			case m.Value.Str() != "":
				add("metrics."+m.Name, m.Value.Str())
			}
			for i, v := range m.Value.Ints() {
				add(fmt.Sprintf("metrics.%s[%d]", m.Name, i), v)
			}
			for i, v := range m.Value.Floats() {
				add(fmt.Sprintf("metrics.%s[%d]", m.Name, i), v)
			}
		}
	}
	return list
}

// sameLines compares two lists in any order.
func sameLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if slices.Equal(got, want) {
		return
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s: trace_processor has %s", what, g)
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s: trace_processor lacks %s", what, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: trace_processor has %d, want %d", what, len(got), len(want))
	}
}
