package viewer

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
)

// View is one way to print a table. Each has a file of its own.
type View struct {
	Name  string
	About string // half a line for --help

	prepare func(p *profile.Profile, o *Options)                 // sets the options that the view needs; may be nil
	print   func(out *bufio.Writer, t *Table, p *Terminal) error // whole lines; the writer's errors are looked at once, after it
}

// views in the order in which they are listed; the first is the default.
var views = []View{
	{"tree", "call paths from the program's start down to its kernels", wantTail, printTree},
	{"flat", "frames by name, what each has of its own and with all below it; what calls itself counts once", wantFlat, printFlat},
	{"top", "the frames with most of their own", wantTop, printFlat},
	{"bottom-up", "frames by name, their callers below them", wantBottomUp, printTree},
	{"table", "the tree as a table with borders", nil, printTable},
	{"configs", "configurations of autotuned kernels: warps, stages and blocks as columns, the best and the worst marked", wantConfigs, printConfigs},
	{"markdown", "the tree as a table for GitHub: job summaries, comments on pull requests", wantTail, printMarkdown},
	{"csv", "a line per row, for spreadsheets and data frames", baseUnits, printCSV},
	{"json", "rows and columns as a document of a promised layout, for programs", baseUnits, printJSON},
}

func (v *View) forPrograms() bool { return v.Name == "csv" || v.Name == "json" }

// baseUnits is for output that programs read: its units must not depend on the values.
func baseUnits(_ *profile.Profile, o *Options) { o.BaseUnits = true }

// wantTail is for people: what is small may be left out.
func wantTail(_ *profile.Profile, o *Options) { o.elide = true }

// Views lists the views.
func Views() []View { return views }

// Terminal describes the terminal that a view is printed on. The zero value is a file: no colour, no limit of width.
type Terminal struct {
	Width int  // columns that a line may take; 0 for any number
	Color bool // terminal colours
	ASCII bool // no characters outside ASCII but those of names
	All   bool // print every row, however small
	Human bool // each value in the unit that suits it, where no unit was requested: 9.899 ms, 930 ns
}

// Render prints a view of a profile and returns notes for the reader, a line each.
func Render(w io.Writer, p *profile.Profile, view string, o Options, terminal Terminal) (notes []string, err error) {
	v, err := ViewByName(view)
	if err != nil {
		return nil, err
	}
	if v.prepare != nil {
		v.prepare(p, &o)
	}
	o.elide = o.elide && !terminal.All
	o.errors = true
	t, err := NewTable(p, o)
	if err != nil {
		return nil, err
	}
	if err := terminal.suits(v, t, &o); err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if place := p.Info.Rank(); place != "" && !v.forPrograms() {
		out.WriteString(term.Fit(term.Printable(place)+"\n\n", terminal.Width))
	}
	if err := v.print(out, t, &terminal); err != nil {
		return nil, err
	}
	return t.Notes, out.Flush()
}

// suits refuses units for people where they would mislead: in views for programs, and where a threshold needs one unit.
func (p *Terminal) suits(v *View, t *Table, o *Options) error {
	if !p.Human {
		return nil
	}
	if v.forPrograms() {
		return badOption("--human chooses units for people; the %s view does not take it", v.Name)
	}
	if c := &t.Columns[0]; o.Threshold > 0 && o.ThresholdUnit == "" && c.quantity != nil {
		return fmt.Errorf("--human gives each value of %s a unit of its own, so the threshold %g has none: name one, for example -m %s", c.Label, o.Threshold, c.Exact)
	}
	return nil
}

// ViewByName finds a view; "" is the default.
func ViewByName(name string) (*View, error) {
	if name == "" {
		return &views[0], nil
	}
	var names []string
	for i := range views {
		if views[i].Name == name {
			return &views[i], nil
		}
		names = append(names, views[i].Name)
	}
	switch name {
	case "source":
		return nil, badOption("the source of a kernel is shown by proton viewer --source; views are of call paths")
	case "flame":
		return nil, badOption("flame graphs are drawn by proton report, and by speedscope from what proton convert -o NAME.speedscope.json writes")
	}
	return nil, badOption("there is no view %q; there are %s", name, strings.Join(names, ", "))
}
