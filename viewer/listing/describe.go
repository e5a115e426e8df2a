package listing

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/explain"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// view is what every printer needs of a run: its samples, how to show them, and the notes that were made meanwhile.
type view struct {
	Options
	run    *kernels.Run
	s      *kernels.Samples // those of run; of a run without samples a stand-in
	old    *kernels.Files   // source texts of A, where two runs are compared; run is then B
	glyphs *grid.Glyphs
	notes  []string // each once
	hint   func(*kernels.Function) string
}

func newView(r *kernels.Run, s *kernels.Samples, o Options) *view {
	v := &view{Options: o, run: r, s: s, glyphs: grid.For(o.ASCII)}
	if s == nil {
		v.s = kernels.Bare()
	}
	return v
}

// advice is a sentence on where a kernel's time goes; "" if the rules of explain say nothing.
func (v *view) advice(f *kernels.Function) string {
	const fewest = 100 // of which a share of one fifth has an error of less than a tenth of all samples
	if f.Did.Instructions > 0 && v.s.Counted() {
		return v.wasted(f)
	}
	if f.Samples > 0 && f.Samples < fewest {
		return figures.Plural(f.Samples, "sample is", "samples are") + " too few to say where the time goes; run longer, or sample more often (interval=)"
	}
	if f.Samples == 0 { // the kernel is shown for its lines or its IR
		return ""
	}
	if v.hint == nil {
		v.hint = explain.Hints(v.run)
	}
	return v.hint(f)
}

// wasted is a sentence on the line that moves most that need not be; "" if that is little.
func (v *view) wasted(f *kernels.Function) string {
	const much = 1.2 // times what would do
	sectors, passes := f.Did.Wasted()
	ofLine := func(l *kernels.Line) uint64 { n, _ := l.Did.Wasted(); return n }
	says := fmt.Sprintf("warps move %s sectors of global memory for each that would do: have the threads of a warp read and write neighbouring bytes", kernels.Times(f.Did.Sectors, f.Did.IdealSectors))
	if passes > sectors {
		ofLine = func(l *kernels.Line) uint64 { _, n := l.Did.Wasted(); return n }
		says = fmt.Sprintf("warps make %s passes over shared memory for each that would do: change the layout, so that the threads of a warp use different banks", kernels.Times(f.Did.Passes, f.Did.IdealPasses))
	}
	if sectors == 0 && passes == 0 || float64(max(sectors, passes)) < (much-1)*float64(max(f.Did.IdealSectors, f.Did.IdealPasses)) {
		return ""
	}
	most := slices.MaxFunc(append([]*kernels.Line{{}}, f.Lines...), func(a, b *kernels.Line) int { return cmp.Compare(ofLine(a), ofLine(b)) })
	if ofLine(most) > 0 {
		says += fmt.Sprintf(" (most at %s:%d)", term.Printable(path.Base(most.File)), most.Number)
	}
	return says
}

func (v *view) note(text string) {
	if !slices.Contains(v.notes, text) {
		v.notes = append(v.notes, text)
	}
}

// bare is a specialisation as a function without samples; nil if there is nothing to list.
func (v *view) bare(k *kernels.Kernel, s *kernels.Specialisation) *kernels.Function {
	if v.Instructions {
		return v.run.UnsampledCode(k, s)
	}
	return v.run.UnsampledLines(k, s)
}

