package viewer

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// goldens are pictures of a profile, one file each, named VIEW.WHAT.txt.
var goldens = []struct {
	view, name, profile string
	o                   Options
	terminal            Terminal
}{
	{"csv", "layers", "layers_main", Options{Metrics: []string{"time", "count", "gbyte/s", "device_id"}, Depth: 4}, Terminal{}},
	{"markdown", "layers", "layers_main", Options{Metrics: []string{"time", "count", "gbyte/s", "device_id"}, Depth: 4}, Terminal{}},
	{"markdown", "odd", "odd", Options{}, Terminal{}},
	{"json", "layers", "layers_main", Options{Metrics: []string{"time", "count", "gbyte/s", "device_id"}, Depth: 4}, Terminal{}},
	{"json", "roofline.top", "roofline", Options{Metrics: []string{"util", "bound", "time"}, Top: 3}, Terminal{}},
	{"json", "vector", "vector", Options{Metrics: []string{"time", "bins", "weights", "label"}}, Terminal{}},
}

func TestGoldenViews(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.view+"."+g.name, func(t *testing.T) {
			var out bytes.Buffer
			notes, err := Render(&out, load(t, g.profile), g.view, g.o, g.terminal)
			if err != nil {
				t.Fatal(err)
			}
			for _, note := range notes {
				out.WriteString("note: " + note + "\n")
			}
			testkit.Golden(t, "testdata/"+g.view+"."+g.name+".txt", out.String())
		})
	}
}

// rudeNames are frames that a terminal, a spreadsheet or a parser might take for something else.
var rudeNames = []string{"\x1b[2J\x1b]0;title\a", "\u009b31m", "a\r\nb\tc", "quote\" comma, semicolon;", "\u202egnp.exe", "cut \xe6\x97", "<script>", "", "\U000e0001", "日本語"}

func rudeProfile() *profile.Profile {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive}, Info: profile.Info{"host": "a\x1bb"}}
	for i, name := range rudeNames {
		n := &profile.Node{Name: name}
		n.Set("time (ns)", profile.IntValue(int64(1000+i)))
		n.Set("loss", profile.FloatValue([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0.5}[i%4]))
		n.Set("note", profile.StringValue(name))
		p.Root.Children = append(p.Root.Children, n)
	}
	return p
}

// TestNothingReachesATerminalRaw looks for what moves a cursor or turns text around in the output of every view. Names in JSON are as
// recorded, for programs; term.Output, which every command writes through, spells them out.
func TestNothingReachesATerminalRaw(t *testing.T) {
	for _, v := range Views() {
		var out bytes.Buffer
		w := io.Writer(&out)
		if v.Name == "json" {
			w = term.NewOutput(w)
		}
		if _, err := Render(w, rudeProfile(), v.Name, Options{Metrics: []string{"time", "loss", "note"}}, Terminal{Width: 80}); err != nil {
			t.Fatal(err)
		}
		checkPlain(t, v.Name, out.String(), false)
	}
}

type tableDocument struct {
	Schema  string
	Info    map[string]string
	Columns []struct{ Name, Unit string }
	Rows    []struct {
		ID, Depth, Hidden int
		Parent            *int
		Name              string
		Path              []string
		Values, Own       []any
	}
}

