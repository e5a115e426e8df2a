package sourcemap

import (
	"strconv"
	"strings"
)

// Stray is a line of PTX that its assembler places wrongly.
type Stray struct{ Told, Line int } // the line of the source that it was told, and the right one

// Strays are such lines by number, from 1.
type Strays map[int]Stray

// Straight is the line of the source that an instruction is from, which was made of a line of PTX. told is what its binary says.
func (s Strays) Straight(ptx, told int) int {
	if stray, is := s[ptx]; is && stray.Told == told {
		return stray.Line
	}
	return told
}

// FindStrays finds the lines in and behind inline assembly that have a wrong place. The LLVM of Triton 3.9 counts
// the lines of such a text on from the line that asked for it, as if the text stood there in the source, and takes that back
// neither inside nor behind it. Most of it is Triton's own: a tl.load without a mask is a mov, and "one line on" the ld; of one of
// four words the ld is four lines on. In 1,600 texts of 38 kernels the first place was always the one before the text, so that
// one is right for all of it, and for what follows.
func FindStrays(ptx string) Strays {
	var strays Strays
	asm, told, right := false, 0, 0
	number := 0
	for l := range strings.SplitSeq(ptx, "\n") {
		number++
		if strings.Contains(l, "// -- Begin function") {
			asm, told, right = false, 0, 0
		}
		asm = insideAsm(asm, l)
		if m := match(asmLoc, ".loc", l); m != nil {
			told, _ = strconv.Atoi(m[2])
			if !asm {
				right = told
			}
		} else if told != right && right != 0 {
			if strays == nil {
				strays = Strays{}
			}
			strays[number] = Stray{told, right}
		}
	}
	return strays
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

// straighten corrects instructions that were made of strays: ptxas believes the .loc inside.
func straighten(instructions []Entry, stages []Stage) {
	for _, s := range stages {
		if s.Parser != "ptx" {
			continue
		}
		strays := FindStrays(s.Text)
		for i := range instructions {
			e := &instructions[i]
			e.Line = strays.Straight(e.made, e.Line)
		}
	}
}