// found says where a file is, and adds a note if it is not what was compiled. last is the number of the last line with samples.
func (v *view) found(file string, last int) string {
	text, shown := v.run.Files.Text(file), term.Printable(file)
	switch {
	case text.Err != nil:
		v.note(fmt.Sprintf("no text of %s; if it was moved, say where: --source-path OLD=NEW", shown))
		return shown + " (not found)"
	case text.Kept && text.Missing:
		v.note(fmt.Sprintf("%s is not here: its lines are those that the profile kept", shown))
	case text.Kept:
		v.note(fmt.Sprintf("%s differs from the file that was profiled: its lines are those that the profile kept", shown))
	case text.Edited:
		v.note(fmt.Sprintf("%s was changed between compilations; its text is that of the compilation with most time", shown))
	case text.Changed:
		v.note(fmt.Sprintf("%s is newer than the profile: its lines may have moved since", term.Printable(text.Path)))
	case last > text.Lines():
		v.note(fmt.Sprintf("%s has %s, and the profile has samples in line %d: it is not the file that was compiled", term.Printable(text.Path), figures.Count(text.Lines(), "line"), last))
	}
	if text.Path != file {
		return shown + " (found at " + term.Printable(text.Path) + ")"
	}
	return shown
}

// textOf is the text that has a line.
func (v *view) textOf(l *kernels.Line) *kernels.Text {
	if l.Gone {
		return v.old.Text(l.OldFile)
	}
	return v.run.Files.Text(l.File)
}

// text is the text of a line, "" if it was not found.
func (v *view) text(l *kernels.Line) string {
	line, _ := v.textOf(l).Line(l.Number)
	return printable(line)
}

// lastNumber is the number of the last of some lines.
func lastNumber(lines []*kernels.Line) int { return lines[len(lines)-1].Place() }

// instructionsOf finds the text of a function's instructions, and adds a note if that fails.
func (v *view) instructionsOf(f *kernels.Function) *kernels.Instructions {
	i, err := v.run.Instructions(f)
	if err != nil {
		v.note(err.Error())
	}
	return i
}

// mostContext bounds the lines around a line, which a reader may ask for without limit.
const mostContext = 1 << 20

// shortestInstruction is the size in bytes by which neighbours are counted where instructions differ in size.
const shortestInstruction = 4

// nearHot returns a function that reports whether an instruction is shown: it, or one within v.Context instructions, has at
// least the share cold of all samples or half the samples of the hottest instruction. A function without samples shows all.
func (v *view) nearHot(f *kernels.Function) func(offset uint64) bool {
	hottest := uint64(0)
	for i := range f.PCs {
		hottest = max(hottest, f.PCs[i].Samples)
	}
	reach := uint64(min(v.Context, mostContext)) * max(f.Vendor.Code.Instruction, shortestInstruction)
	return func(offset uint64) bool {
		if v.All || f.Samples == 0 {
			return true
		}
		from, _ := slices.BinarySearchFunc(f.PCs, offset-min(offset, reach), func(pc kernels.Instruction, offset uint64) int {
			if pc.Offset < offset {
				return -1
			}
			return 1
		})
		for i := from; i < len(f.PCs) && f.PCs[i].Offset-min(offset, f.PCs[i].Offset) <= reach; i++ {
			if f.PCs[i].Share(f.Samples) >= cold || 2*f.PCs[i].Samples >= hottest {
				return true
			}
		}
		return false
	}
}

// callee names an inlined function, with its file.
func (v *view) callee(f *kernels.Function, l *kernels.Line) string {
	file := term.Printable(path.Base(l.File))
	name := l.Func
	if name == "" || name == f.Vendor.Code.SourceName(f.Symbol.Name) { // Triton's compiler gives what it inlines the kernel's name
		name = enclosing(v.textOf(l), l.Number)
	}
	if name == "" {
		return file
	}
	return v.s.Label(name) + " in " + file
}

var definition = regexp.MustCompile(`^( *)def +(\w+)`)

// enclosing is the Python function that a line is in; "" if there is none.
func enclosing(text *kernels.Text, number int) string {
	line, found := text.Line(number)
	if !found {
		return ""
	}
	indent := len(leading(line))
	for n := number; n > 0 && n > number-1000; n-- {
		line, _ := text.Line(n)
		if m := definition.FindStringSubmatch(line); m != nil && (len(m[1]) < indent || n == number) {
			return m[2]
		}
	}
	return ""
}

