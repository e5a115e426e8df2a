// Package gate decides whether a program became slower: it compares repeated runs from before a change with runs
// from after it, call path by call path, by rules such as "time > 5%".
//
// With enough runs a call path fails a rule about a change only if all of these hold:
//
//   - the medians differ by more than the rule allows;
//   - the medians differ by more than the noise, which is what two runs of the baseline typically differ by, or, of times that are
//     estimates in a single run, twice the standard error of the difference;
//   - the runs after the change rank above (or below) those before it in the one-sided Mann-Whitney test of
//     golang.org/x/perf/benchmath;
//   - the p-value, adjusted for the number of call paths and rules tested, is at most alpha: see family.
//
// The probability that a gate fails identical code is therefore at most alpha. With too few runs for a test the first
// two conditions decide, and a caveat of the report says that no test was made. A rule with a limit ("time > 120ms") compares only the
// median after the change.
package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/compare"
)

// Options say what to decide, and how strictly.
type Options struct {
	Rules   []Rule
	Compare compare.Options // renames and filters; its metrics are those of the rules
	Alpha   float64         // probability of failing anything although nothing changed; 0 means DefaultAlpha
	MinTime Least           // call paths whose median time over all runs is shorter are not compared
	Strict  bool            // too few runs for a test are an error
	OneSides
}

// OneSides say which call paths of one side fail a gate.
type OneSides struct {
	FailOnNew      bool // those of the new runs that the baseline lacks
	FailOnVanished bool // those of the baseline that the new runs lack
}

// Least is a lower limit of a time: in ns, or as a share of the time of the whole program. The larger of the two counts.
type Least struct {
	Nanos, Share float64
}

// DefaultAlpha is the significance level of a gate that sets none.
const DefaultAlpha = 0.05

// ErrNotComparable is wrapped by errors that say why nothing could be decided.
var ErrNotComparable = errors.New("not comparable")

func notComparable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNotComparable, fmt.Sprintf(format, args...))
}

// Report is what a gate decided.
type Report struct {
	Failed        bool
	Before, After []string // names of the runs
	Alpha         float64
	Tested        bool // there were enough runs for the statistical test
	Rules         []RuleReport
	New, Vanished []OneSided // the longest first
	OneSides
	Small   int      // call paths below Options.MinTime
	Caveats []string // what the reader should know, a line each

	root *compare.Row // of all call paths
}

// RuleReport is the result of one rule.
type RuleReport struct {
	Rule     Rule
	Metric   string // with its unit
	Unit     string
	Failed   bool
	Verdicts []Verdict // in the order of the tree
	Gaps     int       // call paths that lack the metric in at least one run, and are not compared
}

// Verdict is the result of one rule for one call path. Amounts are in RuleReport.Unit.
type Verdict struct {
	At
	Before, After Sample
	Change        float64
	Relative      float64 // Change as a part of the median before; infinite where that is 0
	Noise         float64 // median difference between two runs of the baseline, or twice the error of Change; NaN for a single run of exact times
	P             float64 // p-value of the one-sided Mann-Whitney test; NaN where none was made
	Adjusted      float64 // p-value adjusted for all call paths and rules; NaN where no test was made
	Outcome       Outcome
}

// measured reports whether any run has a value other than 0.
func (v Verdict) measured() bool {
	return slices.ContainsFunc(slices.Concat(v.Before.Values, v.After.Values), func(value float64) bool { return value != 0 })
}

// Sample holds the values of one call path in the runs of one side.
type Sample struct {
	Values []float64 // in the order of the runs
	Median float64
	Lo, Hi float64 // confidence interval of the median at 1-alpha; infinite with too few runs
}

// Outcome is the decision for one call path. The JSON report has it by this spelling.
type Outcome string

// The outcomes.
const (
	Pass          Outcome = "pass"          // within what the rule allows
	Fail          Outcome = "fail"          // over the limit of the rule, and significant where there were enough runs for a test
	Noise         Outcome = "noise"         // over the limit, but by no more than runs of the baseline differ
	Insignificant Outcome = "insignificant" // over the limit, but not statistically significant
)

