package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/viewer"
)

// The measures of a roofline plot.
const (
	roofWidth, roofHeight           = 960.0, 600.0
	roofLeft, roofRight             = 70.0, 24.0
	roofTop, roofBottom             = 48.0, 52.0
	roofLabels                      = 14 // kernels that are named
	roofNameLetters                 = 34
	roofSmallest, roofLargestRadius = 4.0, 22.0
)

// Roofline writes a roofline plot: a dot for each kernel below the ceilings of its device.
func Roofline(w io.Writer, s Source, o Options) error {
	t, err := viewer.NewTable(s.Profile, viewer.Options{Metrics: []string{"time", "intensity", "flop/s", "bound"}, BaseUnits: true, Group: viewer.ByName, Peaks: o.Peaks})
	if err != nil {
		return fmt.Errorf("draw a roofline: %w", err)
	}
	p := &plot{}
	if err := p.roof(t); err != nil {
		return err
	}
	p.dots(t, kernelNames(s.Profile))
	if len(p.points) == 0 {
		return errors.New("draw a roofline: no kernel has both flops and bytes; give kernels a launch_metadata function that returns them, and profile with the triton hook, or measure them with proton run -m counters")
	}
	p.scale()
	p.svg = newSVG(w, roofWidth, roofHeight, "Roofline of "+clean(s.Name))
	p.svg.text(roofLeft, 24, fit(clean(s.Name)+" on "+clean(deviceName(p.device.Device)), roofWidth*0.6, 14), "class", "title")
	p.legend()
	p.grid()
	p.ceilings()
	for _, d := range p.points {
		p.svg.titled(d.title, "circle", "class", d.bound+d.measured, "cx", short(d.x), "cy", short(d.y), "r", short(d.r))
	}
	p.names()
	if p.left > 0 {
		left := figures.Plural(p.left, "kernel that does", "kernels that do") + " not have both flops and bytes, " + figures.Share(p.leftShare) + " of the time"
		p.svg.text(roofLeft, roofHeight-10, "not drawn: "+left, "class", "quiet")
	}
	return p.svg.close()
}

// The columns that the plot is made of, in their order.
const (
	timeColumn = iota
	intensityColumn
	rateColumn
	boundColumn
)

// plot is a roofline in the making.
type plot struct {
	svg            *svg
	device         viewer.Roof
	main           viewer.Ceiling
	points         []point
	left           int // kernels without a place
	leftShare      float64
	x0, x1, y0, y1 float64 // what the axes span
	taken          []area  // what labels must not cover
	measured       bool    // the work of some kernel
}

type point struct {
	name, title, bound string
	measured           string // the class of a dot whose work was measured
	intensity, rate    float64
	share              float64
	x, y, r            float64
}

type area struct{ left, top, right, bottom float64 }

func (a area) meets(b area) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

// fitMiddle cuts a name in its middle, since variants of a kernel differ at both ends.
func fitMiddle(name string, letters int) string {
	runes := []rune(name)
	if len(runes) <= letters {
		return name
	}
	tail := letters / 3
	return string(runes[:letters-tail-1]) + "…" + string(runes[len(runes)-tail:])
}

// roof takes the first device with both ceilings, and of its types the first that the profile counts.
func (p *plot) roof(t *viewer.Table) error {
	for _, r := range t.Roofs() {
		if !math.IsNaN(r.Bytes) && len(r.Ceilings) > 0 {
			p.device, p.main = r, r.Ceilings[0]
			return nil
		}
	}
	if len(t.Notes) > 0 {
		return fmt.Errorf("draw a roofline: %s", t.Notes[0])
	}
	return errors.New("draw a roofline: no device of the profile has known peaks; give them with --peak flops16=990T --peak bytes=4.8T")
}

