package joined

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/source"
)

// Print prints the kernels that were asked for: a table of their specialisations and launches, then their source, with the
// samples if there are any. It returns what the reader should know besides.
func (j *Join) Print(w io.Writer, l source.Listing) (notes []string, err error) {
	return j.print(w, l, bySource)
}

// PrintSASS prints the same with instructions in place of the source.
func (j *Join) PrintSASS(w io.Writer, l source.Listing) (notes []string, err error) {
	return j.print(w, l, byInstruction)
}

// way is how the code of kernels is shown.
type way struct {
	what      string // that is listed of a specialisation
	missing   string // why there may be nothing to list of a kernel; "" if that is said elsewhere
	sampled   func(io.Writer, *source.Samples, source.Listing) (notes []string, err error)
	bare      func(io.Writer, *source.Samples, source.Listing) (notes []string, err error)
	unsampled func(*Join, *Kernel, *Specialisation) *source.Samples // a specialisation as bare takes it; nil if it has nothing to show
	document  func(*source.Samples, source.Listing) any
}

const noCode = "the trace has no machine code of it: cubins lie in cubins/ beside the traces of proton run --trace, or where they were compiled"

var (
	bySource      = way{"lines", "", source.Print, source.PrintLines, (*Join).unsampled, source.Document}
	byInstruction = way{"instructions", noCode, source.PrintSASS, source.PrintInstructions, (*Join).unsampledCode, source.SASSDocument}
)

func (j *Join) print(w io.Writer, l source.Listing, by way) (notes []string, err error) {
	l.IR = j.IR()
	for i, k := range j.Kernels {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := j.table(w, k, l.Paper); err != nil {
			return nil, err
		}
	}
	j.AddSources(l.Files)
	if j.options.Samples != nil {
		if len(j.Kernels) > 0 {
			fmt.Fprintln(w)
		}
		notes, err = by.sampled(w, j.options.Samples, l)
	} else {
		notes, err = j.bare(w, l, by)
		j.others(w)
	}
	return append(slices.Clone(j.Notes), notes...), err
}

// others names the kernels that were not asked for.
func (j *Join) others(w io.Writer) {
	if len(j.Others) > 0 {
		fmt.Fprintf(w, "\nnot shown: %s\n", term.Printable(source.FirstNames(j.Others, 5, kernelName)))
	}
}

// AddSources tells the texts that the trace has.
func (j *Join) AddSources(files *source.Files) {
	if files == nil {
		return
	}
	told := map[string]bool{}
	tell := func(file string, first int, text string) {
		if at := fmt.Sprintf("%s:%d", file, first); file != "" && text != "" && !told[at] {
			told[at] = true
			files.Add(file, first, text)
		}
	}
	for _, k := range j.Kernels {
		for _, s := range k.Specialisations {
			if s.Compilation == nil {
				continue
			}
			if p := s.Compilation.Python; p != nil {
				tell(p.File, p.Start, p.Code)
			}
			if x := s.Compilation.Extra; x != nil {
				for _, d := range x.Dependencies {
					tell(d.File, d.Line, d.Code)
				}
			}
		}
	}
}

// bare prints the code of the specialisation that took most time, of each kernel, without samples.
func (j *Join) bare(w io.Writer, l source.Listing, by way) (notes []string, err error) {
	for _, k := range j.Kernels {
		shown := 0
		for i, s := range k.Specialisations {
			if shown > 0 && !l.All {
				fmt.Fprintf(w, "\n%s more; --all shows the %s of each\n", count(len(k.Specialisations)-i, "specialisation"), by.what)
				break
			}
			samples := by.unsampled(j, k, s)
			if samples == nil {
				continue
			}
			shown++
			if len(k.Specialisations) > 1 {
				fmt.Fprintf(w, "\n%s [%s]\n", term.Printable(k.Name), term.Printable(s.Label))
			}
			more, err := by.bare(w, samples, l)
			if err != nil {
				return nil, err
			}
			notes = append(notes, more...)
		}
		if shown == 0 && by.missing != "" {
			notes = append(notes, k.Name+": "+by.missing)
		}
	}
	return notes, nil
}

