package joined

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// table is how long the launches of a kernel took: a row for each specialisation, below it one for each kind of its launches.
type table struct {
	join   *Join
	kernel *Kernel
	rows   []row

	dropped []string // columns that there was no room for
}

// row is one line of it.
type row struct {
	times    *profile.Durations
	traced   int
	rates    *Rates          // nil where nobody knows them
	compiled *Specialisation // nil but for a specialisation
	name     string
}

// What is shown of a kernel, and of a specialisation; --all shows all. Autotuners try dozens of configurations.
const (
	mostSpecialisations = 10
	mostGroups          = 10
)

func newTable(j *Join, k *Kernel, all bool) *table {
	t := &table{join: j, kernel: k}
	for i, s := range k.Specialisations {
		if i == mostSpecialisations && !all && len(k.Specialisations) > mostSpecialisations+1 {
			t.others(k.Specialisations[i:])
			break
		}
		t.specialisation(s)
		for i, g := range s.Groups {
			if i == mostGroups && !all && len(s.Groups) > mostGroups+1 {
				t.rest(s.Groups[i:])
				break
			}
			t.group(g)
		}
		t.unattributed(s.Unattributed(), s.Times.Count, "  ")
	}
	t.unattributed(k.Unattributed(), k.Times.Count, "")
	return t
}

func (t *table) specialisation(s *Specialisation) {
	name := s.Label
	if !strings.Contains(name, "#"+short(s.Hash)) && s.Hash != "" {
		name += " #" + short(s.Hash)
	}
	if s.Compilation == nil && t.join.options.Trace != nil {
		name += " (not in the trace)"
	}
	t.rows = append(t.rows, row{times: &s.Times, traced: s.Traced, rates: &s.Rates, compiled: s, name: strings.TrimSpace(name)})
}

func (t *table) group(g *Group) {
	name := g.Label
	if len(g.Grid) > 0 && !strings.Contains(name, "grid=") {
		name += " grid=" + gridText(g.Grid)
	}
	t.rows = append(t.rows, row{times: &g.Times, traced: g.Traced, rates: &g.Work.Rates, name: "  " + strings.TrimSpace(name)})
}

// UnattributedName is the name of the row for measured launches of which only the kernel is known.
const UnattributedName = "unattributed (launched before tracing, or launch-kind limit reached)"

// unattributed adds a row for the launches that the rows before do not include, unless those are all launches.
func (t *table) unattributed(left profile.Durations, all uint64, indent string) {
	if left.Count > 0 && left.Count < all {
		t.rows = append(t.rows, row{times: &left, name: indent + UnattributedName})
	}
}

// rest sums up the kinds that are not shown.
func (t *table) rest(groups []*Group) {
	sum, traced := &profile.Durations{}, 0
	for _, g := range groups {
		sum.Add(&g.Times)
		traced += g.Traced
	}
	t.rows = append(t.rows, row{times: sum, traced: traced, name: fmt.Sprintf("  %d more kinds of launches; --all shows them", len(groups))})
}

// others sums up the specialisations that are not shown.
func (t *table) others(list []*Specialisation) {
	sum, traced := &profile.Durations{}, 0
	for _, s := range list {
		sum.Add(&s.Times)
		traced += s.Traced
	}
	t.rows = append(t.rows, row{times: sum, traced: traced, name: fmt.Sprintf("%d more specialisations; --all shows them", len(list))})
}

// column is one of figures.
type column struct {
	head string
	keep int                 // columns with a low one are the first to go where the terminal is narrow
	cell func(r *row) string // "" where it means nothing
}

