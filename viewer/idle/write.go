package idle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// Options say how to print a report.
type Options struct {
	Rows  int // of each table; 0 for 10
	Names viewer.NameFormat
	ASCII bool
	Width int // columns of the terminal; longer lines have their names cut; 0 cuts nothing
}

// ErrNoTimeline is that a profile does not say when its work ran.
var ErrNoTimeline = errors.New("idle times need to know when work ran, and this profile has only sums: record it with proton run --idle PROGRAM, or a timeline with proton run -d trace PROGRAM")

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
	text := texts{label: label, glyphs: grid.For(o.ASCII), layout: grid.Layout{Width: o.Width, Dots: grid.For(o.ASCII).Dots}, report: r, first: start(r)}
	var b strings.Builder
	text.devices(&b)
	text.causes(&b, rows)
	text.gaps(&b)
	text.legend(&b)
	_, err = io.WriteString(w, b.String())
	return err
}

func start(r *Report) int64 {
	if len(r.Longest) == 0 {
		return 0
	}
	first := r.Longest[0].Start
	for _, g := range r.Longest {
		first = min(first, g.Start)
	}
	return first
}

type texts struct {
	label  func(string) string
	glyphs *grid.Glyphs
	layout grid.Layout
	report *Report
	first  int64
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
		if g.Then == "" {
			then = t.glyphs.Arrow + " end of the timeline"
		}
		lines = append(lines, grid.Line{Cells: grid.Plain("+"+figures.Time(g.Start-t.first), figures.Time(g.Nanos()), g.Doing.String(), share(g.Part, g.Nanos())),
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

func (t *texts) path(path []string) string {
	if path = BelowRoot(path); len(path) == 0 {
		return "(outside of scopes)"
	}
	names := make([]string, len(path))
	for i, name := range path {
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
	b.WriteString("\n")
	for doing, means := range Means {
		if used[doing] {
			for _, line := range term.Break(fmt.Sprintf("%-8s %s", Doing(doing), means), 9, t.layout.Width) {
				b.WriteString(line + "\n")
			}
		}
	}
}

// Schema names the layout of WriteJSON's document. Keys may be added.
const Schema = "goproton.idle/1"

// WriteJSON prints the whole report; docs/viewer.md describes its keys.
func WriteJSON(w io.Writer, p *profile.Profile) error {
	r, err := Of(p, 1000)
	if err != nil {
		return err
	}
	type device struct {
		Process string `json:"process,omitempty"`
		ID      string `json:"id"`
		Wall    int64  `json:"wall_ns"`
		Busy    int64  `json:"busy_ns"`
		Idle    int64  `json:"idle_ns"`
		Gaps    int    `json:"gaps"`
	}
	type cause struct {
		Device  int      `json:"device"`
		Doing   string   `json:"doing"`
		Path    []string `json:"path"`
		Nanos   int64    `json:"idle_ns"`
		Gaps    int      `json:"gaps"`
		Longest int64    `json:"longest_ns"`
	}
	type gap struct {
		Device int      `json:"device"`
		Start  int64    `json:"start_ns"`
		Nanos  int64    `json:"idle_ns"`
		Then   string   `json:"then"`
		Doing  string   `json:"doing"`
		Part   int64    `json:"part_ns"`
		Path   []string `json:"path"`
	}
	doc := struct {
		Schema  string   `json:"schema"`
		Devices []device `json:"devices"`
		Causes  []cause  `json:"causes"`
		Gaps    []gap    `json:"gaps"`
	}{Schema: Schema, Causes: []cause{}, Gaps: []gap{}}
	for _, d := range r.Devices {
		doc.Devices = append(doc.Devices, device(d))
	}
	for _, c := range r.Causes {
		doc.Causes = append(doc.Causes, cause{c.Device, c.Doing.String(), notNil(c.Path), c.Nanos, c.Gaps, c.Longest})
	}
	for _, g := range r.Longest {
		doc.Gaps = append(doc.Gaps, gap{g.Device, g.Start, g.Nanos(), g.Then, g.Doing.String(), g.Part, notNil(g.Path)})
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(doc)
}

func notNil(path []string) []string { return slices.Concat([]string{}, path) }
