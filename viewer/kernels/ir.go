package kernels

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/backend"
	"github.com/goproton/goproton/tritonparse/sourcemap"
)

// IRLine is a line of an intermediate representation, or an instruction.
type IRLine struct {
	Stage  string
	Number string // of the line in the stage's text, or offset of the instruction in hexadecimal digits
	Text   string
	Counts     // of the instructions compiled from the line; zero if they are unknown
	Shared int // number of lines of the stage that share these samples, since their origin is the same; below 2 for none
}

// lastStages are the names of a compilation's last two representations: the text that its binary was assembled from, and the
// text of its instructions.
func lastStages(x *tritonparse.Compilation) (assembly, machine string) {
	b, _ := backend.For(x.Backend)
	return cmp.Or(b.Assembly, backend.Unknown.Assembly), cmp.Or(b.Machine, backend.Unknown.Machine)
}

// sourceLine is a line of the source in the kernel function itself, not in inlined code.
type sourceLine struct {
	file string
	line int
}

// irOfLines is what the compiler made of the lines of a function.
type irOfLines struct {
	stages []string
	lines  map[sourceLine][]IRLine
	bases  map[sourceLine]sourceLine // the same places by the last element of the file's path, where that names one file
}

// Stages are the stages of the compiler that the function has lines of, in their order. Machine code is the last.
func (m *Compiled) Stages() []string { return m.lines().stages }

// Lines are the lines of IR that were compiled from a line of the function, by stage and in the order of their texts.
func (m *Compiled) Lines(file string, line int) []IRLine {
	l := m.lines()
	if lines, exact := l.lines[sourceLine{file, line}]; exact {
		return lines
	}
	return l.lines[l.bases[sourceLine{path.Base(file), line}]]
}

// Stages are those that compilations of the trace have.
func (r *Run) Stages() (stages []string) {
	for _, k := range r.Kernels {
		for _, s := range k.Specialisations {
			if s.Compilation == nil {
				continue
			}
			for _, stage := range s.Compilation.Stages() {
				if !slices.Contains(stages, stage) && stage != "json" {
					stages = append(stages, stage)
				}
			}
		}
	}
	for _, stage := range r.MachineStages() {
		if !slices.Contains(stages, stage) {
			stages = append(stages, stage)
		}
	}
	return stages
}

// MachineStages are the stages of instructions that compilations of the trace can have.
func (r *Run) MachineStages() (stages []string) {
	for _, k := range r.Kernels {
		for _, s := range k.Specialisations {
			if s.Compilation == nil {
				continue
			}
			if _, machine := lastStages(s.Compilation); !slices.Contains(stages, machine) {
				stages = append(stages, machine)
			}
		}
	}
	if stages == nil { // no compilation names its backend
		stages = []string{backend.Unknown.Machine}
	}
	return stages
}

// lines makes the IR of a function's lines from the stages' texts, and adds the samples. A sample is of an instruction. The binary
// says from which line of assembly that was made, and lines of the stages before have the samples of all assembly of the same origin.
func (m *Compiled) lines() *irOfLines {
	if m.ir != nil {
		return m.ir
	}
	l := &irOfLines{lines: map[sourceLine][]IRLine{}}
	m.ir = l
	if m.Compilation == nil {
		return l
	}
	module := m.machineCode()
	maps := m.Compilation.Maps()
	counts := newIRCounts(m.function, m.Compilation, module, maps)
	_, machine := lastStages(m.Compilation)
	for _, stage := range m.Compilation.Stages() {
		if stage == machine && module != nil {
			continue // the binary has more than the recorded text
		}
		l.addStage(stage, m.Compilation.Texts[stage], maps.Entries(stage), counts)
	}
	if module != nil {
		l.addInstructions(m, module)
	}
	l.nameBases()
	return l
}

// nameBases finds lines by the last elements of their files' paths, for files that had another path when they were sampled.
func (l *irOfLines) nameBases() {
	l.bases = map[sourceLine]sourceLine{}
	for at := range l.lines {
		base := sourceLine{path.Base(at.file), at.line}
		if _, another := l.bases[base]; another {
			at = sourceLine{} // two files of one name: the line is not known to be either's
		}
		l.bases[base] = at
	}
}

// text is a function's disassembly. Without a disassembler it is the listing that the trace recorded, and without that the names
// of the operations.
func (m *Compiled) text(module *Module) *gpu.Code {
	code, err := &gpu.Code{}, os.ErrNotExist
	if modules := m.code.run.Modules; modules != nil {
		code, err = modules.Code(module)
	}
	if err != nil {
		if recorded := m.recorded(); recorded != nil {
			return recorded.Code
		}
	}
	return code
}

// recorded is the function in the listing that the trace has; nil if it is not there.
func (m *Compiled) recorded() *gpu.Recorded {
	_, machine := lastStages(m.Compilation)
	return m.function.Vendor.Code.Recorded(m.Compilation.Texts[machine], m.function.Symbol.Name)
}

// irCounts are samples by line of assembly and by its origin.
type irCounts struct {
	stage  string // of assembly
	lines  map[int]Counts
	origin map[sourcemap.Origin]Counts
}

