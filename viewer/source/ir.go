package source

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/goproton/goproton/profile"
)

// IR returns the intermediate representations of kernels. Package joined implements it with a TritonParse trace.
type IR interface {
	// Stages are the stages of the compiler that the kernel has lines of, in their order. Machine code is the last.
	Stages(k *Kernel) []string
	// Lines are the lines of IR that were compiled from a line of the kernel function, by stage and in the order of their texts.
	Lines(k *Kernel, file string, line int) []IRLine
	// Compilation is the compile hash of a kernel, "" if it is unknown.
	Compilation(k *Kernel) string
	// Label distinguishes a kernel from others of its name, "" if nothing is known that does.
	Label(k *Kernel) string
	// Facts are further lines on a kernel for its heading.
	Facts(k *Kernel) []string
	// Instructions returns what the trace recorded of the kernel's machine code.
	Instructions(k *Kernel) Instructions
}

// Instructions is what a trace records of a kernel's machine code, in addition to its binary.
type Instructions struct {
	Listing *Code           // disassembled where the kernel was compiled; nil if the trace has no listing
	Made    map[uint64]Made // by offset of the instruction
}

// Made is the origin of an instruction.
type Made struct {
	Frames []profile.SourceFrame // innermost first; the function's own line is the last
	Lines  []IRLine              // one of each stage, in the order of the compiler
}

// IRLine is a line of an intermediate representation, or an instruction.
type IRLine struct {
	Stage  string
	Number string // of the line in the stage's text, or offset of the instruction
	Text   string
	Counts     // of the instructions compiled from the line; zero if they are unknown
	Shared int // number of lines of the stage that share these samples, since their origin is the same; below 2 for none
}

// warm is the smallest share of a kernel's samples with which a line's IR is shown.
const warm = 0.03

// fewIR is how many lines of a stage are shown unless stages are requested.
const fewIR = 2

// ir adds rows for the IR of a line: a few lines of each stage, or all lines of the requested stages.
func (p *printer) ir(rows []row, k *Kernel, l *Line, indent string) []row {
	if p.IR == nil || len(p.IRStages) == 0 && !p.All && k.Samples > 0 && l.Share(k.Samples) < warm {
		return rows
	}
	lines := p.IR.Lines(k, l.File, l.Number)
	var rest []string
	for _, stage := range p.IR.Stages(k) {
		own := ofStage(lines, stage)
		shown := own
		switch {
		case len(p.IRStages) > 0 && !slices.Contains(p.IRStages, stage):
			continue
		case len(p.IRStages) == 0 && !p.All:
			shown = few(own, k.Samples > 0)
		}
		width := 0
		for _, i := range shown {
			width = max(width, len(i.Number))
		}
		for _, i := range shown {
			rows = append(rows, p.irRow(i, indent, width))
		}
		if n := len(own) - len(shown); n > 0 {
			rest = append(rest, fmt.Sprintf("%d of %s", n, stage))
		}
	}
	if len(rest) > 0 {
		rows = append(rows, row{text: indent + p.marks.gap + " " + strings.Join(rest, ", "), color: faint})
	}
	return rows
}

// mostIR is how many columns of a line of IR are shown unless its stage was requested. A Hopper matrix instruction in PTX
// names 128 registers.
const mostIR = 120

func (p *printer) irRow(i IRLine, indent string, width int) row {
	text := printable(strings.TrimSpace(i.Text))
	if len(p.IRStages) == 0 && !p.All {
		text = runewidth.Truncate(text, mostIR, p.marks.cut)
	}
	text = fmt.Sprintf("%s%s %s %s  %s", indent, p.marks.inlined, i.Stage, padLeft(i.Number, width), text)
	return row{counts: i.Counts, text: text, color: faint}
}

// ofStage are the lines of one stage.
func ofStage(lines []IRLine, stage string) (own []IRLine) {
	for _, l := range lines {
		if l.Stage == stage {
			own = append(own, l)
		}
	}
	return own
}

// Significant reports whether a line of IR has an operation that explains the line of the source: a memory access, a matrix
// multiplication, a reduction or a loop, rather than arithmetic on addresses. The end of a reduction, tt.reduce.return, does
// not count.
func Significant(text string) bool {
	return significant.MatchString(text) && !strings.Contains(text, ".return")
}

// significant matches the operations of Significant.
var significant = regexp.MustCompile(`\b(?:tt\.(?:load|store|dot|reduce|scan|gather|histogram|atomic\w*|descriptor_\w+)|ttn?g\.(?:async\w+|local_load|warp_group_dot|tc_gen5\w*)|` +
	`(?:ld|st|red|atom)\.(?:global|shared)|asm sideeffect|scf\.for|cp\.async|w?g?mma|tcgen05|LDG|LDGSTS|STG|ATOMG?|RED|UTMA\w+|HMMA|HGMMA|IMMA|DMMA|UTC\w*MMA)\b`)

// few chooses the lines with the most samples. Without samples it chooses one line: the last significant one, or the last,
// which computes the value of an expression.
func few(lines []IRLine, sampled bool) []IRLine {
	if !sampled {
		for i := len(lines) - 1; i >= 0; i-- {
			if Significant(lines[i].Text) {
				return lines[i : i+1]
			}
		}
		return lines[max(0, len(lines)-1):]
	}
	return slices.DeleteFunc(mostSampled(lines, fewIR), func(l IRLine) bool { return l.Samples == 0 })
}

// mostSampled returns the n lines with the most samples, in the order of lines.
func mostSampled(lines []IRLine, n int) []IRLine {
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

// SetLines sets the lines of a kernel without samples.
func (k *Kernel) SetLines(file string, numbers []int) {
	k.Lines = nil
	for _, n := range numbers {
		k.Lines = append(k.Lines, &Line{File: file, Number: n})
	}
}

// Bare returns Samples with one kernel and no samples, for listing its lines and its IR.
func Bare(name string) *Samples {
	k := &Kernel{Name: name, Function: &profile.SampledFunction{Name: name}}
	return &Samples{Facts: &profile.Sampling{}, Kernels: []*Kernel{k}, label: func(name string) string { return name }}
}

// PrintInstructions prints the instructions of the requested kernels without a heading.
func PrintInstructions(w io.Writer, s *Samples, l Listing) (notes []string, err error) {
	p := newPrinter(w, s, &l)
	for _, k := range s.Kernels {
		p.line("")
		p.instructions(k)
	}
	return p.notes, p.out.Flush()
}

// PrintLines prints the lines of the requested kernels without a heading.
func PrintLines(w io.Writer, s *Samples, l Listing) (notes []string, err error) {
	p := newPrinter(w, s, &l)
	for _, k := range s.Kernels {
		p.source(k)
	}
	return p.notes, p.out.Flush()
}
