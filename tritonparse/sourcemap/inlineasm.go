package sourcemap

import (
	"strconv"
	"strings"
)

// Misplacement is a wrong line number that the assembler has for a line of PTX.
type Misplacement struct{ Said, Line int } // the line of the source that the binary says, and the right one

// Misplaced are the lines of PTX with a wrong line number, by their own number from 1.
type Misplaced map[int]Misplacement

// Right is the line of the source that an instruction is from, which was made of a line of PTX. said is what its binary says.
func (s Misplaced) Right(ptx, said int) int {
	if m, is := s[ptx]; is && m.Said == said {
		return m.Line
	}
	return said
}

// FindMisplaced finds the lines in and behind inline assembly that have a wrong place. The LLVM of Triton 3.9 counts
// the lines of such a text on from the line that asked for it, as if the text stood there in the source, and takes that back
// neither inside nor behind it. Most of it is Triton's own: a tl.load without a mask is a mov, and "one line on" the ld; of one of
// four words the ld is four lines on. In 1,600 texts of 38 kernels the first place was always the one before the text, so that
// one is right for all of it, and for what follows.
func FindMisplaced(ptx string) Misplaced {
	var misplaced Misplaced
	asm, said, right := false, 0, 0
	number := 0
	for l := range strings.SplitSeq(ptx, "\n") {
		number++
		if strings.Contains(l, "// -- Begin function") {
			asm, said, right = false, 0, 0
		}
		asm = insideAsm(asm, l)
		if m := match(asmLoc, ".loc", l); m != nil {
			said, _ = strconv.Atoi(m[2])
			if !asm {
				right = said
			}
		} else if said != right && right != 0 {
			if misplaced == nil {
				misplaced = Misplaced{}
			}
			misplaced[number] = Misplacement{said, right}
		}
	}
	return misplaced
}

// insideAsm says whether the line is inline assembly, or begins it, knowing the same of the line before.
func insideAsm(before bool, line string) bool {
	if !strings.HasSuffix(line, " inline asm") {
		return before
	}
	switch strings.TrimSpace(line) {
	case "// begin inline asm":
		return true
	case "// end inline asm":
		return false
	}
	return before
}

// correctMisplaced corrects instructions that were made of such lines: ptxas takes the .loc inside as it is.
func correctMisplaced(instructions []Entry, stages []Stage) {
	for _, s := range stages {
		if s.Parser != "ptx" {
			continue
		}
		misplaced := FindMisplaced(s.Text)
		for i := range instructions {
			e := &instructions[i]
			e.Line = misplaced.Right(e.made, e.Line)
		}
	}
}
