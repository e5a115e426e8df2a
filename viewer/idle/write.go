package idle

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// Options say how to print a report.
type Options struct {
	viewer.Terminal
	Rows  int // of each table; 0 for 10
	Names viewer.NameFormat
}

// ErrNoTimeline is that a profile does not say when its work ran.
var ErrNoTimeline = errors.New("idle times need to know when work ran, and this profile has only sums: record it with proton run --idle PROGRAM, or a timeline with proton run --data timeline PROGRAM")

// ErrNoWork is that a timeline has nothing that a GPU did.
var ErrNoWork = errors.New("the timeline has no work of a GPU, so that its idle times are unknown")

// Of is the report of a profile's timeline with the longest gaps, or that of a tree with idle times, which has no gaps.
func Of(p *profile.Profile, longest int) (*Report, error) {
	if p.Timeline == nil {
		return ofTree(p)
	}
	r := Find(p.Timeline, longest)
	if len(r.Devices) == 0 {
		return nil, ErrNoWork
	}
	return r, nil
}

// Write prints the idle time of each GPU, what it was spent on, and the longest gaps.
func Write(w io.Writer, p *profile.Profile, o Options) error {
	rows := cmp.Or(o.Rows, 10)
	r, err := Of(p, rows)
	if err != nil {
		return err
	}
	label, err := viewer.Labels(o.Names)
	if err != nil {
		return err
	}
	text := texts{label: label, glyphs: grid.For(o.ASCII), layout: grid.Layout{Width: o.Width, Dots: grid.For(o.ASCII).Dots}, report: r}
	var b strings.Builder
	text.devices(&b)
	text.uncounted(&b)
	text.causes(&b, rows)
	text.gaps(&b)
	text.legend(&b)
	_, err = io.WriteString(w, b.String())
	return err
}

type texts struct {
	label  func(string) string
	glyphs *grid.Glyphs
	layout grid.Layout
	report *Report
}

func (t *texts) devices(b *strings.Builder) {
	lines := []grid.Line{{Cells: grid.Plain("wall", "busy", "", "idle", "", "gaps")}}
	for i := range t.report.Devices {
		d := &t.report.Devices[i]
		lines = append(lines, grid.Line{Cells: grid.Plain(figures.Time(d.Wall), figures.Time(d.Busy), share(d.Busy, d.Wall), figures.Time(d.Idle),
			share(d.Idle, d.Wall), figures.Grouped(d.Gaps)), Name: t.device(i)})
	}
	t.layout.Write(b, lines) //nolint:errcheck // a strings.Builder
}

// uncounted says what does not count, the time before and after the work of a GPU, and that a stream seems to have done two things at once.
func (t *texts) uncounted(b *strings.Builder) {
	lines := t.around()
	for i, o := range t.report.Overlaps {
		if i == mostOverlaps {
			lines = append(lines, fmt.Sprintf("so do %s", figures.Count(len(t.report.Overlaps)-i, "more stream")))
			break
		}
		lines = append(lines, fmt.Sprintf("%s%s overlaps itself: %s of %s pieces of work begin before the one before them has ended, for %s. Kernels of programmatic dependent launches and of graphs do; else an end is recorded too late",
			t.on(o.Device), term.Printable(o.Lane), figures.Grouped(o.Early), figures.Grouped(o.Work), figures.Time(o.Nanos)))
	}
	for i, line := range lines {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(term.Broken(line, 0, t.layout.Width))
	}
}

const mostOverlaps = 4

// around says what the timeline has before and after the work of the GPUs, of many the most.
func (t *texts) around() (lines []string) {
	var most Device
	for i := range t.report.Devices {
		d := &t.report.Devices[i]
		most.Before, most.After = max(most.Before, d.Before), max(most.After, d.After)
		var parts []string
		if d.Before > 0 {
			parts = append(parts, figures.Time(d.Before)+" before the first work")
		}
		if d.After > 0 {
			parts = append(parts, figures.Time(d.After)+" after the last")
		}
		if parts != nil {
			lines = append(lines, fmt.Sprintf("%snot counted: %s, where the timeline has no work of this GPU", t.on(i), strings.Join(parts, " and ")))
		}
	}
	if len(lines) > 2 {
		return []string{fmt.Sprintf("not counted: up to %s before the first work of a GPU and up to %s after its last, where the timeline has no work of it", figures.Time(most.Before), figures.Time(most.After))}
	}
	return lines
}

func share(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return figures.Share(float64(part) / float64(whole))
}

func (t *texts) device(i int) string {
	d := &t.report.Devices[i]
	name := strings.TrimSpace("GPU " + d.ID)
	if d.Process != "" {
		name = d.Process + " " + name
	}
	return term.Printable(name)
}

// causes prints what idle time was spent on; several GPUs have their own rows.
func (t *texts) causes(b *strings.Builder, rows int) {
	all := t.report.Causes
	if len(all) == 0 {
		return
	}
	idle := int64(0)
	for i := range t.report.Devices {
		idle += t.report.Devices[i].Idle
	}
	b.WriteString("\n")
	lines := []grid.Line{{Cells: grid.Plain("idle", "share", "gaps", "longest", "doing"), Name: "at"}}
	for i := range all[:min(rows, len(all))] {
		c := &all[i]
		lines = append(lines, grid.Line{Cells: grid.Plain(figures.Time(c.Nanos), share(c.Nanos, idle), figures.Grouped(c.Gaps), longest(c.Longest),
			c.Doing.String()), Name: t.on(c.Device) + t.path(c.Path)})
	}
	if more := all[min(rows, len(all)):]; len(more) > 0 {
		rest := int64(0)
		for i := range more {
			rest += more[i].Nanos
		}
		lines = append(lines, grid.Line{Cells: grid.Plain(figures.Time(rest), share(rest, idle), "", "", ""), Name: fmt.Sprintf("%s %d more", t.glyphs.Dots, len(more))})
	}
	t.layout.Write(b, lines, 4) //nolint:errcheck // a strings.Builder
}

