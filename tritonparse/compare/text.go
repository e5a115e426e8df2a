package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse/backend"
)

func splitLines(text string) []string { return strings.Split(text, "\n") }

// TextOptions says how much is printed.
type TextOptions struct {
	Stages []string // whose differing lines are printed; nil for the first that differs
	Most   int      // lines of each representation, 0 for all
}

// WriteText prints a difference for people.
func (d *Diff) WriteText(w io.Writer, o TextOptions) error {
	p := &printer{w: w}
	p.printf("%s\n", d.title())
	switch {
	case d.Same && len(d.differing()) > 0:
		p.printf("\nnothing of the code differs but the names of values and where the kernel is\n")
	case d.Same:
		p.printf("\nnothing differs but the names of values and where the kernel is\n")
	}
	p.table(d.optionRows())
	p.table(d.resourceRows())
	p.table(d.timeRows())
	p.table(d.stageRows())
	p.python(d.Python)
	p.table(d.lineRows())
	p.tensors(d)
	for i := range d.Stages {
		s := &d.Stages[i]
		first := o.Stages == nil && !slices.ContainsFunc(d.Stages[:i], func(s Stage) bool { return len(s.Hunks) > 0 })
		if first || slices.Contains(o.Stages, s.Name) {
			p.hunks(s, o.Most)
		}
	}
	for _, n := range d.Notes {
		p.printf("\nnote: %s\n", term.Printable(n))
	}
	return p.err
}

func (d *Diff) title() string {
	b := shortHash(d.B.Hash)
	if d.A.Kernel != d.B.Kernel {
		b = term.Printable(d.B.Kernel) + " " + b
	}
	title := fmt.Sprintf("%s %s → %s", term.Printable(d.A.Kernel), shortHash(d.A.Hash), b)
	if d.A.Trace != d.B.Trace {
		title += fmt.Sprintf("\n%s → %s", term.Printable(d.A.Trace), term.Printable(d.B.Trace))
	}
	return title
}

func shortHash(hash string) string { return term.Printable(hash[:min(12, len(hash))]) }

func (d *Diff) optionRows() [][]string {
	rows := [][]string{{"OPTION", "A", "B", ""}}
	for _, c := range d.Options {
		if c.Name == "shared" { // is among the resources
			continue
		}
		rows = append(rows, []string{c.Name, briefJSON(c.A), briefJSON(c.B), jsonChange(c)})
	}
	return rows
}

// brief is how a change is said in a line.
func (c *Change) brief() string {
	return fmt.Sprintf("%s: %s → %s", c.Name, briefJSON(c.A), briefJSON(c.B))
}

func jsonChange(c Change) string {
	a, errA := strconv.ParseFloat(string(c.A), 64)
	b, errB := strconv.ParseFloat(string(c.B), 64)
	if errA != nil || errB != nil {
		return ""
	}
	return percent(a, b)
}