// where writes the places of an instruction: the function's own line, then the lines inlined there.
func (v *view) where(frames []profile.SourceFrame) string {
	var parts []string
	for _, f := range slices.Backward(frames) {
		if len(parts) == 4 && len(frames) > 5 {
			parts = append(parts, v.glyphs.Gap)
			f = frames[0]
		}
		parts = append(parts, fileLine(f.File, f.Line))
		if len(parts) == 6 {
			break
		}
	}
	return strings.Join(parts, " > ")
}

func fileLine(file string, line int) string {
	return fmt.Sprintf("%s:%d", term.Printable(path.Base(file)), line)
}

// pathText names a call path.
func pathText(at kernels.Path) string {
	var names []string
	for _, name := range at.Frames {
		names = append(names, term.Printable(kernels.FrameName(name)))
	}
	if len(names) == 0 {
		return "outside of all scopes"
	}
	return "called from " + strings.Join(names, " > ")
}

// facts describe a function's code, with what the trace knows of its compilation.
func facts(f *kernels.Function) []string { return append(codeFacts(f), f.Compiled().Facts()...) }

// codeFacts describe a function's code: architecture, registers, memory, module.
func codeFacts(f *kernels.Function) []string {
	var facts []string
	s := f.Symbol
	if s.Arch != "" {
		size := figures.Count(s.Size, "byte")
		if each := f.Vendor.Code.Instruction; each > 0 {
			size = figures.Count(s.Size/each, "instruction")
		}
		parts := []string{term.Printable(f.Vendor.ArchPrefix + s.Arch), size, figures.Count(s.Registers, "register")}
		if s.Shared > 0 {
			parts = append(parts, figures.Count(s.Shared, "byte")+" of static shared memory")
		}
		if s.Frame > 0 || s.LocalLoads+s.LocalStores > 0 {
			parts = append(parts, fmt.Sprintf("%s of local memory per thread (%s, %s: register spills are the usual cause)",
				figures.Count(s.Frame, "byte"), figures.Count(s.LocalLoads, "load"), figures.Count(s.LocalStores, "store")))
		} else {
			parts = append(parts, "no local memory")
		}
		facts = append(facts, strings.Join(parts, ", "))
	}
	if f.Variants > 0 && s.Module != "" {
		facts = append(facts, fmt.Sprintf("module %s; compiled %s, for different arguments", term.Printable(s.Module), figures.Count(f.Variants+1, "time")))
	}
	return facts
}

// mix lists the most frequent stall reasons with their shares of the samples.
func mix(s *kernels.Samples, c kernels.Counts, most int) string {
	var parts []string
	for i, stall := range s.Waits(c) {
		share := float64(stall.Samples) / float64(c.Samples)
		if i >= most || i > 0 && share < 0.05 && most < math.MaxInt || share < 0.01 {
			break
		}
		parts = append(parts, term.Printable(stall.Name)+" "+figures.BriefShare(share))
	}
	return strings.Join(parts, ", ")
}

// why is the mix, and what was counted.
func why(s *kernels.Samples, c kernels.Counts, most int) string {
	stalls, did := mix(s, c, most), c.Did.Short(most+1) // they are shorter than names of reasons
	if stalls == "" || did == "" {
		return stalls + did
	}
	return stalls + "; " + did
}

// printable is a line of source without control characters, with blanks for tabs.
func printable(line string) string {
	if strings.Contains(line, "\t") {
		var b strings.Builder
		column := 0
		for _, r := range line {
			if r != '\t' {
				b.WriteRune(r)
				column++
				continue
			}
			b.WriteString("    "[column%4:])
			column += 4 - column%4
		}
		line = b.String()
	}
	const longest = 400 // bytes of a line; minified code has megabytes in one
	if len(line) > longest {
		line = strings.ToValidUTF8(line[:longest], "") + "…"
	}
	return term.Printable(strings.TrimRight(line, " "))
}

// leading is the indentation of a line.
func leading(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " "))] }