func newIRCounts(f *Function, x *tritonparse.Compilation, module *Module, maps *sourcemap.Map) irCounts {
	assembly, _ := lastStages(x)
	c := irCounts{assembly, map[int]Counts{}, map[sourcemap.Origin]Counts{}}
	if module == nil || !sameAssembly(module.Function.Assembly, x.Texts[assembly]) {
		return c
	}
	for i := range f.PCs {
		if line := module.Function.AssemblyLine(f.PCs[i].Offset); line > 0 {
			addCounts(c.lines, line, f.PCs[i].Counts)
		}
	}
	entries := maps.Entries(assembly)
	for i := range entries {
		if n, sampled := c.lines[entries[i].Own]; sampled {
			addCounts(c.origin, entries[i].Origin(), n)
		}
	}
	return c
}

func addCounts[K comparable](to map[K]Counts, at K, n Counts) {
	sum := to[at]
	sum.Add(n)
	to[at] = sum
}

// addStage adds the lines of a text.
func (l *irOfLines) addStage(stage, text string, entries []sourcemap.Entry, counts irCounts) {
	if len(entries) == 0 {
		return
	}
	l.stages = append(l.stages, stage)
	lines := strings.Split(text, "\n")
	shared, shows := byOrigin(lines, entries) // samples are shown once
	for i := range entries {
		e := &entries[i]
		if e.Own < 1 || e.Own > len(lines) {
			continue
		}
		from := e.Origin()
		line := IRLine{Stage: stage, Number: fmt.Sprint(e.Own), Text: withoutLocation(lines[e.Own-1])}
		switch {
		case stage == counts.stage:
			line.Counts = counts.lines[e.Own]
		case shows[from] == i:
			line.Counts, line.Shared = counts.origin[from], shared[from]
		default:
			line.Shared = shared[from]
		}
		own := e.KernelLine()
		at := sourceLine{own.File, own.Line}
		l.lines[at] = append(l.lines[at], line)
	}
}

// byOrigin counts the lines of a stage of each origin, and chooses the entry that represents them: a significant one, if there is
// one.
func byOrigin(lines []string, entries []sourcemap.Entry) (shared, shows map[sourcemap.Origin]int) {
	shared, shows = map[sourcemap.Origin]int{}, map[sourcemap.Origin]int{}
	for i := range entries {
		from := entries[i].Origin()
		if shared[from]++; shared[from] == 1 || entries[i].Own > 0 && entries[i].Own <= len(lines) && Significant(lines[entries[i].Own-1]) {
			shows[from] = i
		}
	}
	return shared, shows
}

// addInstructions adds the machine code.
func (l *irOfLines) addInstructions(m *Compiled, module *Module) {
	_, machine := lastStages(m.Compilation)
	l.stages = append(l.stages, machine)
	code, wrong := m.text(module), m.code.misplacedIn(module, m.Compilation)
	for pc := range module.Function.Offsets {
		from := module.Function.Frames(pc)
		if len(from) == 0 {
			continue
		}
		from[0].Line = wrong.Right(module.Function.AssemblyLine(pc), from[0].Line)
		outer := from[len(from)-1]
		at := sourceLine{outer.File, outer.Line}
		l.lines[at] = append(l.lines[at], IRLine{Stage: machine, Number: fmt.Sprintf("%04x", pc), Text: code.Text[pc], Counts: m.function.At(pc)})
	}
}

// withoutLocation is a line of a text without its references to the source and its comment.
func withoutLocation(line string) string {
	line = mlir.Code(line)
	if at := strings.LastIndex(line, ", !dbg !"); at >= 0 && strings.Trim(line[at+len(", !dbg !"):], "0123456789") == "" {
		line = line[:at]
	}
	return line
}

// Significant reports whether a line of IR has an operation that explains the line of the source: a memory access, a matrix
// multiplication, a reduction or a loop, rather than arithmetic on addresses. The end of a reduction, tt.reduce.return, does
// not count.
func Significant(text string) bool {
	return (significant.MatchString(text) || vendors.Significant(text)) && !strings.Contains(text, ".return")
}

// significant matches such operations of representations that are the same for every GPU.
var significant = regexp.MustCompile(`\b(?:tt\.(?:load|store|dot|reduce|scan|gather|histogram|atomic\w*|descriptor_\w+)|ttn?g\.(?:async\w+|local_load|warp_group_dot|tc_gen5\w*)|asm sideeffect|scf\.for)\b`)

// OfStage are the lines of one stage.
func OfStage(lines []IRLine, stage string) (own []IRLine) {
	for _, l := range lines {
		if l.Stage == stage {
			own = append(own, l)
		}
	}
	return own
}

// MostSampled returns the n lines with the most samples, in the order of lines.
func MostSampled(lines []IRLine, n int) []IRLine {
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[b].Samples, lines[a].Samples) })
	order = order[:min(n, len(order))]
	slices.Sort(order)
	chosen := make([]IRLine, len(order))
	for i, at := range order {
		chosen[i] = lines[at]
	}
	return chosen
}
