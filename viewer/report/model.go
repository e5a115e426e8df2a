package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/compare"
	"github.com/goproton/goproton/viewer/listing"
)

// head is the part of a page's data that is not an array, written as JSON.
type head struct {
	Title    string         `json:"title"`
	Made     string         `json:"made"` // program and version
	Diff     bool           `json:"diff"`
	Files    []file         `json:"files"` // one, or A and B
	Notes    []string       `json:"notes"`
	Strings  []string       `json:"strings"`
	Labels   []string       `json:"labels"` // of the strings; "" for one that is its own
	Columns  []column       `json:"columns"`
	Metrics  []metric       `json:"metrics"`
	Util     int            `json:"util"`     // column, -1 without
	Launched uint64         `json:"launched"` // kernels, without copies and fills
	Tree     rows           `json:"tree"`
	Flat     rows           `json:"flat"`
	Roofline *rooflineHead  `json:"roofline,omitempty"`
	Timeline *timelineHead  `json:"timeline,omitempty"`
	Idle     *idleTab       `json:"idle,omitempty"`
	Inside   []insideKernel `json:"inside,omitempty"`
	Launches *launchTab     `json:"launches,omitempty"`
	IR       *irTab         `json:"ir,omitempty"`
	Source   *listing.Page  `json:"source,omitempty"`
}

// file is one profile that went into a page.
type file struct {
	Name    string       `json:"name"`
	Info    profile.Info `json:"info"`
	Devices []device     `json:"devices"`
}

type device struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Arch   string `json:"arch"` // as people read it
	SMs    int64  `json:"sms"`
	Clock  int64  `json:"clock"`  // kHz
	Memory int64  `json:"memory"` // kHz
	Bus    int64  `json:"bus"`    // bits
	Name   string `json:"name,omitempty"`
}

// column is one column of both tables of a page.
type column struct {
	Name       string   `json:"name"`
	Label      string   `json:"label"`
	Unit       string   `json:"unit"` // ns, B, flop, flop/s, B/s, %, flop/B, or the unit in the metric's name
	Role       string   `json:"role,omitempty"`
	About      string   `json:"about,omitempty"`
	Shown      bool     `json:"shown,omitempty"`      // until the reader chooses
	Tip        bool     `json:"tip,omitempty"`        // worth a line at the pointer
	Signed     bool     `json:"signed,omitempty"`     // a change: more is written with a plus
	Percentile bool     `json:"percentile,omitempty"` // has no more digits than are known
	Texts      []string `json:"texts,omitempty"`      // values number these
	recorded   bool     // exactly what was measured
	of         func(r *row) float64
}

// Roles of columns that belong to another one.
const (
	roleOwn   = "own"   // without what is below the frame
	roleShare = "share" // of the whole program
	roleOld   = "old"   // of profile A
	roleDelta = "delta" // B - A
	roleRatio = "ratio" // (B - A) / A, in percent
)

// metric is one that adds up over subtrees, so that widths and shares can show it. The numbers are columns, -1 where there is none.
type metric struct {
	Label  string `json:"label"`
	Unit   string `json:"unit"`
	Column int    `json:"column"`
	Old    int    `json:"old"`
	Delta  int    `json:"delta"`
	Ratio  int    `json:"ratio"`
}

// rows are the arrays of a table.
type rows struct {
	Count  int       `json:"count"`
	Name   section   `json:"name"`
	Depth  *section  `json:"depth,omitempty"`
	Kind   *section  `json:"kind,omitempty"`
	Side   *section  `json:"side,omitempty"`
	Values []section `json:"values"` // by column
}

// row is a frame of one profile, or of two that are compared.
type row struct {
	new, old *viewer.Row  // nil where a profile does not have it
	diff     *compare.Row // nil for one profile
	name     string       // as recorded
	depth    int
	side     side
}

// side says which of two profiles has a frame.
type side uint64

const (
	both side = iota
	onlyOld
	onlyNew
)

// kind is what a frame stands for.
type kind uint64

const (
	scopeKind kind = iota
	lineKind       // file:line@function
	kernelKind
	markerKind // the root, <captured_at>
	copyKind   // a copy, a fill or a wait: not a kernel
)