// unsampled is the source of a specialisation as a listing takes it: the lines that something became of. nil if there are
// none.
func (j *Join) unsampled(k *Kernel, s *Specialisation) *source.Samples {
	x := s.Compilation
	if x == nil || x.Python == nil {
		return nil
	}
	samples := source.Bare(k.Name)
	bare := samples.Kernels[0]
	j.code.matches[bare] = match{compilation: x, how: "by its hash"}
	listing := ir{j}.listing(bare)
	var numbers []int
	for at := range listing.lines {
		if at.file == x.Python.File {
			numbers = append(numbers, at.line)
		}
	}
	slices.Sort(numbers)
	bare.SetLines(x.Python.File, numbers)
	if len(numbers) == 0 {
		return nil
	}
	return samples
}

// unsampledCode is the machine code of a specialisation as a listing takes it; nil if the trace has neither the binary nor a
// listing.
func (j *Join) unsampledCode(k *Kernel, s *Specialisation) *source.Samples {
	x := s.Compilation
	if x == nil {
		return nil
	}
	samples := source.Bare(k.Name)
	bare := samples.Kernels[0]
	j.code.matches[bare] = match{compilation: x, how: "by its hash"}
	module := j.code.machineCode(bare, x)
	if module != nil {
		bare.Function.Module = j.code.binary(x).image
	} else if listing, _ := source.Recorded(x.Texts[sass], k.Name); listing == nil {
		return nil
	}
	return samples
}

// table prints how long the launches of a kernel took.
func (j *Join) table(w io.Writer, k *Kernel, paper viewer.Paper) error {
	bold := func(text string) string {
		if paper.Color {
			return "\x1b[1m" + text + grid.End
		}
		return text
	}
	fmt.Fprintf(w, "%s: %s\n\n", bold(term.Printable(k.Name)), j.summary(k))
	t := newTable(j, k)
	t.row(t.head())
	for _, s := range k.Specialisations {
		t.specialisation(s)
		for i, g := range s.Groups {
			if i == mostGroups && !paper.All && len(s.Groups) > mostGroups+1 {
				t.rest(s.Groups[i:])
				break
			}
			t.group(g)
		}
		t.untold(s.Untold(), s.Times.Count, "  ")
	}
	t.untold(k.Untold(), k.Times.Count, "")
	dots := ""
	if paper.ASCII {
		dots = "~"
	}
	return grid.Paper{Width: paper.Width, Dots: dots}.Write(w, t.lines)
}

// mostGroups of a specialisation are shown; --all shows all.
const mostGroups = 10