// OneSided is a call path that only one side has.
type OneSided struct {
	At
	Time float64 // median in ns; NaN for a profile without times
}

// At is a call path. It is written out when it is asked for: those of deep recursion take more than all the rest.
type At struct{ row *compare.Row }

// Path are the names of its frames without the root's; none for the whole program.
func (a At) Path() []string { return a.row.Path()[1:] }

// Whole reports whether it is that of the whole program.
func (a At) Whole() bool { return a.row.Parent == nil }

// Label is the path as reports show it.
func (a At) Label() string { return Name(a.row.Labels()[1:]) }

// Run compares the runs before a change with those after it. It returns an error that wraps ErrNotComparable where the runs
// and rules allow no decision.
func Run(before, after []compare.Input, o Options) (*Report, error) {
	if o.Alpha == 0 {
		o.Alpha = DefaultAlpha
	}
	if len(before) == 0 || len(after) == 0 || len(o.Rules) == 0 {
		return nil, notComparable("a baseline, a run to compare with it and a rule are needed")
	}
	g := &gate{Options: o, n: len(before), m: len(after), timeColumn: -1}
	if err := g.compare(slices.Concat(before, after)); err != nil {
		return nil, err
	}
	r := &Report{root: g.diff.Root, Alpha: o.Alpha, Tested: 1/choices(g.n+g.m, g.n) <= o.Alpha*(1+tiny), OneSides: o.OneSides}
	r.Before, r.After = g.diff.Names[:g.n], g.diff.Names[g.n:]
	if err := g.caveats(r); err != nil {
		return nil, err
	}
	rows, err := g.rows(r)
	if err != nil {
		return nil, err
	}
	for i := range o.Rules {
		report, err := g.rule(&o.Rules[i], rows)
		if err != nil {
			return nil, err
		}
		r.Rules = append(r.Rules, report)
	}
	g.decide(r)
	return r, nil
}

// gate is the state of one call of Run.
type gate struct {
	Options
	n, m       int // runs before and after
	diff       *compare.Diff
	timeColumn int // column that MinTime is compared with; -1 when the profiles have no times
}

func (g *gate) compare(inputs []compare.Input) error {
	o := g.Options.Compare
	o.Metrics, o.BaseUnits = metricsOf(g.Rules), true
	if !slices.ContainsFunc(inputs, func(in compare.Input) bool { return !HasTime(in) }) {
		if !slices.Contains(o.Metrics, "time") {
			o.Metrics = append(o.Metrics, "time")
		}
		g.timeColumn = slices.Index(o.Metrics, "time")
	}
	var err error
	if g.diff, err = compare.New(inputs, o); err != nil {
		return fmt.Errorf("%w: %w", ErrNotComparable, err)
	}
	return nil
}

// HasTime reports whether a profile has GPU time.
func HasTime(in compare.Input) bool {
	return in.Profile.Root.Any(func(n *profile.Node) bool { _, has := n.Metric(profile.TimeMetric); return has })
}

// caveats adds notes on the comparison, and one that there were too few runs for a test.
func (g *gate) caveats(r *Report) error {
	r.Caveats = append(r.Caveats, g.diff.Notes...)
	if r.Tested || !slices.ContainsFunc(g.Rules, func(rule Rule) bool { return rule.Kind != Limit }) {
		return nil
	}
	need := 1
	for 1/choices(2*need, need) > g.Alpha*(1+tiny) {
		need++
	}
	runs := fmt.Sprintf("%d + %d runs are too few for a test at alpha %g (it needs %d + %d)", g.n, g.m, g.Alpha, need, need)
	if g.Strict {
		return notComparable("%s; repeat the measurement", runs)
	}
	r.Caveats = append(r.Caveats, runs+": the rules alone decide, and a difference may be noise")
	return nil
}

