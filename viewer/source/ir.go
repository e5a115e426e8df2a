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

// IR says what the compiler made of a line of the source.
type IR interface {
	// Stages are those that there are lines of, in the order of the compiler. Machine code is the last.
	Stages(k *Kernel) []string
	// Lines are what a line of the kernel function became, stage by stage and in the order of their texts.
	Lines(k *Kernel, file string, line int) []IRLine
	// Compilation is the compile hash of a kernel, "" if it is not known.
	Compilation(k *Kernel) string
	// Label is what tells a kernel from others of its name, "" if that is not known.
	Label(k *Kernel) string
	// Facts says more of a kernel, a line each.
	Facts(k *Kernel) []string
	// Instructions reports the kernel's machine code.
	Instructions(k *Kernel) Instructions
}

// Instructions are what is known of machine code next to its binary.
type Instructions struct {
	Listing *Code           // as it was disassembled where it was compiled; nil if it was not
	Made    map[uint64]Made // by offset
}

// Made says what an instruction was made of.
type Made struct {
	Frames []profile.SourceFrame // innermost first; the function's own line is the last
	Lines  []IRLine              // one of each stage, in the order of the compiler
}

// IRLine is a line of an intermediate representation, or an instruction.
type IRLine struct {
	Stage  string
	Number string // of the line in the stage's text, or offset of the instruction
	Text   string
	Counts     // of the instructions that were made of it; zero where that is not known
	Shared int // this many lines of the stage came from one place and have the samples together; below 2: it alone
}

// warm is the share of a kernel's samples from which on a line's IR is shown.
const warm = 0.03

// fewIR is how many lines of a stage are shown unless stages are asked for.
const fewIR = 2

// ir adds what a line became: a few lines of each stage, or all those of the stages that are asked for.
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

// mostIR is how much of a line of IR is shown unless its stage was asked for. A Hopper matrix instruction in PTX names 128
// registers.
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

// Telling says whether a line of IR does what lines of the source are written for.
func Telling(text string) bool {
	return telling.MatchString(text) && !strings.Contains(text, ".return")
}

// telling are operations that lines are written for: memory, multiplications of matrices, reductions, loops. The end of a
// reduction, tt.reduce.return, is none.
var telling = regexp.MustCompile(`\b(?:tt\.(?:load|store|dot|reduce|scan|gather|histogram|atomic\w*|descriptor_\w+)|ttn?g\.(?:async\w+|local_load|warp_group_dot|tc_gen5\w*)|` +
	`(?:ld|st|red|atom)\.(?:global|shared)|asm sideeffect|scf\.for|cp\.async|w?g?mma|tcgen05|LDG|LDGSTS|STG|ATOMG?|RED|UTMA\w+|HMMA|HGMMA|IMMA|DMMA|UTC\w*MMA)\b`)

// few chooses the lines with most samples, or, without any, one: the last that does what lines are written for, or the
// last of an expression.
func few(lines []IRLine, sampled bool) []IRLine {
	if !sampled {
		for i := len(lines) - 1; i >= 0; i-- {
			if Telling(lines[i].Text) {
				return lines[i : i+1]
			}
		}
		return lines[max(0, len(lines)-1):]
	}
	return slices.DeleteFunc(mostSampled(lines, fewIR), func(l IRLine) bool { return l.Samples == 0 })
}

// mostSampled are the n lines with most samples, in their order.
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

// SetLines gives a kernel that was not sampled the lines that it has.
func (k *Kernel) SetLines(file string, numbers []int) {
	k.Lines = nil
	for _, n := range numbers {
		k.Lines = append(k.Lines, &Line{File: file, Number: n})
	}
}

// Bare is a kernel that was not sampled.
func Bare(name string) *Samples {
	k := &Kernel{Name: name, Function: &profile.SampledFunction{Name: name}}
	return &Samples{Facts: &profile.Sampling{}, Kernels: []*Kernel{k}, label: func(name string) string { return name }}
}

// PrintInstructions prints the instructions of the chosen kernels without a head.
func PrintInstructions(w io.Writer, s *Samples, l Listing) (notes []string, err error) {
	p := newPrinter(w, s, &l)
	for _, k := range s.Kernels {
		p.line("")
		p.instructions(k)
	}
	return p.notes, p.out.Flush()
}

// PrintLines prints the lines of the chosen kernels without a head.
func PrintLines(w io.Writer, s *Samples, l Listing) (notes []string, err error) {
	p := newPrinter(w, s, &l)
	for _, k := range s.Kernels {
		p.source(k)
	}
	return p.notes, p.out.Flush()
}
