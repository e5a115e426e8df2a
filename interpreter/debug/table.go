package debug

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/triton/ttir"
)

// style is how values are written.
type style struct {
	width int // columns of the terminal
	rows  int // of one table, and columns of one that are shown before its middle is left out; 0 for all
	name  func(address, size int64) string
}

// lines is a value with its name: in one line, or as a table below it.
func (s *style) lines(name string, v *value) string {
	head := name
	if t := v.typeText(); v.kind < text {
		head += ": " + t
	}
	if !v.isTensor() {
		return head + " = " + s.inline(v) + "\n"
	}
	if sum := summary(v); sum != "" {
		head += "  " + sum
	}
	if v.len() == 0 {
		return head + "\n"
	}
	var b strings.Builder
	b.WriteString(head + "\n")
	s.table(&b, v)
	return b.String()
}

// short is a value in one line, for lists of variables.
func (s *style) short(name string, v *value) string {
	if !v.isTensor() || v.len() == 0 {
		return s.lines(name, v)
	}
	line := name + ": " + v.typeText() + "  " + summary(v)
	if v.len() <= 4 {
		line = name + ": " + v.typeText() + " = " + s.inline(v)
	}
	return line + "\n"
}

// inline is a value between brackets, without elements in the middle of long dimensions.
func (s *style) inline(v *value) string {
	switch {
	case v.kind == text:
		return v.text
	case v.kind == tuple:
		var parts []string
		for i := range v.items {
			parts = append(parts, s.inline(&v.items[i]))
		}
		if len(parts) == 1 {
			parts = append(parts, "")
		}
		return "(" + strings.TrimSuffix(strings.Join(parts, ", "), " ") + ")"
	case len(v.shape) == 0:
		return s.cell(v, 0)
	}
	var b strings.Builder
	s.nested(&b, v, 0, 0)
	return b.String()
}

func (s *style) nested(b *strings.Builder, v *value, dimension, at int) {
	if dimension == len(v.shape) {
		b.WriteString(s.cell(v, at))
		return
	}
	stride := ttir.Strides(v.shape)[dimension]
	b.WriteByte('[')
	for i, k := range shownOf(v.shape[dimension], 6) {
		if i > 0 {
			b.WriteString(", ")
		}
		if k < 0 {
			b.WriteString("…")
			continue
		}
		s.nested(b, v, dimension+1, at+k*stride)
	}
	b.WriteByte(']')
}

// shownOf are the indices of n elements of which most are shown, -1 where some are left out.
func shownOf(n, most int) []int {
	if n <= most || most <= 0 {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		return list
	}
	var list []int
	first := (most + 1) / 2
	for i := range first {
		list = append(list, i)
	}
	list = append(list, -1)
	for i := n - (most - first); i < n; i++ {
		list = append(list, i)
	}
	return list
}

// cell is one element.
func (s *style) cell(v *value, i int) string {
	switch {
	case v.kind == float && len(v.shape) > 0:
		return brief(v.floats[i])
	case v.kind == float:
		return floatText(v.floats[i], v.bits)
	case v.kind == pointer && s.name != nil:
		return s.name(v.ints[i], elementBytes(v))
	}
	return strconv.FormatInt(v.ints[i], 10)
}

// floatText has so many digits that two numbers of the type have different texts, and at most 7.
func floatText(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	shortest := strconv.FormatFloat(f, 'g', -1, min(max(bits, 32), 64))
	digits := 7
	if bits <= 16 {
		digits = 4
	}
	if limited := strconv.FormatFloat(f, 'g', digits, 64); len(limited) < len(shortest) {
		return limited
	}
	return shortest
}

// brief is a number of a table, which has less room: a scalar has all digits.
func brief(f float64) string {
	text := floatText(f, 32)
	if limited := strconv.FormatFloat(f, 'g', 5, 64); len(limited) < len(text) && !math.IsNaN(f) && !math.IsInf(f, 0) {
		return limited
	}
	return text
}

// summary says in one line what elements a tensor has.
func summary(v *value) string {
	n := v.len()
	if n == 0 {
		return "no elements"
	}
	switch v.kind {
	case boolean:
		set := 0
		for _, x := range v.ints {
			set += int(x)
		}
		return fmt.Sprintf("%d of %d are 1", set, n)
	case pointer:
		return ""
	case number:
		low, high := slices.Min(v.ints), slices.Max(v.ints)
		if low == high {
			return fmt.Sprintf("all %d", low)
		}
		return fmt.Sprintf("%d … %d", low, high)
	}
	low, high, sum := math.Inf(1), math.Inf(-1), 0.0
	nan, infinite := 0, 0
	for _, x := range v.floats {
		switch {
		case math.IsNaN(x):
			nan++
			continue
		case math.IsInf(x, 0):
			infinite++
		}
		low, high, sum = min(low, x), max(high, x), sum+x
	}
	var parts []string
	switch {
	case low == high && nan == 0:
		parts = append(parts, "all "+brief(low))
	case nan < n:
		parts = append(parts, brief(low)+" … "+brief(high))
		if infinite == 0 {
			parts = append(parts, "mean "+brief(sum/float64(n-nan)))
		}
	}
	if nan > 0 {
		parts = append(parts, fmt.Sprintf("%d nan", nan))
	}
	if infinite > 0 {
		parts = append(parts, fmt.Sprintf("%d inf", infinite))
	}
	return strings.Join(parts, ", ")
}

