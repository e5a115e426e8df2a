package viewer

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// configs are the rows of one kernel below one frame that differ in how the kernel was compiled or launched.
type configs struct {
	kernel string
	below  *Row
	rows   []*Row
	values []map[string]string // by row: the parameters
	keys   []string            // in order of first use
}

var inAngles = regexp.MustCompile(`_?<([^<>:]+):([^<>]*)>`)

// configOf takes the parameters off the name of a frame: those that a program's launch_metadata writes, as in matmul_<warps:8>_<stages:3>, or those
// behind the bar of a specialisation, as in matmul [M=64 | BLOCK=32 num_warps=4].
func configOf(name string) (kernel string, pairs [][2]string) {
	if head, inside, found := strings.Cut(strings.TrimSuffix(name, "]"), " ["); found && strings.HasSuffix(name, "]") {
		arguments, constants, several := strings.Cut(inside, "| ")
		for _, word := range strings.Fields(constants) {
			if key, value, is := strings.Cut(word, "="); is && several {
				pairs = append(pairs, [2]string{key, value})
			}
		}
		return strings.TrimSuffix(head+" ["+strings.TrimSpace(arguments)+"]", " []"), pairs
	}
	if !strings.Contains(name, "<") { // as most names
		return name, nil
	}
	for _, m := range inAngles.FindAllStringSubmatch(name, -1) {
		pairs = append(pairs, [2]string{m[1], m[2]})
	}
	return inAngles.ReplaceAllString(name, ""), pairs
}

// Settings are the parameters in the name of a frame: {"warps": "8", "grid": "512x1x1"}.
func Settings(name string) map[string]string {
	_, pairs := configOf(name)
	all := map[string]string{}
	for _, p := range pairs {
		all[p[0]] = p[1]
	}
	return all
}

// WithoutSettings is the name of a frame without these.
func WithoutSettings(name string) string {
	kernel, _ := configOf(name)
	return kernel
}

// wantConfigs has the time of one launch as the first metric, if the profile has it: the configurations are compared by it.
func wantConfigs(p *profile.Profile, o *Options) {
	var first []string
	for _, m := range Metrics(p) {
		if (m.Name == "avg_time" || m.Name == "count") && !slices.Contains(o.Metrics, m.Name) {
			first = append(first, m.Name)
		}
	}
	slices.Sort(first)
	o.Metrics = append(first, o.Metrics...)
}

// configurations finds the groups of two rows or more.
func configurations(t *Table) (all []*configs) {
	for up := range t.All() {
		byKernel := map[string]*configs{}
		for _, r := range up.Children {
			kernel, pairs := configOf(r.Name)
			if len(pairs) == 0 || math.IsNaN(r.Values[0]) {
				continue
			}
			g := byKernel[kernel]
			if g == nil {
				g = &configs{kernel: kernel, below: up}
				byKernel[kernel] = g
				all = append(all, g)
			}
			of := map[string]string{}
			for _, p := range pairs {
				if of[p[0]] = p[1]; !slices.Contains(g.keys, p[0]) {
					g.keys = append(g.keys, p[0])
				}
			}
			g.rows, g.values = append(g.rows, r), append(g.values, of)
		}
	}
	return slices.DeleteFunc(all, func(g *configs) bool { return len(g.rows) < 2 })
}

// printConfigs prints a table for each kernel with several configurations, the fastest first.
func printConfigs(out *bufio.Writer, t *Table, p *Terminal) error {
	groups := configurations(t)
	if len(groups) == 0 {
		t.Notes = append(t.Notes, "no kernel has several configurations below one frame: names with <warps:8> of a launch_metadata have them, and with a trace the frames of --launches --trace DIR")
	}
	for i, g := range groups {
		if i > 0 {
			out.WriteByte('\n')
		}
		if err := g.print(out, t, p); err != nil {
			return err
		}
	}
	return nil
}

func (g *configs) print(out *bufio.Writer, t *Table, p *Terminal) error {
	order := make([]int, len(g.rows))
	for i := range order {
		order[i] = i
	}
	time := func(i int) float64 { return g.rows[i].Values[0] }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(time(a), time(b)) })
	best, worst := order[0], order[len(order)-1]
	text := fmt.Sprintf("%s: %d configurations below %s; the worst takes %s times the best", term.Printable(g.kernel), len(g.rows),
		term.Printable(strings.Join(g.below.Path(), " > ")), figures.Places(time(worst)/time(best), 2))
	var differing []string
	for _, key := range g.keys {
		if value := g.values[0][key]; slices.ContainsFunc(g.values, func(v map[string]string) bool { return v[key] != value }) {
			differing = append(differing, key)
		} else {
			text += fmt.Sprintf("; all have %s %s", term.Printable(key), term.Printable(value))
		}
	}
	out.WriteString(term.Broken(text, 2, p.Width))
	heads, units := []string{""}, []string{""}
	var forms []figures.Form
	for i := range t.Columns {
		heads, units = append(heads, t.Columns[i].Label), append(units, t.Columns[i].Unit)
		forms = append(forms, figures.FormFor(func(yield func(float64) bool) {
			for _, r := range g.rows {
				if !yield(r.Values[i]) {
					return
				}
			}
		}))
	}
	for _, key := range differing {
		heads, units = append(heads, term.Printable(key)), append(units, "")
	}
	lines := []grid.Line{{Cells: grid.Plain(heads...)}, {Cells: grid.Plain(units...)}}
	for _, i := range order {
		cells := []string{map[int]string{best: "best", worst: "worst"}[i]}
		for c := range t.Columns {
			if t.Columns[c].Text {
				cells = append(cells, t.Text(g.rows[i], c))
			} else {
				cells = append(cells, forms[c].Text(g.rows[i].Values[c]))
			}
		}
		for _, key := range differing {
			cells = append(cells, term.Printable(cmp.Or(g.values[i][key], "-")))
		}
		lines = append(lines, grid.Line{Cells: grid.Plain(cells...)})
	}
	return grid.Layout{Width: p.Width}.Write(out, lines, 0)
}