func briefJSON(v []byte) string {
	const most = 40
	if v == nil {
		return "-"
	}
	s := string(v)
	if v[0] == '"' {
		s = jsontext.Text(v)
	}
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

func (d *Diff) resourceRows() [][]string {
	a, b := &d.A.Resources, &d.B.Resources
	var rows [][]string
	add := func(name string, x, y *int) {
		if x == nil && y == nil || x != nil && y != nil && *x == 0 && *y == 0 {
			return
		}
		change := ""
		if x != nil && y != nil && *x != *y {
			change = percent(float64(*x), float64(*y))
			if change == "" {
				change = fmt.Sprintf("%+d", *y-*x)
			}
		}
		rows = append(rows, []string{name, number(x), number(y), change})
	}
	add("registers per thread", a.Registers, b.Registers)
	add("scalar registers per warp", a.Scalars, b.Scalars)
	add("shared memory, bytes", a.Shared, b.Shared)
	add("local memory, bytes", a.Frame, b.Frame)
	add("spill loads", a.LocalLoads, b.LocalLoads)
	add("spill stores", a.LocalStores, b.LocalStores)
	add("machine code, bytes", a.CodeBytes, b.CodeBytes)
	if x, y := a.Occupancy, b.Occupancy; x != nil && y != nil {
		rows = append(rows, []string{"warps at a time", fmt.Sprintf("%d of %d", x.Warps, x.MaxWarps), fmt.Sprintf("%d of %d", y.Warps, y.MaxWarps), equalOr(x.Warps == y.Warps, percent(float64(x.Warps), float64(y.Warps)))},
			[]string{"limited by", strings.Join(x.Limits, ", "), strings.Join(y.Limits, ", "), ""})
	}
	if len(rows) == 0 {
		return nil
	}
	return append([][]string{{"RESOURCE", "A", "B", ""}}, rows...)
}

func equalOr(equal bool, s string) string {
	if equal {
		return ""
	}
	return s
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

func (d *Diff) timeRows() [][]string {
	a, b := d.A.Time, d.B.Time
	if a == nil && b == nil {
		return nil
	}
	count := func(t *Time) string {
		if t == nil {
			return "-"
		}
		return strconv.FormatUint(t.Launches, 10)
	}
	change := ""
	if a != nil && b != nil {
		change = percent(a.Mean(), b.Mean())
	}
	rows := [][]string{{"TIME", "A", "B", ""}, {"launches in the profile", count(a), count(b), ""}, {"each, on average", duration(a.Mean()), duration(b.Mean()), change}}
	if a != nil && a.ByName || b != nil && b.ByName {
		rows = append(rows, []string{"of all kernels of the name", "", "", ""})
	}
	return rows
}

func duration(ns float64) string {
	if ns == 0 {
		return "-"
	}
	d := time.Duration(math.Round(ns))
	switch {
	case d >= 10*time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	case d >= 10*time.Microsecond:
		d = d.Round(10 * time.Nanosecond)
	}
	return d.String()
}

func (d *Diff) stageRows() [][]string {
	if len(d.Stages) == 0 {
		return nil
	}
	rows := [][]string{{"CODE", "LINES A", "LINES B", "EQUAL", "OPERATIONS"}}
	for i := range d.Stages {
		s := &d.Stages[i]
		equal, operations := fmt.Sprintf("%.0f%%", math.Floor(100*s.Similarity())), briefCounts(s.Operations)
		switch {
		case s.only != "":
			equal, operations = "-", "only in "+s.only
		case s.Renamed:
			operations = "the same; values have other names"
		case s.Same():
			operations = "the same"
		}
		rows = append(rows, []string{s.Name, strconv.Itoa(s.LinesA), strconv.Itoa(s.LinesB), equal, operations})
	}
	return rows
}

// briefCounts shows the largest changes.
func briefCounts(counts []Count) string {
	const most = 5
	var parts []string
	for _, c := range counts[:min(most, len(counts))] {
		parts = append(parts, fmt.Sprintf("%s %d→%d", c.Name, c.A, c.B))
	}
	if len(counts) > most {
		parts = append(parts, fmt.Sprintf("and %d more", len(counts)-most))
	}
	if len(parts) == 0 {
		return "as many of each; operands or order differ"
	}
	return strings.Join(parts, ", ")
}

func (d *Diff) lineRows() [][]string {
	if len(d.Lines) == 0 {
		return nil
	}
	rows := [][]string{{"LINE"}}
	for _, s := range d.Stages {
		rows[0] = append(rows[0], strings.ToUpper(s.Name))
	}
	rows[0] = append(rows[0], "PYTHON")
	for i := range d.Lines {
		l := &d.Lines[i]
		where := fmt.Sprintf("+%d", l.Offset)
		switch {
		case l.LineA == 0:
			where += " (B)"
		case l.LineB == 0:
			where += " (A)"
		}
		row := []string{where}
		for _, s := range d.Stages {
			a, b := l.A[s.Name], l.B[s.Name]
			switch {
			case a == b && a == 0:
				row = append(row, "-")
			case a == b:
				row = append(row, strconv.Itoa(a))
			default:
				row = append(row, fmt.Sprintf("%d→%d", a, b))
			}
		}
		rows = append(rows, append(row, l.Code))
	}
	return rows
}

// resourceChanges are the resources that are not the same.
func (d *Diff) resourceChanges() [][]string {
	return slices.DeleteFunc(d.resourceRows(), func(r []string) bool { return r[3] == "" })
}

// Highlights say in a line each what matters most.
func (d *Diff) Highlights() []string {
	list := []string{}
	for i := range d.Options {
		list = append(list, d.Options[i].brief())
	}
	for _, r := range d.resourceChanges() {
		if r[0] != "shared memory, bytes" { // is among the options
			list = append(list, fmt.Sprintf("%s: %s → %s", r[0], r[1], r[2]))
		}
	}
	for i := range d.Stages {
		s := &d.Stages[i]
		switch {
		case s.only != "" || s.Same():
		case s.LinesA != s.LinesB:
			list = append(list, stageHighlight(s.Name, s.LinesA, s.LinesB))
		default:
			list = append(list, fmt.Sprintf("%s: %d of %d lines differ", strings.ToUpper(s.Name), s.LinesA-s.Equal, s.LinesA))
		}
	}
	if d.Python != nil && !d.Python.Same() {
		list = append(list, fmt.Sprintf("Python source: %.0f%% the same", math.Floor(100*d.Python.Similarity())))
	}
	for _, t := range d.differing() {
		list = append(list, t.highlight())
	}
	return list
}

func stageHighlight(name string, a, b int) string {
	return fmt.Sprintf("%s: %d → %d lines", strings.ToUpper(name), a, b)
}

// WriteText prints the matches of two traces for people.
func (d *TraceDiff) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.printf("%s → %s\n", term.Printable(d.TraceA), term.Printable(d.TraceB))
	timed := slices.ContainsFunc(d.Matches, func(m Match) bool { return m.A.Time != nil || m.B.Time != nil })
	recorded := slices.ContainsFunc(d.Matches, func(m Match) bool { return len(m.Tensors) > 0 })
	rows := [][]string{{"", "KERNEL", "A", "B", "LAUNCHES", "MATCHED BY", "PYTHON", "LEAST EQUAL", "OPTIONS"}}
	if recorded {
		rows[0] = slices.Insert(rows[0], 8, "TENSORS")
	}
	if timed {
		rows[0] = slices.Insert(rows[0], 5, "TIME", "")
	}
	for i := range d.Matches {
		rows = append(rows, d.Matches[i].row(timed, recorded))
	}
	p.table(rows)
	p.differingTensors(d.Matches)
	for _, only := range []struct {
		name  string
		sides []Side
	}{{"A", d.OnlyA}, {"B", d.OnlyB}} {
		if len(only.sides) == 0 {
			continue
		}
		rows := [][]string{{"ONLY IN " + only.name, "", "LAUNCHES"}}
		for _, s := range only.sides {
			rows = append(rows, []string{s.Kernel, shortHash(s.Hash), strconv.Itoa(s.Launches)})
		}
		p.table(rows)
	}
	p.printf("\n%d identical, %d similar, %d different; %d only in A, %d only in B\n", d.Counts["identical"], d.Counts["similar"], d.Counts["different"], len(d.OnlyA), len(d.OnlyB))
	return p.err
}

func (m *Match) row(timed, recorded bool) []string {
	mark := map[string]string{"identical": "=", "similar": "~", "different": "!"}[m.Status]
	kernel := m.A.Kernel
	if m.B.Kernel != kernel {
		kernel += " → " + m.B.Kernel
	}
	least := "-"
	worst := 2.0
	for _, stage := range backend.MappedStages() {
		if s, ok := m.Stages[stage.Name]; ok && s < worst {
			worst = s
			least = fmt.Sprintf("%s %.0f%%", stage.Name, math.Floor(100*s))
		}
	}
	if worst == 1 {
		least = "all"
	}
	var options []string
	for i := range m.Options {
		options = append(options, m.Options[i].brief())
	}
	const most = 3
	if len(options) > most {
		options = append(options[:most], fmt.Sprintf("and %d more", len(options)-most))
	}
	row := []string{mark, kernel, shortHash(m.A.Hash), shortHash(m.B.Hash), fmt.Sprintf("%d → %d", m.A.Launches, m.B.Launches), m.How, fmt.Sprintf("%.0f%%", math.Floor(100*m.Python)), least, strings.Join(options, ", ")}
	if recorded {
		row = slices.Insert(row, 8, m.briefStatuses())
	}
	if timed {
		change := ""
		if m.A.Time != nil && m.B.Time != nil {
			change = percent(m.A.Time.Mean(), m.B.Time.Mean())
		}
		row = slices.Insert(row, 5, fmt.Sprintf("%s → %s", duration(m.A.Time.Mean()), duration(m.B.Time.Mean())), change)
	}
	return row
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table prints rows behind an empty line.
func (p *printer) table(rows [][]string) {
	if len(rows) < 2 || p.err != nil {
		return
	}
	p.printf("\n")
	var b strings.Builder
	t := term.NewTable(&b)
	for _, r := range rows {
		t.Texts(r)
	}
	if err := t.Flush(); err != nil {
		p.err = err
	}
	for _, l := range strings.Split(strings.TrimRight(b.String(), "\n"), "\n") {
		p.printf("%s\n", strings.TrimRight(l, " "))
	}
}

func (p *printer) python(s *Stage) {
	if s == nil {
		return
	}
	if s.Same() {
		p.printf("\nPython source: the same\n")
		return
	}
	p.hunks(s, 0)
}

func (p *printer) hunks(s *Stage, most int) {
	if len(s.Hunks) == 0 {
		return
	}
	p.printf("\n%s, lines of A and of B:\n", s.Name)
	n, all := 0, 0
	for _, h := range s.Hunks {
		all += len(h.Lines)
	}
	for i, h := range s.Hunks {
		if i > 0 {
			p.printf("  ⋮\n")
		}
		for _, l := range h.Lines {
			if n++; most > 0 && n > most {
				p.printf("  … %d more lines; --lines 0 prints all\n", all-most)
				return
			}
			p.printf("%s\n", strings.TrimRight(fmt.Sprintf("%5s %5s %s %s", lineNumber(l.A), lineNumber(l.B), l.Mark, term.Printable(strings.ReplaceAll(l.Text, "\t", "  "))), " "))
		}
	}
}

func lineNumber(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