// TestJSONIsWhatItPromises reads the document with an ordinary reader and compares it with the table.
func TestJSONIsWhatItPromises(t *testing.T) {
	p := rudeProfile()
	o := Options{Metrics: []string{"time", "loss", "note"}}
	var out bytes.Buffer
	if _, err := Render(&out, p, "json", o, Terminal{}); err != nil {
		t.Fatal(err)
	}
	var doc tableDocument
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if doc.Schema != "goproton.table/1" || doc.Info["host"] != "a\x1bb" || doc.Columns[0].Name != "time/ns" || doc.Columns[0].Unit != "ns" {
		t.Errorf("head is %+v", doc)
	}
	for i, name := range rudeNames {
		r := doc.Rows[i+1]
		name = strings.ToValidUTF8(name, "\uFFFD")
		if strings.ToValidUTF8(r.Name, "") != r.Name || r.Name != name && !strings.Contains(name, "\uFFFD") || r.Parent == nil || *r.Parent != 0 || len(r.Path) != 2 || r.Path[1] != r.Name {
			t.Errorf("row %d is %+v, want %q below 0", i+1, r, name)
		}
		if want := 1000 + float64(i); r.Values[0] != want || r.Own[0] != want {
			t.Errorf("%q has %v ns, want %g", name, r.Values, want)
		}
		if loss := r.Values[1]; i%4 == 3 && loss != 0.5 || i%4 != 3 && loss != nil {
			t.Errorf("%q has loss %v; NaN and infinities are null", name, loss)
		}
	}
	if root := doc.Rows[0]; root.Parent != nil || root.Values[0] != 10045.0 || root.Values[2] != nil {
		t.Errorf("root is %+v", root)
	}
}

func TestCSVIsWhatItPromises(t *testing.T) {
	var out bytes.Buffer
	if _, err := Render(&out, rudeProfile(), "csv", Options{Metrics: []string{"time", "loss"}}, Terminal{}); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"id", "parent", "depth", "name", "path", "time (ns)", "loss"}; !slices.Equal(lines[0], want) {
		t.Errorf("head is %v, want %v", lines[0], want)
	}
	if want := []string{"0", "", "0", "ROOT", "ROOT", "10045", ""}; !slices.Equal(lines[1], want) {
		t.Errorf("root is %q, want %q", lines[1], want)
	}
	if want := []string{"4", "0", "1", `quote" comma, semicolon;`, `ROOT;quote" comma, semicolon,`, "1003", "0.5"}; !slices.Equal(lines[5], want) {
		t.Errorf("row is %q, want %q", lines[5], want)
	}
}

// The names of a table are cut to the width that was asked for; without one they are whole.
func TestTableFitsTheWidth(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: strings.Repeat("long_name_", 20)}}}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive}}
	p.Root.Children[0].Set("time (ns)", profile.IntValue(1000))
	for width, widest := range map[int]int{0: 202, 60: 60, 80: 80} {
		var out strings.Builder
		if _, err := Render(&out, p, "table", Options{}, Terminal{Width: width}); err != nil {
			t.Fatal(err)
		}
		got := 0
		for line := range strings.Lines(out.String()) {
			got = max(got, grid.Columns(strings.TrimSpace(line)))
		}
		if width == 0 && got < widest || width > 0 && got != widest {
			t.Errorf("--width %d: %d columns\n%s", width, got, out.String())
		}
	}
}

// Numbers are never cut, and a note says so where they are wider than the terminal.
func TestNoteOnNumbersThatAreTooWide(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive}}
	p.Root.Set("time (ns)", profile.IntValue(1000))
	for width, want := range map[int]string{0: "", 80: "", 20: "more than the 20 of the width: numbers are never cut"} {
		notes, err := Render(io.Discard, p, "tree", Options{Metrics: []string{"time/ns"}}, Terminal{Width: width})
		if err != nil || (len(notes) > 0) != (want != "") || !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("--width %d: %v %q, want %q", width, err, notes, want)
		}
	}
}

// A view without branches needs no room for them: names give way until the least that they keep.
func TestFlatViewFitsTheWidth(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: strings.Repeat("n", 40)}}}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive}}
	p.Root.Children[0].Set("time (ns)", profile.IntValue(1000))
	for width := 52; width < 60; width++ { // of which the numbers take 36, and a name at least 16
		var out strings.Builder
		notes, err := Render(&out, p, "flat", Options{Metrics: []string{"time/ns"}}, Terminal{Width: width})
		if err != nil || strings.Contains(strings.Join(notes, "\n"), "never cut") {
			t.Errorf("--width %d: %v %q", width, err, notes)
		}
		for line := range strings.Lines(out.String()) {
			if got := grid.Columns(strings.TrimSuffix(line, "\n")); got > width {
				t.Errorf("--width %d: %d columns: %s", width, got, line)
			}
		}
	}
}

