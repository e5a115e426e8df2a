package joined

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/term"
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

const noCode = "the trace has no machine code of it: cubins lie in cubins/ next to the traces of proton run --trace, or where they were compiled"

var (
	bySource      = way{"lines", "", source.Print, source.PrintLines, (*Join).unsampled, source.Document}
	byInstruction = way{"instructions", noCode, source.PrintSASS, source.PrintInstructions, (*Join).unsampledCode, source.SASSDocument}
)

func (j *Join) print(w io.Writer, l source.Listing, by way) (notes []string, err error) {
	l.IR = j.IR()
	var dropped []string
	for i, k := range j.Kernels {
		if i > 0 {
			fmt.Fprintln(w)
		}
		columns, err := j.table(w, k, l.Terminal)
		if err != nil {
			return nil, err
		}
		for _, c := range columns {
			if !slices.Contains(dropped, c) {
				dropped = append(dropped, c)
			}
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
	if len(dropped) > 0 {
		notes = append(notes, "the table has no room for "+strings.Join(dropped, ", ")+"; a larger --width shows them")
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

// table prints how long the launches of a kernel took, and returns the columns that the terminal is too narrow for.
func (j *Join) table(w io.Writer, k *Kernel, terminal viewer.Terminal) (dropped []string, err error) {
	name := term.Printable(k.Name)
	if terminal.Color {
		name = "\x1b[1m" + name + grid.End
	}
	fmt.Fprintf(w, "%s: %s\n\n", name, j.summary(k))
	dots := ""
	if terminal.ASCII {
		dots = "~"
	}
	t := newTable(j, k, terminal.All)
	err = grid.Layout{Width: terminal.Width, Dots: dots}.Write(w, t.lines(terminal.Width))
	return t.dropped, err
}

// summary says in a line what there is of a kernel.
func (j *Join) summary(k *Kernel) string {
	var parts []string
	if k.Times.Count > 0 {
		parts = append(parts, fmt.Sprintf("%s in %s", launchesOf(k.Times.Count), duration(float64(k.Times.Nanos))))
		if j.Nanos > 0 {
			parts[0] += fmt.Sprintf(", %s of the GPU time", percent(float64(k.Times.Nanos)/float64(j.Nanos)))
			if j.options.Include != "" || j.options.Exclude != "" {
				parts[0] += " that the filters leave"
			}
		}
	} else if k.Traced > 0 {
		parts = append(parts, launchesOf(uint64(k.Traced))+" in the trace")
	}
	groups := 0
	for _, s := range k.Specialisations {
		groups += len(s.Groups) + s.Unlisted
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

func launchesOf(n uint64) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// duration is a time in the unit that fits.
func duration(ns float64) string {
	unit, scale := grid.TimeUnit(ns)
	return grid.Fixed(ns/scale) + " " + unit
}
