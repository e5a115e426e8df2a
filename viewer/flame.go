package viewer

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// defaultWidth is that of a flame graph when the terminal has none: it needs one.
const defaultWidth = 80

// printFlame prints a flame graph that grows downwards: a line per level, each frame below its caller and as wide as
// its share of the first metric. What is left of a caller's width is its own. Siblings too narrow to be drawn share one
// block at the end, with the frames below them added up by name: the block of 32 equal layers looks like one of them.
func printFlame(out *bufio.Writer, t *Table, p *Terminal) error {
	if c := &t.Columns[0]; c.Text || !c.Additive {
		return fmt.Errorf("draw a flame graph of %s: widths must add up; put an amount first in -m, such as time, count or bytes", c.Name)
	}
	f := flame{out: out, table: t, edge: "│", dots: grid.Lines.Dots, color: p.Color, width: p.Width}
	if p.ASCII {
		f.edge, f.dots = "|", "~" // boxes are narrow: one column
	}
	if f.width <= 0 {
		f.width = defaultWidth
	}
	f.width = max(f.width, narrowestFlame)
	f.weigh()
	f.whole = f.weight(t.Root)
	if !(f.whole > 0) || !figures.Finite(f.whole) {
		return fmt.Errorf("draw a flame graph of %s: the frames that are shown add up to %g", t.Columns[0].Name, f.whole)
	}
	level := []box{{block: block{rows: []*Row{t.Root}, weight: f.whole}, right: f.width - 1}}
	for len(level) > 0 {
		f.line(level)
		var next []box
		for i := range level {
			next = f.below(next, &level[i])
		}
		level = next
	}
	return nil
}

const narrowestFlame = 20

type flame struct {
	out   *bufio.Writer
	table *Table
	edge  string // between boxes
	dots  string // replaces what was cut off
	color bool
	width int
	whole float64          // weight of the root
	wider map[*Row]float64 // rows whose children weigh more than they do, with that weight
}

// block is what is drawn as one: a frame, frames of one name, or frames that are too narrow to be drawn alone.
type block struct {
	rows   []*Row
	hidden int // of them, by a threshold or a depth; nothing below them is drawn
	weight float64
	mixed  bool // the names differ
}

func (b *block) add(o *block) {
	b.rows = append(b.rows, o.rows...)
	b.hidden += o.hidden
	b.weight += o.weight
}

// box is a block and where it is drawn: its edge at left, that of the next one at right.
type box struct {
	block
	left, right int
}

// weigh finds the rows of exclusive metrics whose children weigh more than they do, and which are drawn as wide as their children.
func (f *flame) weigh() {
	f.wider = map[*Row]float64{}
	if f.table.Columns[0].Inclusive {
		return // the row has its children's already; where their sum is more, as of negative values and of threads, they share its width
	}
	for _, r := range slices.Backward(slices.Collect(f.table.All())) { // children come after their parents
		below := 0.0
		for _, list := range [][]*Row{r.Children, r.Hidden} {
			for _, c := range list {
				below += f.weight(c)
			}
		}
		if below > f.weight(r) {
			f.wider[r] = below
		}
	}
}

// weight is a row's value as a width: nothing for what is missing, negative or infinite.
func (f *flame) weight(r *Row) float64 {
	if w, ok := f.wider[r]; ok {
		return w
	}
	v := r.Values[0]
	if f.table.group == ByName && r != f.table.Root { // what frames have with all below them overlaps
		v = r.Own[0]
	}
	if v > 0 && !math.IsInf(v, 1) {
		return v
	}
	return 0
}

