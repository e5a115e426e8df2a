package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// The measures of a flame graph.
const (
	flameWidth  = 1200.0
	flameRow    = 20.0
	flameTop    = 34.0
	flameEdge   = 10.0
	flameNarrow = 0.8 // frames narrower than this are left out, and counted
	flameDeep   = 400 // levels that a picture has at most
)

// Flame writes a flame graph: the root on top, each frame as wide as its part of the first metric.
func Flame(w io.Writer, s Source, o Options) error {
	main, err := mainMetric(s.Profile)
	if err != nil {
		return err
	}
	t, err := tableOf(s.Profile, []viewer.Metric{main}, viewer.ByPath, o.Peaks)
	if err != nil {
		return err
	}
	f := &flame{table: t, noDevices: namesNoDevice(s.Profile), unit: unitOf(&t.Columns[0]), widths: weigh(t)}
	if f.total = f.widths[t.Root]; !(f.total > 0) {
		return fmt.Errorf("draw a flame graph of %s: no frame has more than 0 of it; choose another metric", main.Name)
	}
	if f.full, err = viewer.Labels(viewer.FullName); err != nil {
		return err
	}
	f.place()
	f.svg = newSVG(w, flameWidth, flameTop+float64(f.levels)*flameRow+flameEdge, "Flame graph of "+clean(s.Name))
	title := fmt.Sprintf("%s · %s %s", clean(s.Name), labelOf(&t.Columns[0]), figures.Amount(f.total, f.unit))
	f.svg.text(flameEdge, 22, fit(title, flameWidth*0.7, 14), "class", "title")
	if f.left > 0 {
		f.svg.text(flameWidth-flameEdge, 22, figures.Plural(f.left, "frame is too narrow to draw", "frames are too narrow to draw"), "class", "quiet", "text-anchor", "end")
	}
	for _, b := range f.boxes {
		f.box(b)
	}
	return f.svg.close()
}

// mainMetric is the first metric of a page that adds up.
func mainMetric(p *profile.Profile) (viewer.Metric, error) {
	all := wanted(p)
	at := slices.IndexFunc(all, func(m viewer.Metric) bool { return m.Inclusive && !m.Text && !m.Derived })
	if at < 0 {
		return viewer.Metric{}, errNothingAdds
	}
	return all[at], nil
}

type flame struct {
	svg       *svg
	table     *viewer.Table
	noDevices bool
	unit      string
	full      func(string) string
	widths    map[*viewer.Row]float64
	total     float64
	boxes     []flameBox
	levels    int
	left      int
}

type flameBox struct {
	row   *viewer.Row
	x, w  float64
	depth int
}

// weigh gives every row its value, or those of its children where they are more: user metrics need not add up.
func weigh(t *viewer.Table) map[*viewer.Row]float64 {
	all := slices.Collect(t.All())
	widths := make(map[*viewer.Row]float64, len(all))
	for _, r := range slices.Backward(all) {
		below := 0.0
		for _, c := range r.Children {
			below += widths[c]
		}
		widths[r] = max(below, figures.OrZero(r.Values[0]))
	}
	return widths
}

// place finds the boxes, parents first.
func (f *flame) place() {
	scale := (flameWidth - 2*flameEdge) / f.total
	for pending := []flameBox{{row: f.table.Root, x: flameEdge, w: flameWidth - 2*flameEdge}}; len(pending) > 0; {
		b := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		f.boxes = append(f.boxes, b)
		f.levels = max(f.levels, b.depth+1)
		x := b.x
		below := []flameBox{}
		for _, c := range b.row.Children {
			w := f.widths[c] * scale
			if w >= flameNarrow && b.depth+1 < flameDeep {
				below = append(below, flameBox{row: c, x: x, w: w, depth: b.depth + 1})
			} else {
				f.left++
			}
			x += w
		}
		slices.Reverse(below)
		pending = append(pending, below...)
	}
}

func (f *flame) box(b flameBox) {
	y := flameTop + float64(b.depth)*flameRow
	name := clean(f.full(b.row.Name))
	value := f.widths[b.row]
	title := fmt.Sprintf("%s\n%s, %s", name, figures.Amount(value, f.unit), figures.Share(value/f.total))
	class := fmt.Sprintf("k%d", kindOf(b.row.Node, f.noDevices))
	f.svg.titled(title, "rect", "class", class, "x", short(b.x), "y", short(y), "width", short(max(b.w-0.6, 0.4)), "height", short(flameRow-1), "rx", "1.5")
	if text := fit(clean(f.table.Label(b.row)), b.w-8, 12); text != "" {
		f.svg.text(b.x+4, y+14, text, "pointer-events", "none")
	}
}