// A profile of a rank says so to people; output for programs is as it was.
func TestRankIsNamed(t *testing.T) {
	p := &profile.Profile{
		Root:  &profile.Node{Name: "ROOT", Metrics: []profile.Metric{{Name: "time (ns)", Value: profile.IntValue(5)}}},
		Kinds: profile.Kinds{"time (ns)": profile.Inclusive}, Info: profile.Info{profile.InfoRank: "3", profile.InfoWorld: "8", profile.InfoHost: "node\x1b7"},
	}
	for _, v := range Views() {
		var out strings.Builder
		if _, err := Render(&out, p, v.Name, Options{}, Terminal{Width: 80}); err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		said := strings.HasPrefix(out.String(), "rank 3 of 8 on node")
		if strings.Contains(out.String(), "\x1b") || said == (v.Name == "csv" || v.Name == "json") {
			t.Errorf("%s:\n%s", v.Name, out.String())
		}
	}
}

// The note on lines that are wider than the terminal measures them: short names below short branches need less room than is kept for long ones.
func TestNoteOnTheWidthMeasuresLines(t *testing.T) {
	metrics := []string{"time/us", "count", "avg_time/us", "flop16/s", "byte/s"}
	p := tree("a time=1000000 count=1 flops16=5e11 bytes=1e6\ns\n  x time=500000 count=1 flops16=5e11\n  a.very.long.name.that.is.cut time=1000 count=1\n    deep time=1000 count=2")
	short := tree("a time=1000000 count=1 flops16=5e11 bytes=1e6\ns\n  x time=500000 count=1 flops16=5e11")
	for _, view := range []string{"tree", "flat", "bottom-up"} {
		for width := 20; width < 120; width++ {
			for _, of := range []*profile.Profile{p, short} {
				var out strings.Builder
				notes, err := Render(&out, of, view, Options{Metrics: metrics}, Terminal{Width: width})
				if err != nil {
					t.Fatal(err)
				}
				widest := 0
				for line := range strings.Lines(out.String()) {
					widest = max(widest, grid.Columns(strings.TrimSuffix(line, "\n")))
				}
				said := strings.Join(notes, "\n")
				if want := fmt.Sprintf("lines have %d columns, more than the %d", widest, width); widest > width != strings.Contains(said, want) || widest <= width && strings.Contains(said, "lines have") {
					t.Fatalf("%s --width %d: the widest line has %d columns; said %q\n%s", view, width, widest, said, out.String())
				}
			}
		}
	}
}

// A path whose frames all call each other has rows for half of the square of its depth from the bottom up: as many callers are shown as there is
// room for, which a note says, and nothing is lost of the sums.
func TestBottomUpOfADeepPath(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}}
	n := p.Root
	const depth = 9000
	for i := range depth {
		n.Children = []*profile.Node{{Name: fmt.Sprint("f", i)}}
		n = n.Children[0]
		n.Set("count", profile.IntValue(1))
	}
	table, err := NewTable(p, Options{Metrics: []string{"count"}, Group: ByCaller})
	if err != nil {
		t.Fatal(err)
	}
	rows, sum := 0, 0.0
	for r := range table.All() {
		rows++
		if r.Depth == 1 {
			sum += r.Values[0]
		}
	}
	if rows > byCallerRows+byCallerOf*(depth+1) || sum != depth || len(table.Notes) != 1 || !strings.Contains(table.Notes[0], "only 16 callers of each frame are shown") {
		t.Errorf("%d rows, in sum %v; %q", rows, sum, table.Notes)
	}
}
