package collectives

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer/internal/grid"
)

var legend = [][2]string{
	{"nccl", "a kernel of a collective ran"},
	{"overlap", "another kernel of the rank ran at the same time"},
	{"exposed", "no other kernel of the rank ran"},
	{"waiting", "the part of nccl before the last rank arrived"},
	{"moving", "from the arrival of the last rank to the last end"},
}

// mostRows is how many ranks the table has; of more, those that waited least and most.
const mostRows = 24

// Write prints how well the clocks agree, what each rank spent on communication, and what the collectives took.
func (r *Report) Write(w io.Writer, width int, ascii bool) error {
	var b strings.Builder
	if r.Collectives == 0 {
		b.WriteString(term.Broken(fmt.Sprintf("no collective of NCCL was found that two of %s ran together, so every clock is its own", figures.Count(len(r.Ranks), "rank")), 0, width))
	} else {
		b.WriteString(term.Broken(fmt.Sprintf("%s on one clock: ends differ by %s (median), %s (99%%)",
			figures.Count(len(r.Ranks)-len(r.Unaligned), "rank"), figures.Time(r.Median), figures.Time(r.P99)), 0, width))
	}
	layout := grid.Layout{Width: width, Dots: grid.For(ascii).Dots}
	r.ranks(&b, layout)
	if r.Collectives > 0 {
		r.kinds(&b, layout)
		r.waits(&b, layout)
	}
	b.WriteString("\n" + term.Legend(9, width, legend...))
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) ranks(b *strings.Builder, layout grid.Layout) {
	b.WriteString("\n")
	lines := []grid.Line{{Cells: grid.Plain("nccl", "overlap", "exposed", "waiting", "", "clock", "drift"), Name: "rank"}}
	rows, more := r.rows()
	for _, i := range rows {
		t := &r.Ranks[i]
		clock, drift := offset(t.Offset), fmt.Sprintf("%s ppm", figures.Signed(figures.Brief(float64(t.Drift)*1e6)))
		if slices.Contains(r.Unaligned, t.Label) {
			clock, drift = "own", ""
		}
		if t.Drift == 0 {
			drift = ""
		}
		lines = append(lines, grid.Line{Cells: grid.Plain(figures.Time(t.NCCL), figures.Time(t.Overlapped), figures.Time(t.Exposed), figures.Time(t.Waiting),
			share(t.Waiting, t.NCCL), clock, drift), Name: term.Printable(t.Label)})
	}
	if more > 0 {
		lines = append(lines, grid.Line{Cells: grid.Plain("", "", "", "", "", "", ""), Name: fmt.Sprintf("%s %d more", layout.Dots, more)})
	}
	layout.Write(b, lines) //nolint:errcheck // a strings.Builder
}

// rows are the ranks that the table has.
func (r *Report) rows() (rows []int, more int) {
	for i := range r.Ranks {
		rows = append(rows, i)
	}
	if len(rows) <= mostRows {
		return rows, 0
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(r.Ranks[a].Waiting, r.Ranks[b].Waiting) })
	return slices.Concat(rows[:mostRows/2], rows[len(rows)-mostRows/2:]), len(rows) - mostRows
}

// offset is how far a clock was moved.
func offset(nanos int64) string {
	switch {
	case nanos < 0:
		return "-" + figures.Time(-nanos)
	case nanos > 0:
		return "+" + figures.Time(nanos)
	}
	return "0"
}

func share(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return figures.Share(float64(part) / float64(whole))
}

func (r *Report) kinds(b *strings.Builder, layout grid.Layout) {
	b.WriteString("\ncollectives, means of the ranks\n")
	lines := []grid.Line{{Cells: grid.Plain("count", "time", "waiting", "", "moving", "last to arrive"), Name: "operation"}}
	for _, k := range r.Kinds {
		lines = append(lines, grid.Line{Cells: grid.Plain(figures.Grouped(k.Count), figures.Time(k.Time), figures.Time(k.Waiting), share(k.Waiting, k.Time),
			figures.Time(k.Transfer), fmt.Sprintf("%s %s", term.Printable(k.Last), figures.BriefShare(float64(k.LastIn)/float64(k.Count)))), Name: term.Printable(k.Name)})
	}
	layout.Write(b, lines) //nolint:errcheck // a strings.Builder
}

func (r *Report) waits(b *strings.Builder, layout grid.Layout) {
	if len(r.Longest) == 0 {
		return
	}
	b.WriteString("\nlongest waits\n")
	lines := []grid.Line{{Cells: grid.Plain("from", "waiting", "first", "last"), Name: "operation"}}
	for _, w := range r.Longest {
		lines = append(lines, grid.Line{Cells: grid.Plain("+"+figures.Time(w.Start-r.first), figures.Time(w.Nanos), term.Printable(w.First), term.Printable(w.Last)),
			Name: fmt.Sprintf("%s #%d", term.Printable(w.Name), w.Number)})
	}
	layout.Write(b, lines, 2, 3) //nolint:errcheck // a strings.Builder
}

// Schema names the layout of WriteJSON's document. Keys may be added.
const Schema = "goproton.collectives/1"

// WriteJSON prints the whole report; docs/launchers.md describes its keys.
func (r *Report) WriteJSON(w io.Writer) error {
	type clock struct {
		Collectives int      `json:"collectives"`
		Median      int64    `json:"median_ns"`
		Error       int64    `json:"error_ns"`
		Unaligned   []string `json:"unaligned"`
	}
	return jsontext.Write(w, struct {
		Schema string      `json:"schema"`
		Clock  clock       `json:"clock"`
		Ranks  []Times     `json:"ranks"`
		Kinds  []Operation `json:"operations"`
		Waits  []Wait      `json:"longest_waits"`
	}{Schema, clock{r.Collectives, r.Median, r.P99, append([]string{}, r.Unaligned...)},
		append([]Times{}, r.Ranks...), append([]Operation{}, r.Kinds...), append([]Wait{}, r.Longest...)}, "")
}
