package sourcemap

import "strings"

// The LLVM of Triton 3.9 counts the lines of inline assembly on from the line that asked for it, as if its text stood there in the
// source, and takes that back neither inside nor behind it. Most of it is Triton's own: a masked tl.load is a mov and, "one line
// on", the ld; one of four words is a mov for each, and the ld is four lines on. In 1,600 blocks of 38 kernels the
// first place was always the one before the block, so that one is right for all of it, and for what follows.

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

// straighten gives instructions that were made of inline assembly the line that asked for it: ptxas believes the .loc inside.
func (m *Map) straighten(instructions []Entry) {
	astray := map[int]*Entry{} // by line of PTX
	ptx := m.Entries("ptx")
	for i := range ptx {
		if ptx[i].said != 0 {
			astray[ptx[i].Own] = &ptx[i]
		}
	}
	for i := range instructions {
		e := &instructions[i]
		if p := astray[e.made]; p != nil && p.File == e.File && p.said == e.Line {
			e.Line = p.Line
		}
	}
}