// kindOf derives the kind of a frame from its name and metrics. Profiles of other tools do not name the device that a kernel ran on;
// there kernels are the frames without any below them.
func kindOf(n *profile.Node, noDevices bool) kind {
	_, onDevice := n.Metric("device_id")
	switch {
	case profile.WorkOf(n.Name) != profile.KernelWork:
		return copyKind
	case onDevice, noDevices && len(n.Children) == 0 && n.Name != "ROOT":
		return kernelKind
	case n.Name == "ROOT", strings.HasPrefix(n.Name, "<") && strings.HasSuffix(n.Name, ">"):
		return markerKind
	case strings.Contains(n.Name, "@") && strings.Contains(n.Name, ":"):
		return lineKind
	}
	return scopeKind
}

// namesNoDevice reports whether no frame of a profile names the device that it ran on.
func namesNoDevice(p *profile.Profile) bool {
	return !p.Root.Any(func(n *profile.Node) bool { _, names := n.Metric("device_id"); return names })
}

// kernelNames are the names that kernels of the profiles have. A scope may have the same.
func kernelNames(profiles ...*profile.Profile) map[string]bool {
	found := map[string]bool{}
	for _, p := range profiles {
		noDevices := namesNoDevice(p)
		p.Root.Walk(func(n *profile.Node, _ int) bool {
			if kindOf(n, noDevices) == kernelKind {
				found[n.Name] = true
			}
			return true
		})
	}
	return found
}

// kernelLaunches is how many kernels a profile counts. Copies and fills count in the same metric, at frames of their own.
func kernelLaunches(p *profile.Profile) uint64 {
	launches := 0.0
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		if f := n.Number(profile.CountMetric); f > 0 && profile.WorkOf(n.Name) == profile.KernelWork {
			launches += f
		}
		return true
	})
	return uint64(min(launches, math.MaxInt64))
}

// importance orders columns, and chooses those that are shown from the start. Columns that are not listed come last and are hidden.
var importance = []standing{
	{"time", true, false}, {"cpu_time", true, true}, {"cycles", true, false}, {"count", true, true}, {"avg_time", true, true},
	{"avg_cpu_time", false, false}, {"min_time", false, false}, {"median_time", false, false}, {"p95_time", false, true},
	{"max_time", false, false}, {"stddev_time", false, false}, {"util", true, true}, {"bound", true, true}, {"flop/s", true, true},
	{"attainable", false, false}, {"byte/s", true, true}, {"intensity", false, true},
	{"dram_bytes", true, true}, {"traffic_ratio", true, true}, {"l2_hit", false, true}, {"sectors_per_load", false, true}, {"tensor_pipe", false, true},
	{"achieved_occupancy", false, true}, {"measured", false, false},
	{"flop8/s", false, false}, {"flop16/s", false, false}, {"flop32/s", false, false}, {"flop64/s", false, false},
	{"bytes", false, false},
}

type standing struct {
	name       string
	shown, tip bool // see column
}

func rank(name string) int {
	at := slices.IndexFunc(importance, func(s standing) bool { return s.name == name })
	if at < 0 {
		return len(importance)
	}
	return at
}

// wanted lists the metrics of a page. What names a device is not a number to compare, and of hardware counters the figures are read.
func wanted(p *profile.Profile) []viewer.Metric {
	all := viewer.Metrics(p)
	rates := 0 // of one width of operands; if there is only one such rate, it equals flop/s
	for _, m := range all {
		if isWidthRate(m.Name) {
			rates++
		}
	}
	all = slices.DeleteFunc(all, func(m viewer.Metric) bool {
		return m.Name == "device_id" || m.Name == "device_type" || m.Name == "roof_time" || m.Name == "coverage" || m.Name == counters.Launches || counters.IsMetric(m.Name) || rates == 1 && isWidthRate(m.Name)
	})
	sortByImportance(all, p)
	return all
}

func isWidthRate(name string) bool {
	return strings.HasPrefix(name, "flop") && strings.HasSuffix(name, "/s") && name != "flop/s"
}

// sortByImportance puts the metrics first that are known, then the one that the profile's file shows.
func sortByImportance(all []viewer.Metric, p *profile.Profile) {
	shown, _, _ := strings.Cut(p.Shown, " (")
	slices.SortStableFunc(all, func(a, b viewer.Metric) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), figures.OneIf[int](b.Name == shown)-figures.OneIf[int](a.Name == shown))
	})
}