// dots finds the kernels, the largest first, so that small ones lie on top.
func (p *plot) dots(t *viewer.Table, names map[string]bool) {
	for _, r := range kernelsOf(rowsOf(t), names) {
		v := r.new.Values
		share := v[timeColumn] / t.Total[timeColumn]
		if !placeable(v[intensityColumn]) || !placeable(v[rateColumn]) {
			p.left++
			p.leftShare += max(0, figures.OrZero(share))
			continue
		}
		d := point{name: clean(t.Label(r.new)), bound: t.Text(r.new, boundColumn), intensity: v[intensityColumn], rate: v[rateColumn], share: max(0, figures.OrZero(share))}
		if r.new.Measured > 0 {
			d.measured = " measured"
			p.measured = true
		}
		d.title = fmt.Sprintf("%s\n%s at %s flop/B, %s of the time", clean(r.name), figures.Amount(d.rate, "flop/s"), figures.Number(d.intensity), figures.Share(share))
		d.r = roofSmallest + roofLargestRadius*math.Sqrt(min(d.share, 1))
		p.points = append(p.points, d)
	}
	slices.SortStableFunc(p.points, func(a, b point) int { return figures.Descending(a.share, b.share) })
}

// placeable reports whether a value has a place on a logarithmic axis. A value that no machine reaches is an error of the profile.
func placeable(v float64) bool { return v > 1e-12 && v < 1e30 }

// scale chooses the range of the axes, with a margin around the dots and the ridge, and places the dots.
func (p *plot) scale() {
	ridge := p.main.Rate / p.device.Bytes
	p.x0, p.x1, p.y0, p.y1 = ridge, ridge, p.main.Rate, p.main.Rate
	for _, d := range p.points {
		p.x0, p.x1 = min(p.x0, d.intensity), max(p.x1, d.intensity)
		p.y0, p.y1 = min(p.y0, d.rate), max(p.y1, d.rate)
	}
	p.x0, p.x1, p.y0, p.y1 = p.x0/2.5, p.x1*4, p.y0/3, p.y1*2.2
	for i := range p.points {
		d := &p.points[i]
		d.x, d.y = p.atX(d.intensity), p.atY(d.rate)
		p.taken = append(p.taken, area{d.x - d.r*0.8, d.y - d.r*0.8, d.x + d.r*0.8, d.y + d.r*0.8})
	}
}

func (p *plot) atX(v float64) float64 {
	return roofLeft + math.Log(v/p.x0)/math.Log(p.x1/p.x0)*(roofWidth-roofLeft-roofRight)
}

func (p *plot) atY(v float64) float64 {
	return roofHeight - roofBottom - math.Log(v/p.y0)/math.Log(p.y1/p.y0)*(roofHeight-roofTop-roofBottom)
}

func (p *plot) legend() {
	x := roofWidth - roofRight - 330
	if p.measured {
		x -= 90
	}
	for _, bound := range []string{"compute", "memory"} {
		p.svg.element("circle", "class", bound, "cx", short(x), "cy", "20", "r", "5")
		p.svg.text(x+10, 24, "bound by "+bound, "class", "quiet")
		x += 150
	}
	if p.measured {
		p.svg.element("circle", "class", "measured", "fill", "none", "cx", short(x), "cy", "20", "r", "5")
		p.svg.text(x+10, 24, "measured", "class", "quiet")
	}
}

// grid draws the axes: a line at every power of ten, numbers at 2 and 5 too where there are few of them.
func (p *plot) grid() {
	bottom, right := roofHeight-roofBottom, roofWidth-roofRight
	for _, v := range logTicks(p.x0, p.x1) {
		x := p.atX(v)
		p.svg.element("path", "class", "grid", "d", fmt.Sprintf("M%s %sV%s", short(x), short(roofTop), short(bottom)))
		p.svg.text(x, bottom+16, fmt.Sprintf("%g", v), "class", "quiet", "text-anchor", "middle")
	}
	for _, v := range logTicks(p.y0, p.y1) {
		y := p.atY(v)
		p.svg.element("path", "class", "grid", "d", fmt.Sprintf("M%s %sH%s", short(roofLeft), short(y), short(right)))
		p.svg.text(roofLeft-8, y+4, tickRate(v), "class", "quiet", "text-anchor", "end")
	}
	p.svg.text(right, bottom+34, "arithmetic intensity, flop/B", "class", "quiet", "text-anchor", "end")
	p.svg.text(8, roofTop-8, "flop/s", "class", "quiet")
}

// tickRate writes a round rate with the prefix of its unit; the axis names the unit.
func tickRate(v float64) string {
	unit := figures.Flops.Largest(v)
	return fmt.Sprintf("%.3g %s", v/unit.Factor, strings.TrimSuffix(unit.Label, "flop"))
}

