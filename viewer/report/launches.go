package report

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
)

// launchTab is what the Launches tab shows: how long launches took, by what their kernels were compiled for and by their
// arguments.
type launchTab struct {
	Kernels []launchKernel `json:"kernels"`
	More    int            `json:"more"` // kernels that are not on the page
}

type launchKernel struct {
	Name string      `json:"name"`
	Rows []launchRow `json:"rows"` // each specialisation, with its kinds of launches behind it; where two are compared, kinds alone
	times
	Old *times `json:"old,omitempty"` // of A
}

// launchRow is a specialisation or a kind of launches.
type launchRow struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
	Kind  bool   `json:"kind,omitempty"`
	times
	Old     *times  `json:"old,omitempty"`   // of A
	Bytes   float64 `json:"bytes,omitempty"` // per second
	Flops   float64 `json:"flops,omitempty"` // per second
	Roof    float64 `json:"roof,omitempty"`  // share of it
	Bound   string  `json:"bound,omitempty"`
	Counted bool    `json:"counted,omitempty"` // bytes or operations are the trace's, not the program's own
}

// times of launches; without any, Count is how many the trace has.
type times struct {
	Count   uint64  `json:"count"`
	Nanos   uint64  `json:"ns,omitempty"`
	Average float64 `json:"avg,omitempty"`
	Least   uint64  `json:"min,omitempty"`
	Most    uint64  `json:"max,omitempty"`
}

func timesOf(d *profile.Durations, traced int) times {
	if d.Count == 0 {
		return times{Count: uint64(traced)}
	}
	return times{d.Count, d.Nanos, d.Average(), d.Least, d.Most}
}

const (
	mostLaunchKernels = 50
	mostLaunchKinds   = 20 // of a specialisation
)

// launchesOf is the Launches tab's data.
func launchesOf(r *kernels.Run) *launchTab {
	tab := &launchTab{Kernels: []launchKernel{}, More: max(0, len(r.Kernels)-mostLaunchKernels)}
	for _, k := range r.Kernels[:len(r.Kernels)-tab.More] {
		of := launchKernel{Name: clean(k.Name), Rows: []launchRow{}, times: timesOf(&k.Times, k.Traced)}
		for _, row := range k.Rows(math.MaxInt-1, mostLaunchKinds) {
			of.Rows = append(of.Rows, rowOf(&row))
		}
		tab.Kernels = append(tab.Kernels, of)
	}
	return tab
}

// rowOf is a row as the page shows it.
func rowOf(r *kernels.Row) launchRow {
	row := launchRow{Kind: r.Kind, times: timesOf(r.Times, r.Traced)}
	switch {
	case r.Specialisation != nil:
		row.Name, row.About = clean(r.Specialisation.Label), clean(aboutSpecialisation(r.Specialisation))
		row.rate(r.Rates, slices.ContainsFunc(r.Specialisation.Groups, func(g *kernels.Group) bool { return g.Work.Estimated() }))
	case r.Group != nil:
		row.Name, row.About = clean(r.Group.Label), clean(aboutKind(r.Group))
		row.rate(r.Rates, r.Group.Work.Estimated())
	case r.More > 0:
		row.Name = moreKinds(r.More)
	default:
		row.Name = kernels.UnattributedName
	}
	return row
}

// moreKinds names the row with the sum of the kinds of launches that are not on the page.
func moreKinds(n int) string { return fmt.Sprintf("%d more kinds of launches", n) }

// rate adds what the launches of a row reached.
func (r *launchRow) rate(rates *kernels.Rates, counted bool) {
	r.Bytes, r.Flops, r.Roof, r.Bound = rates.BytesPerSecond, rates.FlopsPerSecond, rates.Roof, rates.Bound
	r.Counted = counted && (r.Bytes > 0 || r.Flops > 0)
}

func aboutSpecialisation(s *kernels.Specialisation) string {
	var parts []string
	if s.Registers > 0 {
		parts = append(parts, figures.Count(s.Registers, "register"))
	}
	if s.Shared >= 0 {
		parts = append(parts, figures.Count(s.Shared, "byte")+" of shared memory")
	}
	if s.Hash != "" {
		parts = append(parts, "compilation "+kernels.ShortHash(s.Hash))
	}
	if s.Compilation == nil {
		parts = append(parts, "not in the trace")
	}
	return strings.Join(parts, " · ")
}

// aboutKind is where the first launch stands, for proton reproduce, and all arguments.
func aboutKind(g *kernels.Group) string {
	var parts []string
	if g.File != "" {
		parts = append(parts, fmt.Sprintf("record %d ·", g.Line))
	}
	for _, a := range g.Arguments {
		parts = append(parts, a.Name+"="+a.Value)
	}
	if len(g.Grid) > 0 {
		parts = append(parts, "grid="+kernels.GridText(g.Grid))
	}
	if g.File != "" {
		parts = append(parts, "· of "+filepath.Base(g.File))
	}
	return strings.Join(parts, " ")
}