func longest(nanos int64) string {
	if nanos == 0 {
		return "-"
	}
	return figures.Time(nanos)
}

func (t *texts) gaps(b *strings.Builder) {
	if len(t.report.Longest) == 0 {
		return
	}
	b.WriteString("\nlongest gaps\n")
	lines := []grid.Line{{Cells: grid.Plain("from", "idle", "mostly", ""), Name: "at, and what ended it"}}
	for i := range t.report.Longest {
		g := &t.report.Longest[i]
		then := t.glyphs.Arrow + " " + term.Printable(t.label(g.Then))
		lines = append(lines, grid.Line{Cells: grid.Plain("+"+figures.Time(g.Start-t.report.First), figures.Time(g.Nanos), g.Doing.String(), share(g.Part, g.Nanos)),
			Name: t.on(g.Device) + t.path(g.Path) + " " + then})
	}
	t.layout.Write(b, lines, 2) //nolint:errcheck // a strings.Builder
}

// on names the GPU of a row where there are several.
func (t *texts) on(device int) string {
	if len(t.report.Devices) < 2 {
		return ""
	}
	return t.device(device) + ": "
}

func (t *texts) path(path Path) string {
	frames := path.Frames()
	if len(frames) == 0 {
		return "(outside of scopes)"
	}
	names := make([]string, len(frames))
	for i, name := range frames {
		names[i] = term.Printable(t.label(name))
	}
	text := strings.Join(names, separator)
	for t.layout.Width > 0 && len(names) > 1 && grid.Columns(text) > t.layout.Width-numbersOfRow {
		names = names[1:] // the innermost frames say more
		text = t.glyphs.Dots + separator + strings.Join(names, separator)
	}
	return text
}

const (
	separator    = " > "
	numbersOfRow = 46 // columns that the numbers of a row take
)

// legend explains the words that were used.
func (t *texts) legend(b *strings.Builder) {
	var used [len(Means)]bool
	for i := range t.report.Causes {
		used[t.report.Causes[i].Doing] = true
	}
	if len(t.report.Causes) > 0 {
		b.WriteString("\n")
	}
	for doing, means := range Means {
		if used[doing] {
			b.WriteString(term.Legend(9, t.layout.Width, [2]string{words[doing], means}))
		}
	}
}

// Schema names the layout of WriteJSON's document. Keys may be added.
const Schema = "goproton.idle/1"

// WriteJSON prints the whole report; docs/viewer.md describes its keys. Call paths are written out one after the other, since all of them
// together may be much longer than the timeline.
func WriteJSON(w io.Writer, p *profile.Profile) error {
	r, err := Of(p, 1000)
	if err != nil {
		return err
	}
	doc := struct {
		Schema   string    `json:"schema"`
		Devices  []Device  `json:"devices"`
		Causes   []Cause   `json:"causes"`
		Gaps     []Gap     `json:"gaps"`
		Overlaps []Overlap `json:"overlaps"`
	}{Schema, r.Devices, []Cause{}, []Gap{}, append([]Overlap{}, r.Overlaps...)}
	return jsontext.WriteLists(w, doc, "",
		jsontext.List{Key: "causes", Len: len(r.Causes), At: func(i int) any { return r.Causes[i] }},
		jsontext.List{Key: "gaps", Len: len(r.Longest), At: func(i int) any { return r.Longest[i] }})
}

// ofTree is the report of a tree that was recorded with idle times.
func ofTree(p *profile.Profile) (*Report, error) {
	r, paths := &Report{Devices: []Device{{}}}, &profile.Paths{}
	path := []int32{0}                         // of the node and those above it
	var idles, busies, allGaps, lowest float64 // what a damaged file has may be beyond 63 bits
	found := false
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		if depth > 0 {
			path = append(path[:depth], paths.Below(path[depth-1], n.Name))
		}
		idle := n.Number(profile.IdleMetric)
		if math.IsNaN(idle) {
			return true
		}
		found = true
		busy, gaps := figures.OrZero(n.Number(profile.BusyMetric)), figures.OrZero(n.Number(profile.IdleGapsMetric))
		idles, busies, allGaps, lowest = idles+idle, busies+busy, allGaps+gaps, min(lowest, idle, busy, gaps)
		if idle > 0 {
			r.Causes = append(r.Causes, Cause{Doing: Before, Path: Path{paths, path[depth]}, Nanos: int64(idle), Gaps: int(gaps)})
		}
		return true
	})
	switch {
	case !found:
		return nil, ErrNoTimeline
	case !(lowest >= 0 && idles+busies < math.MaxInt64 && allGaps < math.MaxInt64):
		return nil, errors.New("idle times are below 0, or together more than a time can be: the file is damaged")
	}
	r.Devices[0] = Device{Idle: int64(idles), Busy: int64(busies), Wall: int64(idles) + int64(busies), Gaps: int(allGaps)}
	slices.SortStableFunc(r.Causes, func(a, b Cause) int { return cmp.Compare(b.Nanos, a.Nanos) })
	return r, nil
}