// rows returns the call paths that both sides have, and records those of one side and those that are too short.
func (g *gate) rows(r *Report) ([]*compare.Row, error) {
	var all []*compare.Row
	least := max(g.MinTime.Nanos, g.MinTime.Share*g.pooledTime(g.diff.Root))
	g.diff.Root.Walk(func(at *compare.Row, depth int) {
		before, after := slices.Contains(at.In[:g.n], true), slices.Contains(at.In[g.n:], true)
		switch {
		case at.Parent != nil && g.pooledTime(at) < least:
			r.Small++
		case !after:
			r.Vanished = append(r.Vanished, OneSided{At{at}, g.medianTime(at, 0, g.n)})
		case !before:
			r.New = append(r.New, OneSided{At{at}, g.medianTime(at, g.n, g.n+g.m)})
		default:
			all = append(all, at)
		}
	})
	if len(all) <= 1 && len(r.New)+len(r.Vanished) > 0 {
		return nil, notComparable("no call path of the baseline is in the new runs; match names that changed with --rename, and see proton diff")
	}
	return all, nil
}

// pooledTime is the median time over the runs of both sides. Choosing call paths by one side's time would make the
// permutation test inexact, since the choice would depend on which runs are on which side.
func (g *gate) pooledTime(r *compare.Row) float64 { return g.medianTime(r, 0, g.n+g.m) }

func (g *gate) medianTime(r *compare.Row, from, to int) float64 {
	if g.timeColumn < 0 {
		return math.NaN()
	}
	return figures.Median(g.values(r, g.timeColumn)[from:to])
}

// values returns a row's values by run. A run that never reached the path counts with 0 if the metric is additive.
func (g *gate) values(r *compare.Row, column int) []float64 {
	all := slices.Clone(r.Values[column])
	for i, v := range all {
		if math.IsNaN(v) && g.diff.Columns[column].Additive {
			all[i] = 0
		}
	}
	return all
}

// rule compares all call paths in a rule's scope, without the statistical test.
func (g *gate) rule(rule *Rule, rows []*compare.Row) (RuleReport, error) {
	column := slices.Index(metricsOf(g.Rules), rule.Metric)
	c := g.diff.Columns[column]
	report := RuleReport{Rule: *rule, Metric: c.Exact, Unit: c.Unit}
	if lacking := g.diff.Lacking(column); len(lacking) > 0 && (c.Exact == "time/ns" || c.Exact == "count") { // every launch has both, where launches are recorded
		return report, notComparable("%s has no %s: it was recorded without; give a run that has it, such as one without --mode counters:set=lines", g.diff.Names[lacking[0]], c.Exact)
	}
	amount, err := rule.amountIn(c.Unit)
	if err != nil {
		return report, fmt.Errorf("%w: %w", ErrNotComparable, err)
	}
	for _, r := range rows {
		if !rule.In(At{r}) {
			continue
		}
		values := g.values(r, column)
		if slices.ContainsFunc(values, func(v float64) bool { return v-v != 0 }) {
			report.Gaps++
			continue
		}
		v := Verdict{At: At{r}, Before: g.sample(values[:g.n]), After: g.sample(values[g.n:]), P: math.NaN(), Adjusted: math.NaN(), Outcome: Pass}
		v.Change = v.After.Median - v.Before.Median
		v.Relative = relative(v.Before.Median, v.After.Median)
		if v.Noise = noise(values[:g.n]); g.n == 1 {
			if wrong := g.diff.Error(r, column, g.n); wrong > 0 {
				v.Noise = 2 * wrong
			}
		}
		switch {
		case !rule.holds(v.Before.Median, v.After.Median, amount):
		case rule.Kind != Limit && math.Abs(v.Change) <= v.Noise:
			v.Outcome = Noise
		default:
			v.Outcome = Fail
		}
		report.Verdicts = append(report.Verdicts, v)
	}
	if why := g.whyNothing(rule, &report, rows); why != "" {
		return report, notComparable("rule %q could never fail: %s", rule.Text, why)
	}
	return report, nil
}

