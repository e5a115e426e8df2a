package chrometrace

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// marks is the text of begins and ends on one thread: "B a 10", "E - 20 x" with a category.
func marks(tid int, list ...string) string {
	var b strings.Builder
	for _, m := range list {
		words := append(strings.Fields(m), "")
		fmt.Fprintf(&b, `{"ph":%q,"pid":1,"tid":%d,"ts":%s`, words[0], tid, words[2])
		if words[1] != "-" {
			fmt.Fprintf(&b, `,"name":%q`, words[1])
		}
		if words[3] != "" {
			fmt.Fprintf(&b, `,"cat":%q`, words[3])
		}
		b.WriteString("},\n")
	}
	return b.String()
}

// took lists the call paths of a profile with their time on the CPU in us.
func took(p *profile.Profile) map[string]int64 {
	paths, times := []string{}, map[string]int64{}
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		if paths = append(paths[:depth], n.Name); depth > 0 {
			v, _ := n.Metric(profile.CPUTimeMetric)
			times[strings.Join(paths[1:], ">")] = v.Int() / 1000
		}
		return true
	})
	return times
}

func text(times map[string]int64) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(times)) {
		fmt.Fprintf(&b, "%s %d, ", path, times[path])
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// TestBeginsAndEnds: a file may have them in any order, and lack some of them.
func TestBeginsAndEnds(t *testing.T) {
	for name, test := range map[string]struct {
		marks      []string
		want, note string
	}{
		"late begin of an outer one": {[]string{"B outer 0", "E inner 60", "B inner 20", "E outer 100"}, "outer 100, outer>inner 40", ""},
		"end before begin":           {[]string{"E a 100", "B a 0"}, "a 100", ""},
		"end of one that began before the file": {[]string{"B step 0", "E lost 5", "B x 10", "E x 20", "E step 100"}, "step 100, step>x 10",
			"begins and ends of events do not match: 1 end without a begin, which is left out"},
		"no time at the end of another":  {[]string{"B a 0", "B z 10", "E z 10", "E a 10", "B n 10", "E n 20"}, "a 10, a>z 0, n 10", ""},
		"no time at the start of others": {[]string{"B a 0", "B z 0", "E z 0", "B b 0", "E b 10", "E a 20"}, "a 20, a>b 10, a>z 0", ""},
		"ends without names":             {[]string{"B a 0", "B b 10", "E - 20", "E - 30"}, "a 30, a>b 10", ""},
		"ends with another category":     {[]string{"B a 0 x", "B a 10 y", "E a 20 x", "E a 30 y"}, "a 20, a>a 10", "1 slice that ends with the one around it"},
		"ends in the wrong order": {[]string{"B a 0", "B b 10", "E a 20", "E b 30"}, "a 20, a>b 10",
			"1 end without a begin, which is left out, 1 slice that ends with the one around it"},
		"without ends": {[]string{"B a 0", "B b 10", "B c 20", "E c 30"}, "a 30, a>b 20, a>b>c 10",
			"2 slices without an end, which last until the last event of their threads"},
	} {
		p := read(t, "["+marks(1, test.marks...)+"]")
		if got := text(took(p)); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
		if note := p.Info[profile.InfoNote]; !strings.Contains(note, test.note) || test.note == "" && note != "" {
			t.Errorf("%s: the note is %q, want %q", name, note, test.note)
		}
	}
}

// TestAsynchronousEventsAreCounted, since they are left out.
func TestAsynchronousEventsAreCounted(t *testing.T) {
	for text, want := range map[string]string{
		"[" + marks(1, "b a 0", "n a 1", "e a 5", "B s 0", "E s 9") + "]": "3 asynchronous events are left out: they lie on no thread",
		"[" + marks(1, "S a 0", "X s 1") + "]":                            "1 asynchronous event is left out: it lies on no thread",
		"[" + marks(1, "i a 0", "C a 1", "X s 1") + "]":                   "",
	} {
		if note := read(t, text).Info[profile.InfoNote]; note != want {
			t.Errorf("%s: the note is %q, want %q", text, note, want)
		}
	}
}

// TestBeginsAndEndsAsTraceProcessor compares the tree of random begins and ends, in any order and at few moments, with that of the program
// behind ui.perfetto.dev.
func TestBeginsAndEndsAsTraceProcessor(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	var file strings.Builder
	last := map[string]int64{} // of each thread
	for tid := range 200 {
		tid += 10 // 1 is the first thread of the process
		var list []string
		moments, names := 1+r.IntN(12), 1+r.IntN(4)
		for range 1 + r.IntN(16) {
			phase, at := "BE"[r.IntN(2)], int64(r.IntN(moments))
			name := fmt.Sprintf("t%d%c", tid, 'a'+r.IntN(names))
			if phase == 'E' && r.IntN(3) == 0 {
				name = "-"
			}
			list = append(list, fmt.Sprintf("%c %s %d %s", phase, name, at*10, []string{"", "", "", "x", "y"}[r.IntN(5)]))
			last[fmt.Sprint("t", tid)] = max(last[fmt.Sprint("t", tid)], at*10)
		}
		if tid%3 > 0 { // most files have them in order
			slices.SortStableFunc(list, func(a, b string) int { return int(timeOf(a) - timeOf(b)) })
		}
		file.WriteString(marks(tid, list...))
	}
	whole := "[" + strings.TrimSuffix(file.String(), ",\n") + "]"
	answers := profiletest.Query(t, "../..", []byte(whole), "select id, name, ts, dur, parent_id from slice order by id")
	type slice struct {
		path string
		end  int64
	}
	byID, want := map[float64]slice{}, map[string]int64{}
	for _, row := range answers[0].Rows {
		name, start, dur := row[1].(string), int64(row[2].(float64))/1000, int64(row[3].(float64))/1000
		s := slice{path: name, end: start + dur}
		above, nested := slice{}, false
		if parent, ok := row[4].(float64); ok {
			above, nested = byID[parent], true
			s.path = above.path + ">" + name
		}
		if row[3].(float64) < 0 { // it never ends
			if s.end = last[name[:len(name)-1]]; nested {
				s.end = min(s.end, above.end)
			}
		}
		byID[row[0].(float64)] = s
		want[s.path] += s.end - start
	}
	got := took(read(t, whole))
	for path := range want {
		if _, found := got[path]; !found || got[path] != want[path] {
			t.Errorf("%s took %d us (found: %v), want %d", path, got[path], found, want[path])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d call paths, want %d", len(got), len(want))
	}
}

func timeOf(mark string) (at int64) {
	fmt.Sscan(strings.Fields(mark)[2], &at)
	return at
}
