package gate

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// WriteText prints a report as text.
func (r *Report) WriteText(w io.Writer, p viewer.Terminal) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s\n", verdict(&p, r.Failed), r.headline())
	for i := range r.Rules {
		rule := &r.Rules[i]
		fmt.Fprintf(out, "\n%s: %s (%s)\n", verdict(&p, rule.Failed), rule.Rule.Text, rule.summary())
		if err := out.Flush(); err != nil {
			return err
		}
		if rows := rule.shown(p.All); len(rows) > 0 {
			if err := (grid.Layout{Width: p.Width}).Write(out, lines(rule, rows, &p)); err != nil {
				return err
			}
		}
	}
	oneSidedText(out, &p, "new", r.New, r.FailOnNew)
	oneSidedText(out, &p, "vanished", r.Vanished, r.FailOnVanished)
	if r.Small > 0 || len(r.Caveats) > 0 {
		out.WriteByte('\n')
	}
	if r.Small > 0 {
		fmt.Fprintf(out, "not compared: %s below --min-time\n", paths(r.Small))
	}
	for _, c := range r.Caveats {
		io.WriteString(out, term.Broken("note: "+c, 2, p.Width))
	}
	return out.Flush()
}

// verdict is a result in the colours of the terminal.
func verdict(p *viewer.Terminal, failed bool) string {
	if failed {
		return p.Paint("FAIL", grid.Worse)
	}
	return p.Paint("pass", grid.Better)
}

// headline says how many rules failed, how many runs were compared, and whether they were tested.
func (r *Report) headline() string {
	failed := 0
	for i := range r.Rules {
		if r.Rules[i].Failed {
			failed++
		}
	}
	how := fmt.Sprintf("tested at alpha %g", r.Alpha)
	if !r.Tested {
		how = "not tested"
	}
	what := fmt.Sprintf("%s before, %s after, %s", figures.Count(len(r.Before), "run"), figures.Count(len(r.After), "run"), how)
	rules := figures.Count(len(r.Rules), "rule")
	verdict := rules + " kept"
	if failed > 0 {
		verdict = fmt.Sprintf("%d of %s broken", failed, rules)
	}
	if r.FailOnNew && len(r.New) > 0 {
		verdict += ", new call paths"
	}
	if r.FailOnVanished && len(r.Vanished) > 0 {
		verdict += ", vanished call paths"
	}
	return verdict + "; " + what
}

func paths(n int) string { return figures.Count(n, "call path") }

// summary counts the outcomes of a rule.
func (r *RuleReport) summary() string {
	by := map[Outcome]int{}
	for i := range r.Verdicts {
		by[r.Verdicts[i].Outcome]++
	}
	text := paths(len(r.Verdicts))
	for _, each := range []struct {
		n    int
		what string
	}{{by[Fail], "failed"}, {by[Noise], "over the limit but within the noise"}, {by[Insignificant], "over the limit but not statistically significant"}, {r.Gaps, "without a value in some run"}} {
		if each.n > 0 {
			text += fmt.Sprintf(", %d %s", each.n, each.what)
		}
	}
	return text
}

// shown returns the verdicts to print: all of them in the order of the tree, or the whole program's and those that failed,
// with the largest change first.
func (r *RuleReport) shown(all bool) []*Verdict {
	var rows []*Verdict
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; all || v.Outcome == Fail || v.Whole() {
			rows = append(rows, v)
		}
	}
	if !all {
		slices.SortStableFunc(rows, func(a, b *Verdict) int {
			return cmp.Or(figures.OneIf[int](b.Whole())-figures.OneIf[int](a.Whole()), cmp.Compare(math.Abs(b.Change), math.Abs(a.Change)))
		})
	}
	return rows
}

func lines(rule *RuleReport, rows []*Verdict, p *viewer.Terminal) []grid.Line {
	lines := []grid.Line{{Cells: grid.Plain("", "before", "after", "change", "", "noise", "p"), Name: "call path"}}
	for _, v := range rows {
		cells := grid.Plain(append([]string{string(v.Outcome)}, v.cells(rule.Unit)...)...)
		switch {
		case v.Outcome == Fail && p.Color:
			cells[0].Color = grid.Worse
		case v.Outcome != Fail && !p.All:
			cells[0].Text = ""
		}
		lines = append(lines, grid.Line{Cells: cells, Name: term.Printable(v.Label())})
	}
	return lines
}

// cells are the numbers of a verdict as text: before, after, change, change in percent, noise, p-value.
func (v *Verdict) cells(unit string) []string {
	return []string{figures.Amount(v.Before.Median, unit), figures.Amount(v.After.Median, unit), figures.Signed(figures.Amount(v.Change, unit)),
		figures.Change(v.Relative), v.noise(), probability(v.Adjusted)}
}

// noise prints the noise as a percentage of the baseline's median.
func (v *Verdict) noise() string {
	if math.IsNaN(v.Noise) || v.Before.Median == 0 {
		return figures.Missing
	}
	return "±" + figures.Places(100*v.Noise/math.Abs(v.Before.Median), 1) + "%"
}

func probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return figures.Missing
	case p < 0.001:
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// leastName is how many columns of a name remain, however small the width is.
const leastName = 12

// fewNames is how many call paths of one side are listed by name.
const fewNames = 10

func oneSidedText(out *bufio.Writer, p *viewer.Terminal, what string, list []OneSided, fails bool) {
	if len(list) == 0 {
		return
	}
	if fails {
		what = verdict(p, true) + ": " + what
	}
	fmt.Fprintf(out, "\n%s: %s\n", what, paths(len(list)))
	for i, at := range list {
		if i == fewNames && !p.All {
			fmt.Fprintf(out, "  … and %d more\n", len(list)-i)
			return
		}
		time := ""
		if !math.IsNaN(at.Time) {
			time = "  " + figures.Amount(at.Time, "ns")
		}
		name := term.Printable(at.Label())
		if p.Width > 0 {
			name = grid.Fit(name, max(p.Width-len("  ")-grid.Columns(time), leastName), grid.Lines.Dots)
		}
		fmt.Fprintf(out, "  %s%s\n", name, time)
	}
}