// table writes a tensor with the indices of its rows and columns. More than two dimensions are several tables, one dimension is several rows.
func (s *style) table(b *strings.Builder, v *value) {
	switch d := len(v.shape); d {
	case 1:
		s.list(b, v)
	case 2:
		s.matrix(b, v, 0)
	default:
		outer, inner := v.shape[:d-2], v.shape[d-2]*v.shape[d-1]
		n := 1
		for _, k := range outer {
			n *= k
		}
		matrices, most := ttir.Strides(outer), s.rows/3
		if s.rows == 0 {
			most = 0
		}
		for _, k := range shownOf(n, most) {
			if k < 0 {
				fmt.Fprintf(b, "… %d tables are left out\n", n-most)
				continue
			}
			var at []string
			for i, stride := range matrices {
				at = append(at, strconv.Itoa(v.label(i, k/stride%outer[i])))
			}
			fmt.Fprintf(b, "[%s, :, :]\n", strings.Join(at, ", "))
			s.matrix(b, v, k*inner)
		}
	}
}

// label is the index of an element in what a slice was cut from.
func (v *value) label(dimension, i int) int {
	a := v.axis(dimension)
	return a.from + i*a.step
}

// gap stands between columns.
const gap = 2

// list writes one dimension: rows of as many elements as fit, each after the index of its first.
func (s *style) list(b *strings.Builder, v *value) {
	n := v.shape[0]
	cells := s.cells(v, n, func(i int) int { return i })
	width := widest(cells)
	labels := len(strconv.Itoa(v.label(0, n-1)))
	fit := max(1, (s.width-2-labels)/(width+gap))
	for _, nice := range []int{32, 16, 10, 8, 5, 4, 2, 1} {
		if nice <= fit {
			fit = nice
			break
		}
	}
	rows := (n + fit - 1) / fit
	for _, r := range shownOf(rows, s.rows) {
		if r < 0 {
			fmt.Fprintf(b, "  %*s  …\n", labels, "…")
			continue
		}
		fmt.Fprintf(b, "  %*d", labels, v.label(0, r*fit))
		for i := r * fit; i < min(n, (r+1)*fit); i++ {
			pad(b, cells[i], width+gap)
		}
		b.WriteByte('\n')
	}
}

// cells are the texts of n elements; of very many only those at the ends, which are all that is shown.
func (s *style) cells(v *value, n int, place func(i int) int) []string {
	list := make([]string, n)
	const ends = 4096
	for i := range list {
		if s.rows == 0 || i < ends || i >= n-ends {
			list[i] = s.cell(v, place(i))
		}
	}
	return list
}

func widest(cells []string) int {
	w := 1
	for _, c := range cells {
		w = max(w, len([]rune(c)))
	}
	return w
}

func pad(b *strings.Builder, cell string, width int) {
	b.WriteString(strings.Repeat(" ", max(1, width-len([]rune(cell)))))
	b.WriteString(cell)
}

// matrix writes the two last dimensions, from an element on.
func (s *style) matrix(b *strings.Builder, v *value, from int) {
	d := len(v.shape) - 2
	rows, columns := v.shape[d], v.shape[d+1]
	if rows*columns == 0 {
		return
	}
	shownRows := shownOf(rows, s.rows)
	labels := max(len(strconv.Itoa(v.label(d, rows-1))), 1)
	widths := make([]int, columns)
	width := func(c int) int {
		if widths[c] == 0 {
			widths[c] = len(strconv.Itoa(v.label(d+1, c)))
			for _, r := range shownRows {
				if r >= 0 {
					widths[c] = max(widths[c], len([]rune(s.cell(v, from+r*columns+c))))
				}
			}
		}
		return widths[c]
	}
	shownColumns := s.columns(columns, labels, width)
	most := 1
	for _, c := range shownColumns {
		if c >= 0 {
			most = max(most, width(c))
		}
	}
	fmt.Fprintf(b, "  %*s", labels, "")
	for _, c := range shownColumns {
		if c < 0 {
			pad(b, "…", 1+gap)
		} else {
			pad(b, strconv.Itoa(v.label(d+1, c)), most+gap)
		}
	}
	b.WriteByte('\n')
	for _, r := range shownRows {
		label := "…"
		if r >= 0 {
			label = strconv.Itoa(v.label(d, r))
		}
		fmt.Fprintf(b, "  %*s", labels, label)
		for _, c := range shownColumns {
			switch {
			case c < 0:
				pad(b, "…", 1+gap)
			case r < 0:
				pad(b, "…", most+gap)
			default:
				pad(b, s.cell(v, from+r*columns+c), most+gap)
			}
		}
		b.WriteByte('\n')
	}
}

// columns are those that fit into the width: all, or as many at both ends. All have the width of the widest.
func (s *style) columns(n, labels int, width func(c int) int) []int {
	room := s.width - 2 - labels
	most := 1
	for fit := min(n, room/(1+gap)); ; {
		list := shownOf(n, fit)
		most = 1
		for _, c := range list {
			if c >= 0 {
				most = max(most, width(c))
			}
		}
		need := len(list) * (most + gap)
		if fit < n {
			need -= most - 1 // the … is narrow
		}
		if need <= room || fit <= 2 {
			return list
		}
		fit = max(2, min(fit-1, room/(most+gap)))
	}
}
