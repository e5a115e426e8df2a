package listing

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// Numbers of specialisations of a kernel, and of kinds of launches of each, that are shown without --all. Autotuners try dozens of
// configurations.
const (
	mostSpecialisations = 10
	mostGroups          = 10
)

// tables prints how long the launches of each kernel took, and returns the columns that the terminal is too narrow for.
func (p *printer) tables() (dropped []string, err error) {
	for i, k := range p.run.Kernels {
		if i > 0 {
			p.line("")
		}
		p.out.WriteString(p.Bold(term.Printable(k.Name)) + ": " + p.summary(k) + "\n\n")
		lines, left := newTable(p.run, k, p.All).lines(p.Width)
		if err := (grid.Layout{Width: p.Width, Dots: p.glyphs.Dots}).Write(p.out, lines); err != nil {
			return nil, err
		}
		for _, column := range left {
			if !slices.Contains(dropped, column) {
				dropped = append(dropped, column)
			}
		}
	}
	return dropped, nil
}

// summary says in a line how often and how long a kernel ran.
func (v *view) summary(k *kernels.Kernel) string {
	var parts []string
	if k.Times.Count > 0 {
		parts = append(parts, figures.Count(k.Times.Count, "launch")+" in "+figures.Time(k.Times.Nanos))
		if v.run.Nanos > 0 {
			parts[0] += ", " + figures.Share(float64(k.Times.Nanos)/float64(v.run.Nanos)) + " of the GPU time"
			if v.run.Filtered() {
				parts[0] += " that the filters leave"
			}
		}
	} else if k.Traced > 0 {
		parts = append(parts, figures.Count(k.Traced, "launch")+" in the trace")
	}
	groups := 0
	for _, s := range k.Specialisations {
		groups += len(s.Groups) + s.Unlisted
	}
	parts = append(parts, figures.Count(len(k.Specialisations), "specialisation"), figures.Count(groups, "kind")+" of launches")
	return strings.Join(parts, "; ")
}

// table is how long the launches of a kernel took: a row for each specialisation, below it one for each kind of its launches.
type table struct {
	kernel *kernels.Kernel
	rows   []tableRow
}

// tableRow is a row with its name.
type tableRow struct {
	kernels.Row
	name string
}

func newTable(r *kernels.Run, k *kernels.Kernel, all bool) *table {
	t := &table{kernel: k}
	specialisations, groups := mostSpecialisations, mostGroups
	if all {
		specialisations, groups = math.MaxInt-1, math.MaxInt-1
	}
	for _, row := range k.Rows(specialisations, groups) {
		t.rows = append(t.rows, tableRow{row, rowName(r, &row)})
	}
	return t
}

func rowName(r *kernels.Run, row *kernels.Row) string {
	name := kernels.UnattributedName
	switch s, g := row.Specialisation, row.Group; {
	case s != nil:
		if name = s.Label; !strings.Contains(name, "#"+kernels.ShortHash(s.Hash)) && s.Hash != "" {
			name += " #" + kernels.ShortHash(s.Hash)
		}
		if s.Compilation == nil && r.Traced() {
			name += " (not in the trace)"
		}
	case g != nil:
		if name = g.Label; len(g.Grid) > 0 && !strings.Contains(name, "grid=") {
			name += " grid=" + kernels.GridText(g.Grid)
		}
	case row.More > 0 && row.Kind:
		name = fmt.Sprintf("%d more kinds of launches; --all shows them", row.More)
	case row.More > 0:
		name = fmt.Sprintf("%d more specialisations; --all shows them", row.More)
	}
	if name = strings.TrimSpace(name); row.Kind {
		return "  " + name
	}
	return name
}

// column is a column of figures.
type column struct {
	head string
	keep int                      // on a narrow terminal columns with the lowest are left out first
	cell func(r *tableRow) string // "" where it means nothing
}

