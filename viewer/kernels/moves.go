package kernels

// moves maps the lines of A to lines of B. If both texts are available, as different files, lines are matched by their text.
// Otherwise lines of the same number match.
type moves struct {
	files map[string]*moved // by the path in A
}

// moved is one file.
type moved struct {
	to    string // its path in B
	lines []int  // of B, by line of A, from 1; 0 for those that are gone. nil: the same numbers
}

func newMoves(k *ComparedFunction, files [2]*Files) *moves {
	m := &moves{files: map[string]*moved{}}
	ofB := k.fileNames(1)
	for _, file := range k.fileNames(0) {
		one := &moved{to: namesake(file, ofB)}
		m.files[file] = one
		a, b := files[0].Text(file), files[1].Text(one.to)
		if a.Err == nil && b.Err == nil && a.Path != b.Path {
			one.lines = aligned(a.lines, b.lines)
		}
	}
	return m
}

// place returns a line of a side as B has it, without samples.
func (m *moves) place(side int, l *Line) Line {
	here := Line{File: l.File, Number: l.Number, Func: l.Func, At: l.Number}
	one := m.files[l.File]
	if side == 1 || one == nil {
		return here
	}
	here.File = one.to
	if one.lines == nil || l.Number < 1 || l.Number >= len(one.lines) {
		return here
	}
	if to := one.lines[l.Number]; to > 0 {
		here.Number, here.At = to, to
		return here
	}
	here.Gone, here.OldFile, here.At = true, l.File, 1
	for before := l.Number; before > 0; before-- {
		if to := one.lines[before]; to > 0 {
			here.At = to + 1 // in front of the line that comes next
			break
		}
	}
	return here
}

// mostAligned limits the size of the table in which two texts are compared, without their common beginning and end.
const mostAligned = 1 << 22

// aligned returns for every line of a, counted from 1, the equal line of b, or 0, by the longest common subsequence. It returns
// nil for texts with too many changes.
func aligned(a, b []string) []int {
	to := make([]int, len(a)+1)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
		to[start] = start
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		to[len(a)-end] = len(b) - end
		end++
	}
	a, b = a[start:len(a)-end], b[start:len(b)-end]
	if len(a)*len(b) > mostAligned {
		return nil
	}
	width := len(b) + 1
	longest := make([]int32, (len(a)+1)*width) // of the ends from i and j on
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			to[start+i+1] = start + j + 1
			i, j = i+1, j+1
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return to
}