// columns are those that a row has something for.
func (t *table) columns() []column {
	unit, scale := grid.TimeUnit(t.kernel.Times.Average())
	totalUnit, totalScale := grid.TimeUnit(float64(t.kernel.Times.Nanos))
	all := []column{
		{"launches", 9, t.launches},
		{"total " + totalUnit, 6, timed(func(d *profile.Durations) float64 { return float64(d.Nanos) / totalScale })},
		{"share", 8, t.share},
		{"avg " + unit, 9, timed(func(d *profile.Durations) float64 { return d.Average() / scale })},
		{"min " + unit, 1, bound(func(d *profile.Durations) uint64 { return d.Least }, scale)},
		{"max " + unit, 2, bound(func(d *profile.Durations) uint64 { return d.Most }, scale)},
		{"GB/s", 5, worked(func(r *Rates) float64 { return r.BytesPerSecond / 1e9 })},
		{"TFLOP/s", 5, worked(func(r *Rates) float64 { return r.FlopsPerSecond / 1e12 })},
		{"roof", 7, roof},
		{"registers", 3, compiled(func(s *Specialisation) (int, bool) { return s.Registers, s.Registers > 0 })},
		{"shared", 4, compiled(func(s *Specialisation) (int, bool) { return s.Shared, s.Shared >= 0 })},
	}
	return slices.DeleteFunc(all, func(c column) bool {
		return !slices.ContainsFunc(t.rows, func(r row) bool {
			text := c.cell(&r)
			return text != "" && text != grid.Missing
		})
	})
}

// launches are those that were measured. Where others of the kernel were, those that were only traced are called that.
func (t *table) launches(r *row) string {
	switch {
	case r.times.Count > 0:
		return fmt.Sprint(r.times.Count)
	case t.kernel.Times.Count > 0:
		return fmt.Sprintf("%d traced", r.traced)
	}
	return fmt.Sprint(r.traced)
}

func (t *table) share(r *row) string {
	if all := t.kernel.Times.Nanos; all > 0 && r.times.Count > 0 {
		return percent(float64(r.times.Nanos) / float64(all))
	}
	return grid.Missing
}

func timed(figure func(*profile.Durations) float64) func(*row) string {
	return func(r *row) string {
		if r.times.Count == 0 {
			return grid.Missing
		}
		return grid.Fixed(figure(r.times))
	}
}

func bound(ns func(*profile.Durations) uint64, scale float64) func(*row) string {
	return func(r *row) string {
		if ns(r.times) == 0 {
			return grid.Missing
		}
		return grid.Fixed(float64(ns(r.times)) / scale)
	}
}

func worked(figure func(*Rates) float64) func(*row) string {
	return func(r *row) string {
		if r.rates == nil || figure(r.rates) == 0 {
			return ""
		}
		return grid.Fixed(figure(r.rates))
	}
}

func roof(r *row) string {
	if r.rates == nil || r.rates.Roof == 0 {
		return ""
	}
	return percent(r.rates.Roof) + " " + r.rates.Bound
}

func compiled(fact func(*Specialisation) (int, bool)) func(*row) string {
	return func(r *row) string {
		if r.compiled == nil {
			return ""
		}
		n, known := fact(r.compiled)
		if !known {
			return grid.Missing
		}
		return fmt.Sprint(n)
	}
}

// nameRoom is what names get before figures do: enough to tell specialisations apart.
const nameRoom = 38

// lines are the rows under their heads, with the columns that fit in a width; 0 has room for all.
func (t *table) lines(width int) []grid.Line {
	const heading = "specialisation, arguments"
	names := len(heading)
	for i := range t.rows {
		names = max(names, runewidth.StringWidth(t.rows[i].name))
	}
	columns, all := t.columns(), t.columns()
	for width > 0 && t.width(columns)+min(names, nameRoom) > width && len(columns) > 1 {
		least := 0
		for i := range columns {
			if columns[i].keep < columns[least].keep {
				least = i
			}
		}
		columns = slices.Delete(columns, least, least+1)
	}
	for _, c := range all {
		if !slices.ContainsFunc(columns, func(o column) bool { return o.head == c.head }) {
			t.dropped = append(t.dropped, c.head)
		}
	}
	head := grid.Line{Name: heading}
	for _, c := range columns {
		head.Cells = append(head.Cells, grid.Cell{Text: c.head})
	}
	lines := []grid.Line{head}
	for i := range t.rows {
		line := grid.Line{Name: term.Printable(t.rows[i].name)}
		for _, c := range columns {
			line.Cells = append(line.Cells, grid.Cell{Text: c.cell(&t.rows[i])})
		}
		lines = append(lines, line)
	}
	return lines
}

// width is what columns take, with the blanks behind them.
func (t *table) width(columns []column) (sum int) {
	for _, c := range columns {
		widest := len(c.head)
		for i := range t.rows {
			widest = max(widest, len(c.cell(&t.rows[i])))
		}
		sum += widest + 2
	}
	return sum
}