// node is the frame of the profile, the new one's if both have it.
func (r *row) node() *profile.Node {
	if r.new != nil {
		return r.new.Node
	}
	return r.old.Node
}

// tableOf is a profile with the metrics of a page, in base units.
func tableOf(p *profile.Profile, metrics []viewer.Metric, by viewer.Grouping, peaks []string) (*viewer.Table, error) {
	o := viewer.Options{BaseUnits: true, Group: by, Peaks: peaks}
	for _, m := range metrics {
		o.Metrics = append(o.Metrics, m.Name)
	}
	return viewer.NewTable(p, o)
}

// unitOf is a column's unit as the page knows it.
func unitOf(c *viewer.Column) string {
	switch {
	case c.Unit == "" && c.Name == "bytes":
		return "B"
	case c.Unit == "" && strings.HasPrefix(c.Name, "flops"):
		return "flop"
	}
	return c.Unit
}

// labels are what people read for names that programs write.
var labels = map[string]string{
	"time": "GPU time", "avg_time": "per run", "cpu_time": "CPU time", "avg_cpu_time": "CPU per run", "count": "runs",
	"util": "utilisation", "bound": "bound by", "median_time": "median", "p95_time": "p95", "p99_time": "p99", "mean_time": "mean", "min_time": "shortest", "max_time": "longest",
	"stddev_time": "std dev", "dram_bytes": "DRAM bytes", "traffic_ratio": "DRAM / declared", "l2_hit": "L2 hits", "l1_hit": "L1 hits",
}

func labelOf(c *viewer.Column) string {
	if l, ok := labels[c.Name]; ok {
		return l
	}
	return c.Label
}

// columnsOf turns the columns of a table into those of a page for one profile, without those that have nothing.
func (b *builder) columnsOf(t *viewer.Table, metrics []viewer.Metric, has func(column int) bool) (columns []column, rules []metric) {
	for i := range t.Columns {
		if !has(i) {
			continue
		}
		c := &t.Columns[i]
		col := column{Name: c.Name, Label: labelOf(c), Unit: unitOf(c), About: metrics[i].About, recorded: c.Additive && !metrics[i].Derived, Percentile: c.Percentile,
			of: func(r *row) float64 { return r.new.Values[i] }}
		if at := rank(c.Name); at < len(importance) {
			col.Shown, col.Tip = importance[at].shown, importance[at].tip
		}
		if c.Ratio {
			col.Unit, col.of = "%", func(r *row) float64 { return r.new.Values[i] * 100 }
		}
		if c.Text {
			words := b.texts(c.Name)
			col.of = func(r *row) float64 { return words.of(t.Text(r.new, i)) }
		}
		columns = append(columns, col)
		if !c.Text && c.Additive && c.Inclusive {
			rules = append(rules, metric{Label: col.Label, Unit: col.Unit, Column: len(columns) - 1, Old: -1, Delta: -1, Ratio: -1})
			if len(rules) == 1 {
				columns = append(columns, shareColumn(t, i, col), ownColumn(i, col))
			}
		}
	}
	return columns, rules
}

// hasAny reports whether any row has a value of a column: the utilisation of an unknown GPU has none.
func hasAny(t *viewer.Table, column int) bool {
	for r := range t.All() {
		if v := r.Values[column]; v == v || t.Columns[column].Text && t.Text(r, column) != "" {
			return true
		}
	}
	return false
}

func shareColumn(t *viewer.Table, i int, of column) column {
	return column{Name: of.Name + "/%", Label: "share", Unit: "%", Role: roleShare, Shown: true, About: of.Label + ", part of the whole program's",
		of: func(r *row) float64 { return t.Share(r.new, i) * 100 }}
}

func ownColumn(i int, of column) column {
	return column{Name: of.Name + " own", Label: "own " + of.Label, Unit: of.Unit, Role: roleOwn, recorded: true, About: "without what is below the frame",
		of: func(r *row) float64 { return r.new.Own[i] }}
}

// texts returns the index of the texts in a column, which both tables share.
func (b *builder) texts(column string) *words {
	if b.words[column] == nil {
		b.words[column] = &words{index: map[string]float64{}}
	}
	return b.words[column]
}