// below lays out what stands below a box. Edges are the rounded places where a block would begin and end on a terminal of
// any precision, so that errors do not pile up.
func (f *flame) below(boxes []box, b *box) []box {
	callees := f.callees(&b.block)
	all := 0.0
	for _, c := range callees {
		all += c.weight
	}
	all = max(all, b.weight)
	columns := func(weight float64) float64 { return weight / all * float64(b.right-b.left) }
	sum := 0.0
	place := func() int { return min(b.left+int(math.Round(columns(sum))), b.right) }
	draw := func(c *block) {
		left := place()
		sum += c.weight
		if right := place(); right > left {
			boxes = append(boxes, box{*c, left, right})
		}
	}
	var narrow block
	for _, c := range callees {
		if c.hidden > 0 || columns(c.weight) < narrowestBox {
			narrow.mixed = narrow.mixed || len(narrow.rows) > 0 || c.mixed
			narrow.add(c)
			continue
		}
		draw(c)
	}
	draw(&narrow)
	return boxes
}

// narrowestBox is an edge and two letters of a name.
const narrowestBox = 3

// callees adds up the frames below a block by name, in the order in which they first come; hidden ones are one block.
func (f *flame) callees(b *block) []*block {
	var all []*block
	byName := map[string]*block{}
	hidden := &block{mixed: true}
	for _, r := range b.rows[:len(b.rows)-b.hidden] {
		for _, c := range r.Children {
			known := byName[c.Name]
			if known == nil {
				known = &block{}
				byName[c.Name] = known
				all = append(all, known)
			}
			known.rows, known.weight = append(known.rows, c), known.weight+f.weight(c)
		}
		for _, c := range r.Hidden {
			hidden.rows, hidden.weight, hidden.hidden = append(hidden.rows, c), hidden.weight+f.weight(c), hidden.hidden+1
		}
	}
	if hidden.hidden > 0 {
		all = append(all, hidden)
	}
	return all
}

// line draws one level.
func (f *flame) line(level []box) {
	at, open := 0, false // whether the box to the left still needs its right edge
	for _, b := range level {
		if open && at < b.left {
			f.out.WriteString(f.edge)
			at++
		}
		f.blanks(b.left - at)
		f.box(&b)
		at, open = b.right, true
	}
	f.out.WriteString(f.edge)
	f.out.WriteByte('\n')
}

func (f *flame) blanks(n int) {
	for range n {
		f.out.WriteByte(' ')
	}
}

// box draws the left edge and the inside of a box.
func (f *flame) box(b *box) {
	f.out.WriteString(f.edge)
	room := b.right - b.left - 1
	label := f.label(b, room)
	colored := f.color && !b.mixed
	if colored {
		f.out.WriteString(flameColor(b.rows[0].Name))
	}
	f.out.WriteString(label)
	f.blanks(room - grid.Columns(label))
	if colored {
		f.out.WriteString(grid.End)
	}
}

// label is the longest text that there is room for: name, value and share; name and share; a cut name.
func (f *flame) label(b *box, room int) string {
	share := figures.Share(b.weight / f.whole)
	if b.mixed {
		n := fmt.Sprint(f.dots, len(b.rows))
		frames := f.dots + figures.Count(len(b.rows), "frame")
		return firstThatFits(room, frames+" "+share, n+" "+share, n, f.dots)
	}
	name := f.table.Label(b.rows[0])
	full := name + " " + figures.Amount(b.weight, f.table.Columns[0].Unit) + " " + share
	if grid.Columns(full) <= room {
		return full
	}
	if left := room - len(share) - 1; left >= 8 || left >= grid.Columns(name) {
		return grid.Fit(name, left, f.dots) + " " + share
	}
	return grid.Fit(name, room, f.dots)
}

func firstThatFits(room int, texts ...string) string {
	for _, text := range texts {
		if grid.Columns(text) <= room {
			return text
		}
	}
	return ""
}

// flameColor picks one of the warm backgrounds by name, so that a kernel looks the same wherever it stands.
func flameColor(name string) string {
	backgrounds := [...]int{180, 215, 222, 216, 179, 223, 186, 209}
	hash := fnv.New32a()
	io.WriteString(hash, name)
	return fmt.Sprintf("\x1b[48;5;%d;38;5;16m", backgrounds[hash.Sum32()%uint32(len(backgrounds))])
}