// columns are those that any row has a figure for.
func (t *table) columns() []column {
	unit := figures.Times.Largest(t.kernel.Times.Average() * 1e-9).Label
	totalUnit := figures.Times.Largest(float64(t.kernel.Times.Nanos) * 1e-9).Label
	scale, totalScale := figures.Nanos(unit), figures.Nanos(totalUnit)
	all := []column{
		{"launches", 9, t.launches},
		{"total " + totalUnit, 6, timed(func(d *profile.Durations) float64 { return float64(d.Nanos) / totalScale })},
		{"share", 8, t.share},
		{"avg " + unit, 9, timed(func(d *profile.Durations) float64 { return d.Average() / scale })},
		{"min " + unit, 1, bound(func(d *profile.Durations) uint64 { return d.Least }, scale)},
		{"max " + unit, 2, bound(func(d *profile.Durations) uint64 { return d.Most }, scale)},
		{"GB/s", 5, worked(func(r *kernels.Rates) float64 { return r.BytesPerSecond / 1e9 })},
		{"TFLOP/s", 5, worked(func(r *kernels.Rates) float64 { return r.FlopsPerSecond / 1e12 })},
		{"roof", 7, roof},
		{"registers", 3, compiled(func(s *kernels.Specialisation) (int, bool) { return s.Registers, s.Registers > 0 })},
		{"shared", 4, compiled(func(s *kernels.Specialisation) (int, bool) { return s.Shared, s.Shared >= 0 })},
	}
	return slices.DeleteFunc(all, func(c column) bool {
		return !slices.ContainsFunc(t.rows, func(r tableRow) bool {
			text := c.cell(&r)
			return text != "" && text != figures.Missing
		})
	})
}

// launches are the measured ones. If the kernel has any, launches that are only in the trace are called traced.
func (t *table) launches(r *tableRow) string {
	switch {
	case r.Times.Count > 0:
		return fmt.Sprint(r.Times.Count)
	case t.kernel.Times.Count > 0:
		return fmt.Sprintf("%d traced", r.Traced)
	}
	return fmt.Sprint(r.Traced)
}

func (t *table) share(r *tableRow) string {
	if all := t.kernel.Times.Nanos; all > 0 && r.Times.Count > 0 {
		return figures.Share(float64(r.Times.Nanos) / float64(all))
	}
	return figures.Missing
}

func timed(figure func(*profile.Durations) float64) func(*tableRow) string {
	return func(r *tableRow) string {
		if r.Times.Count == 0 {
			return figures.Missing
		}
		return figures.Number(figure(r.Times))
	}
}

func bound(ns func(*profile.Durations) uint64, scale float64) func(*tableRow) string {
	return func(r *tableRow) string {
		if ns(r.Times) == 0 {
			return figures.Missing
		}
		return figures.Number(float64(ns(r.Times)) / scale)
	}
}

func worked(figure func(*kernels.Rates) float64) func(*tableRow) string {
	return func(r *tableRow) string {
		if r.Rates == nil || figure(r.Rates) == 0 {
			return ""
		}
		return figures.Number(figure(r.Rates))
	}
}

func roof(r *tableRow) string {
	if r.Rates == nil || r.Rates.Roof == 0 {
		return ""
	}
	return figures.Share(r.Rates.Roof) + " " + r.Rates.Bound
}

func compiled(fact func(*kernels.Specialisation) (int, bool)) func(*tableRow) string {
	return func(r *tableRow) string {
		if r.Specialisation == nil {
			return ""
		}
		n, known := fact(r.Specialisation)
		if !known {
			return figures.Missing
		}
		return fmt.Sprint(n)
	}
}

// nameRoom is how many columns names get before any figure does: enough to distinguish specialisations.
const nameRoom = 38

// lines are the rows under their headings, and the columns that a width has no room for; 0 has room for all.
func (t *table) lines(width int) (lines []grid.Line, dropped []string) {
	const heading = "specialisation, arguments"
	names := len(heading)
	head, columns := grid.Line{Name: heading}, t.columns()
	var keep []int
	for _, c := range columns {
		head.Cells, keep = append(head.Cells, grid.Cell{Text: c.head}), append(keep, c.keep)
	}
	lines = append(lines, head)
	for i := range t.rows {
		names = max(names, grid.Columns(t.rows[i].name))
		line := grid.Line{Name: term.Printable(t.rows[i].name)}
		for _, c := range columns {
			line.Cells = append(line.Cells, grid.Cell{Text: c.cell(&t.rows[i])})
		}
		lines = append(lines, line)
	}
	for _, i := range (grid.Layout{Width: width}).SpareByRank(lines, min(names, nameRoom), keep) {
		dropped = append(dropped, columns[i].head)
	}
	return lines, dropped
}