func logTicks(from, to float64) []float64 {
	steps := []float64{1}
	if to/from < 1000 {
		steps = []float64{1, 2, 5}
	}
	var ticks []float64
	for power := math.Floor(math.Log10(from)); power <= math.Log10(to); power++ {
		for _, step := range steps {
			if v := step * math.Pow(10, power); v >= from && v <= to {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

// ceilings draws the slope of the memory and the tops of the types that the profile counts, and names them.
func (p *plot) ceilings() {
	bytes := p.device.Bytes
	for _, c := range p.device.Ceilings {
		ridge := max(p.x0, c.Rate/bytes)
		if c == p.main || !c.Recorded || c.Rate > p.y1 || ridge > p.x1 {
			continue
		}
		p.svg.element("path", "class", "other", "d", fmt.Sprintf("M%s %sH%s", short(p.atX(ridge)), short(p.atY(c.Rate)), short(p.atX(p.x1))))
		p.label(roofWidth-roofRight-4-widthOf(c.DType+" "+figures.Amount(c.Rate, "flop/s")), p.atY(c.Rate)-6, c.DType+" "+figures.Amount(c.Rate, "flop/s"), "quiet halo")
	}
	start, ridge := max(p.x0, p.y0/bytes), min(p.main.Rate/bytes, p.x1)
	p.svg.element("path", "class", "ceiling", "d", fmt.Sprintf("M%s %sL%s %sH%s", short(p.atX(start)), short(p.atY(start*bytes)),
		short(p.atX(ridge)), short(p.atY(ridge*bytes)), short(p.atX(p.x1))))
	p.svg.out.WriteString("\n")
	p.slope(start, ridge)
	top := p.main.DType + " " + figures.Amount(p.main.Rate, "flop/s")
	p.label(roofWidth-roofRight-4-widthOf(top), p.atY(p.main.Rate)-8, top, "halo")
	p.taken = append(p.taken, area{p.atX(ridge), p.atY(p.main.Rate) - 2, roofWidth, p.atY(p.main.Rate) + 2})
}

// slope names the memory's ceiling along its line, and keeps other labels off the line.
func (p *plot) slope(start, ridge float64) {
	x0, y0, x1, y1 := p.atX(start), p.atY(start*p.device.Bytes), p.atX(ridge), p.atY(ridge*p.device.Bytes)
	for i := range 60 {
		x, y := x0+(x1-x0)*float64(i)/60, y0+(y1-y0)*float64(i)/60
		p.taken = append(p.taken, area{x - 3, y - 5, x + (x1-x0)/60 + 3, y + 5})
	}
	text := "memory " + figures.Amount(p.device.Bytes, "B/s")
	if length := math.Hypot(x1-x0, y1-y0); length > widthOf(text)+20 {
		angle := math.Atan2(y1-y0, x1-x0) * 180 / math.Pi
		x, y := (x0+x1)/2, (y0+y1)/2
		p.svg.text(x, y-8, text, "class", "halo", "text-anchor", "middle", "transform", fmt.Sprintf("rotate(%s %s %s)", short(angle), short(x), short(y)))
	}
}

// label writes a text that other labels keep off.
func (p *plot) label(x, y float64, text, class string) {
	p.svg.text(x, y, text, "class", class)
	p.taken = append(p.taken, labelArea(x, y, text))
}

func labelArea(x, y float64, text string) area {
	return area{x - 2, y - 11, x + widthOf(text) + 2, y + 4}
}

// names labels the largest dots where there is room: right of the dot, left of it, above, below.
func (p *plot) names() {
	page := area{roofLeft, roofTop, roofWidth - roofRight, roofHeight - roofBottom}
	named := 0
	for _, d := range p.points {
		if named == roofLabels {
			return
		}
		text := fitMiddle(d.name, roofNameLetters)
		w, r := widthOf(text), d.r+5
		for _, at := range [][2]float64{{d.x + r, d.y + 4}, {d.x - r - w, d.y + 4}, {d.x - w/2, d.y - r - 1}, {d.x - w/2, d.y + r + 10}} {
			a := labelArea(at[0], at[1], text)
			inside := a.left > page.left && a.right < page.right && a.top > page.top && a.bottom < page.bottom
			if inside && !slices.ContainsFunc(p.taken, a.meets) {
				p.label(at[0], at[1], text, "halo")
				named++
				break
			}
		}
	}
}
