package hsaco

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu"
)

// statement is a line of assembly without its comment: a label, a directive or an instruction.
func statement(line string) string {
	line, _, _ = strings.Cut(line, ";")
	return strings.TrimSpace(line)
}

// label of a statement; "" if it is none.
func label(statement string) string {
	name, is := strings.CutSuffix(statement, ":")
	if !is || strings.ContainsAny(name, " \t") {
		return ""
	}
	return strings.Trim(name, `"`)
}

// assembled is described with gpu.Format. LLVM's assembler makes one instruction of a line, and fills what a directive aligns with
// instructions that do nothing. A text that has other numbers or sizes of instructions was not the one.
func assembled(text string, f *gpu.Function) map[uint64]int {
	next := uint64(0)
	offsets := map[uint64]uint64{} // of the instruction behind one
	order := slices.Collect(f.Offsets)
	for i, at := range order {
		offsets[at] = f.Size
		if i+1 < len(order) {
			offsets[at] = order[i+1]
		}
	}
	lines, inside, number := map[uint64]int{}, false, 0
	for line := range strings.Lines(text) {
		number++
		s := statement(line)
		switch name := label(s); {
		case name != "" && name == f.Name:
			inside = true
		case !inside || s == "" || name != "":
		case strings.HasPrefix(s, ".section"), strings.HasPrefix(s, ".size"): // what describes the function to the runtime, or its end
			if next != f.Size {
				return nil
			}
			return lines
		case strings.HasPrefix(s, ".p2align"):
			next = aligned(next, s)
		case strings.HasPrefix(s, "."):
		default:
			end, is := offsets[next]
			if !is || !fits(s, end-next) {
				return nil
			}
			lines[next], next = number, end
		}
	}
	return nil
}

// aligned is where the next instruction lies behind a directive such as ".p2align 6, , 20": at a multiple of 64 bytes, unless that is more
// than 20 bytes away.
func aligned(at uint64, directive string) uint64 {
	operands := strings.Split(directive[max(strings.IndexAny(directive, " \t"), 0):], ",")
	bits, err := strconv.ParseUint(strings.TrimSpace(operands[0]), 10, 4)
	if err != nil {
		return at
	}
	to := (at + 1<<bits - 1) &^ (1<<bits - 1)
	if len(operands) == 3 {
		if most, err := strconv.ParseUint(strings.TrimSpace(operands[2]), 10, 32); err == nil && to-at > most {
			return at
		}
	}
	return to
}

// fits reports whether an instruction can be so long: its name may say that it has one word, and what follows that, or two.
func fits(instruction string, size uint64) bool {
	name, _, _ := strings.Cut(instruction, " ")
	name, _, _ = strings.Cut(name, "\t")
	switch {
	case strings.HasSuffix(name, "_e32"):
		return size <= 8
	case strings.HasSuffix(name, "_e64"):
		return size >= 8
	}
	return true
}

// filler is what LLVM's assembler puts in front of an aligned instruction.
const filler = "s_nop 0"

// fromAssembly is the text of the instructions that the assembly has.
func fromAssembly(f *gpu.Function) *gpu.Code {
	code := &gpu.Code{Tool: "the trace", Text: map[uint64]string{}, Labels: map[uint64]string{}}
	for at := range f.Offsets {
		line := f.AssemblyLine(at) - 1
		if line < 0 || line >= len(f.Assembly) {
			code.Text[at] = filler
			continue
		}
		target := ""
		for before := line - 1; before >= 0 && target == ""; before-- {
			s := statement(f.Assembly[before])
			if name := label(s); strings.HasPrefix(name, ".LBB") {
				target = name
			} else if name == "" && s != "" && !strings.HasPrefix(s, ".") {
				break
			}
		}
		code.Add(at, strings.Join(strings.Fields(statement(f.Assembly[line])), " "), target)
	}
	return code
}