// whyNothing says why a rule could never fail; "" where it could.
func (g *gate) whyNothing(rule *Rule, report *RuleReport, rows []*compare.Row) string {
	switch {
	case len(report.Verdicts) > 0 && (len(rows) == 1 || figures.Nanos(report.Unit) > 0) && !slices.ContainsFunc(report.Verdicts, Verdict.measured):
		return fmt.Sprintf("%s is 0 in every run; check that the program launched GPU work while it was profiled", rule.Metric)
	case len(report.Verdicts) > 0:
		return ""
	case report.Gaps > 0:
		return fmt.Sprintf("none of %s has %s in every run", paths(report.Gaps), rule.Metric)
	case rule.Scope != nil:
		return fmt.Sprintf("no call path that both sides have matches '%s'; see proton viewer for those of a profile", rule.Scope)
	}
	return fmt.Sprintf("it applies to none of %s", paths(len(rows)))
}

func (g *gate) sample(values []float64) Sample {
	s := benchmath.NewSample(slices.Clone(values), &benchmath.Thresholds{CompareAlpha: g.Alpha})
	summary := benchmath.AssumeNothing.Summary(s, 1-g.Alpha)
	return Sample{Values: values, Median: summary.Center, Lo: summary.Lo, Hi: summary.Hi}
}

// noise is the median of the differences between every two runs of one side.
func noise(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	var all []float64
	for i, a := range values {
		for _, b := range values[:i] {
			all = append(all, math.Abs(a-b))
		}
	}
	return figures.Median(all)
}

// decide tests all call paths of all rules about a change together, and decides whether each rule and the gate fail.
func (g *gate) decide(r *Report) {
	if r.Tested {
		g.test(r)
	}
	r.Failed = r.FailOnNew && len(r.New) > 0 || r.FailOnVanished && len(r.Vanished) > 0
	for i := range r.Rules {
		rule := &r.Rules[i]
		rule.Failed = slices.ContainsFunc(rule.Verdicts, func(v Verdict) bool { return v.Outcome == Fail })
		r.Failed = r.Failed || rule.Failed
	}
	byTime := func(a, b OneSided) int { return cmp.Compare(b.Time, a.Time) }
	slices.SortStableFunc(r.New, byTime)
	slices.SortStableFunc(r.Vanished, byTime)
}

func (g *gate) test(r *Report) {
	f := family{before: g.n, after: g.m}
	var tested []*Verdict
	for i := range r.Rules {
		rule := &r.Rules[i]
		if rule.Rule.Kind == Limit {
			continue
		}
		sign := map[bool]float64{true: 1, false: -1}[rule.Rule.Above]
		for j := range rule.Verdicts {
			v := &rule.Verdicts[j]
			f.rows = append(f.rows, centred(slices.Concat(v.Before.Values, v.After.Values)))
			f.signs, f.rules = append(f.signs, sign), append(f.rules, i)
			tested = append(tested, v)
			v.P = g.rankTest(v, sign)
		}
	}
	for i, p := range f.adjusted() {
		v := tested[i]
		v.Adjusted = p
		if v.Outcome == Fail && (p > g.Alpha*(1+tiny) || v.P > g.Alpha*(1+tiny)) {
			v.Outcome = Insignificant
		}
	}
}

// rankTest is the p-value of the Mann-Whitney test in the direction of a rule. benchmath returns the two-sided p-value, half
// of which is the one-sided p-value in the direction of the ranks.
func (g *gate) rankTest(v *Verdict, sign float64) float64 {
	t := &benchmath.Thresholds{CompareAlpha: g.Alpha}
	both := benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(v.Before.Values), t), benchmath.NewSample(slices.Clone(v.After.Values), t))
	if sign*ranksAbove(v.After.Values, v.Before.Values) > 0 {
		return both.P / 2
	}
	return 1 - both.P/2
}

// ranksAbove counts the pairs in which the value of a is larger than that of b, minus those in which it is smaller.
func ranksAbove(a, b []float64) (n float64) {
	for _, x := range a {
		for _, y := range b {
			n += float64(cmp.Compare(x, y))
		}
	}
	return n
}

// Name writes a call path, given as names or labels, in one line. Of very deep ones it leaves out the middle.
func Name(path []string) string {
	const first, last = 20, 80
	if left := len(path) - first - last; left > 0 {
		path = slices.Concat(path[:first], []string{"… " + figures.Count(left, "frame") + " …"}, path[len(path)-last:])
	}
	if len(path) == 0 {
		return "the whole program"
	}
	return strings.Join(path, " > ")
}