// summary says in a line what there is of a kernel.
func (j *Join) summary(k *Kernel) string {
	var parts []string
	if k.Times.Count > 0 {
		parts = append(parts, fmt.Sprintf("%d launches in %s", k.Times.Count, duration(float64(k.Times.Nanos))))
		if j.Nanos > 0 {
			parts[0] += fmt.Sprintf(", %s of the GPU time", percent(float64(k.Times.Nanos)/float64(j.Nanos)))
		}
	} else if k.Traced > 0 {
		parts = append(parts, fmt.Sprintf("%d launches in the trace", k.Traced))
	}
	groups := 0
	for _, s := range k.Specialisations {
		groups += len(s.Groups)
	}
	parts = append(parts, count(len(k.Specialisations), "specialisation"), count(groups, "kind")+" of launches")
	return strings.Join(parts, "; ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// duration is a time in the unit that fits.
func duration(ns float64) string {
	unit, scale := grid.TimeUnit(ns)
	return grid.Fixed(ns/scale) + " " + unit
}

// table is the rows of a kernel.
type table struct {
	join   *Join
	kernel *Kernel
	lines  []grid.Line

	unit                  string // of single launches
	scale                 float64
	totalUnit             string
	totalScale            float64
	timed, bytes, flops   bool
	roof, registers, shrd bool
}

func newTable(j *Join, k *Kernel) *table {
	t := &table{join: j, kernel: k}
	t.unit, t.scale = grid.TimeUnit(k.Times.Average())
	t.totalUnit, t.totalScale = grid.TimeUnit(float64(k.Times.Nanos))
	for _, s := range k.Specialisations {
		t.timed = t.timed || s.Times.Count > 0
		t.registers, t.shrd = t.registers || s.Registers > 0, t.shrd || s.Shared >= 0
		for _, g := range s.Groups {
			t.bytes = t.bytes || g.Work.BytesPerSecond > 0
			t.flops = t.flops || g.Work.FlopsPerSecond > 0
			t.roof = t.roof || g.Work.Roof > 0
		}
	}
	return t
}

func (t *table) row(cells []string, name string) {
	t.lines = append(t.lines, grid.Line{Cells: grid.Plain(cells...), Name: name})
}

func (t *table) head() ([]string, string) {
	cells := []string{"launches"}
	if t.timed {
		cells = append(cells, "total "+t.totalUnit, "share", "avg "+t.unit, "min "+t.unit, "max "+t.unit)
	}
	if t.bytes {
		cells = append(cells, "GB/s")
	}
	if t.flops {
		cells = append(cells, "TFLOP/s")
	}
	if t.roof {
		cells = append(cells, "roof")
	}
	if t.registers {
		cells = append(cells, "registers")
	}
	if t.shrd {
		cells = append(cells, "shared")
	}
	return cells, "specialisation, arguments"
}

// times are the cells that every row has.
func (t *table) times(of *profile.Durations, traced int) []string {
	if of.Count == 0 {
		cells := []string{fmt.Sprint(traced)}
		if t.timed {
			cells = append(cells, grid.Missing, grid.Missing, grid.Missing, grid.Missing, grid.Missing)
		}
		return cells
	}
	cells, share := []string{fmt.Sprint(of.Count)}, grid.Missing
	if all := t.kernel.Times.Nanos; all > 0 {
		share = percent(float64(of.Nanos) / float64(all))
	}
	bound := func(ns uint64) string {
		if ns == 0 {
			return grid.Missing
		}
		return grid.Fixed(float64(ns) / t.scale)
	}
	return append(cells, grid.Fixed(float64(of.Nanos)/t.totalScale), share, grid.Fixed(of.Average()/t.scale), bound(of.Least), bound(of.Most))
}

// work are the cells of what launches did.
func (t *table) work(w Work) (cells []string) {
	figure := func(shown bool, have bool, text string) {
		switch {
		case shown && have:
			cells = append(cells, text)
		case shown:
			cells = append(cells, "")
		}
	}
	figure(t.bytes, w.BytesPerSecond > 0, grid.Fixed(w.BytesPerSecond/1e9))
	figure(t.flops, w.FlopsPerSecond > 0, grid.Fixed(w.FlopsPerSecond/1e12))
	figure(t.roof, w.Roof > 0, percent(w.Roof)+" "+w.Bound)
	return cells
}

func (t *table) specialisation(s *Specialisation) {
	cells := append(t.times(&s.Times, s.Traced), t.work(Work{})...)
	if t.registers {
		cells = append(cells, known(s.Registers, s.Registers > 0))
	}
	if t.shrd {
		cells = append(cells, known(s.Shared, s.Shared >= 0))
	}
	name := s.Label
	if !strings.Contains(name, "#"+short(s.Hash)) && s.Hash != "" {
		name += " #" + short(s.Hash)
	}
	if s.Compilation == nil && t.join.options.Trace != nil {
		name += " (not in the trace)"
	}
	t.row(cells, term.Printable(name))
}

func known(n int, is bool) string {
	if !is {
		return grid.Missing
	}
	return fmt.Sprint(n)
}

func (t *table) group(g *Group) {
	cells := append(t.times(&g.Times, g.Traced), t.work(g.Work)...)
	name := g.Label
	if len(g.Grid) > 0 && !strings.Contains(name, "grid=") {
		name += " grid=" + gridText(g.Grid)
	}
	t.row(cells, "  "+term.Printable(strings.TrimSpace(name)))
}

// NotToldApart names launches that were measured and of which only the kernel is known.
const NotToldApart = "not told apart: from before the trace, or without a number of their own"

// untold is a row for what the rows before leave of a sum, unless that is all of it.
func (t *table) untold(left profile.Durations, all uint64, indent string) {
	if left.Count > 0 && left.Count < all {
		t.row(t.times(&left, 0), indent+NotToldApart)
	}
}

// rest sums up the kinds that are not shown.
func (t *table) rest(groups []*Group) {
	var sum profile.Durations
	traced := 0
	for _, g := range groups {
		sum.Add(&g.Times)
		traced += g.Traced
	}
	t.row(t.times(&sum, traced), fmt.Sprintf("  %d more kinds of launches; --all shows them", len(groups)))
}
