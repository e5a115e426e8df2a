// Package gate decides whether a program became slower: it compares repeated runs from before a change with runs
// from after it, call path by call path, by rules such as "time > 5%".
//
// With enough runs a call path fails a rule of a change only if all of this holds:
//
//   - the medians differ by more than the rule allows;
//   - they differ by more than two runs of the baseline typically do: its noise, from comparing it with itself;
//   - the runs after rank above (or below) those before, by the Mann-Whitney test of golang.org/x/perf/benchmath;
//   - that remains unlikely by chance when every call path and rule is taken into account: see family.
//
// So the chance that a gate fails identical code is at most alpha. With too few runs for a test the first two
// decide, and the report says what that is worth. A limit ("time > 120ms") looks at the median after alone.
package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/compare"
)

// Options say what to decide, and how strictly.
type Options struct {
	Rules   []Rule
	Compare compare.Options // renames and filters; its metrics are those of the rules
	Alpha   float64         // chance of failing anything although nothing changed; 0 means DefaultAlpha
	MinTime Least           // call paths that take less, in the median of all runs, are not looked at
	Strict  bool            // too few runs for a test are an error
}

// Least is a least time: in ns, or as a share of the whole program's.
type Least struct {
	Nanos, Share float64
}

// DefaultAlpha is the usual one.
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
	Tested        bool // by statistics: there were enough runs
	Rules         []RuleReport
	New, Vanished []OneSided // the longest first
	NewFail       bool       // call paths in New fail the gate; VanishedFail likewise
	VanishedFail  bool
	Small         int      // call paths below Options.MinTime
	Caveats       []string // what the reader should know, a line each
}

// RuleReport is what came of one rule.
type RuleReport struct {
	Rule     Rule
	Metric   string // with its unit
	Unit     string
	Failed   bool
	Verdicts []Verdict // in the order of the tree
	Gaps     int       // call paths that have no such value in every run
}

// Verdict is what came of one rule for one call path.
type Verdict struct {
	Path          []string // without the root; empty for the whole program
	Label         string   // the same for people
	Before, After Sample
	Change        float64
	Relative      float64 // infinite where there was nothing before
	Noise         float64 // what two runs of the baseline typically differ by; NaN for a single run
	P             float64 // of the Mann-Whitney test, one-sided; NaN where there was none
	Adjusted      float64 // for all call paths and rules; NaN where there was none
	Outcome       Outcome
}

// Sample are the values of one side.
type Sample struct {
	Values []float64 // in the order of the runs
	Median float64
	Lo, Hi float64 // confidence interval of the median at 1-alpha; infinite with too few runs
}

// Outcome is a verdict in a word.
type Outcome string

// The outcomes.
const (
	Pass          Outcome = "pass"          // within what the rule allows
	Fail          Outcome = "fail"          //
	Noise         Outcome = "noise"         // beyond the rule, but no more than runs of the baseline differ
	Insignificant Outcome = "insignificant" // beyond the rule, but it may be chance
)

// OneSided is a call path that only one side has.
type OneSided struct {
	Path  []string
	Label string  // for people
	Time  float64 // median in ns; NaN for a profile without times
}

// Run decides. Errors that wrap ErrNotComparable say that nothing could be decided.
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
	r := &Report{Alpha: o.Alpha, Tested: 1/choices(g.n+g.m, g.n) <= o.Alpha*(1+tiny)}
	for i, name := range g.diff.Names {
		if i < g.n {
			r.Before = append(r.Before, name)
		} else {
			r.After = append(r.After, name)
		}
	}
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

// FailOnNew makes call paths that only the new runs have a reason to fail.
func (r *Report) FailOnNew(fail bool) {
	r.NewFail = fail
	r.Failed = r.Failed || fail && len(r.New) > 0
}

// FailOnVanished does the same for those that only the baseline has.
func (r *Report) FailOnVanished(fail bool) {
	r.VanishedFail = fail
	r.Failed = r.Failed || fail && len(r.Vanished) > 0
}

// gate is a decision in the making.
type gate struct {
	Options
	n, m       int // runs before and after
	diff       *compare.Diff
	timeColumn int // of the smallest times that count; -1 when the profiles have none
}

func (g *gate) compare(inputs []compare.Input) error {
	o := g.Options.Compare
	o.Metrics, o.BaseUnits = metricsOf(g.Rules), true
	if hasTime(inputs) {
		if !slices.Contains(o.Metrics, "time") {
			o.Metrics = append(o.Metrics, "time")
		}
		g.timeColumn = slices.Index(o.Metrics, "time")
	}
	d, err := compare.New(inputs, o)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotComparable, err)
	}
	g.diff = d
	return nil
}

// hasTime says whether every profile has GPU time.
func hasTime(inputs []compare.Input) bool {
	return !slices.ContainsFunc(inputs, func(in compare.Input) bool {
		found := false
		in.Profile.Root.Walk(func(n *profile.Node, _ int) bool {
			if _, ok := n.Metric("time (ns)"); ok {
				found = true
			}
			return !found
		})
		return !found
	})
}

// caveats says what the verdict is worth.
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

// row is a call path that both sides have.
type row struct {
	*compare.Row
	path   []string // without the root
	labels []string // the same for people
}

// rows sorts call paths into those that are compared and the others.
func (g *gate) rows(r *Report) ([]row, error) {
	var all []row
	least := max(g.MinTime.Nanos, g.MinTime.Share*g.pooledTime(g.diff.Root))
	g.diff.Root.Walk(func(at *compare.Row, depth int) {
		path, labels := at.Path()[1:], at.Labels()[1:]
		before, after := slices.Contains(at.In[:g.n], true), slices.Contains(at.In[g.n:], true)
		switch {
		case at.Parent != nil && g.pooledTime(at) < least:
			r.Small++
		case !after:
			r.Vanished = append(r.Vanished, OneSided{path, Name(labels), g.medianTime(at, 0, g.n)})
		case !before:
			r.New = append(r.New, OneSided{path, Name(labels), g.medianTime(at, g.n, g.n+g.m)})
		default:
			all = append(all, row{at, path, labels})
		}
	})
	if len(all) <= 1 && len(r.New)+len(r.Vanished) > 0 {
		return nil, notComparable("no call path of the baseline is in the new runs; match names that changed with --rename, and see proton diff")
	}
	return all, nil
}

// pooledTime is the median time of all runs. That it does not ask which side a run is of keeps the tests exact.
func (g *gate) pooledTime(r *compare.Row) float64 { return g.medianTime(r, 0, g.n+g.m) }

func (g *gate) medianTime(r *compare.Row, from, to int) float64 {
	if g.timeColumn < 0 {
		return math.NaN()
	}
	return median(g.values(r, g.timeColumn)[from:to])
}

// values are a row's, with 0 where a run did not come to a path and the metric adds up.
func (g *gate) values(r *compare.Row, column int) []float64 {
	all := slices.Clone(r.Values[column])
	for i, v := range all {
		if math.IsNaN(v) && g.diff.Columns[column].Additive {
			all[i] = 0
		}
	}
	return all
}

// rule measures all call paths that a rule is about.
func (g *gate) rule(rule *Rule, rows []row) (RuleReport, error) {
	column := slices.Index(metricsOf(g.Rules), rule.Metric)
	c := g.diff.Columns[column]
	report := RuleReport{Rule: *rule, Metric: c.Exact, Unit: c.Unit}
	amount, err := rule.amountIn(c.Unit)
	if err != nil {
		return report, notComparable("%v", err)
	}
	for _, r := range rows {
		if !rule.In(r.path) && !rule.In(r.labels) {
			continue
		}
		values := g.values(r.Row, column)
		if slices.ContainsFunc(values, func(v float64) bool { return v-v != 0 }) {
			report.Gaps++
			continue
		}
		v := Verdict{Path: r.path, Label: Name(r.labels), Before: g.sample(values[:g.n]), After: g.sample(values[g.n:]), P: math.NaN(), Adjusted: math.NaN(), Outcome: Pass}
		v.Change = v.After.Median - v.Before.Median
		v.Relative = relative(v.Before.Median, v.After.Median)
		v.Noise = noise(values[:g.n])
		switch {
		case !rule.holds(v.Before.Median, v.After.Median, amount):
		case rule.Kind != Limit && math.Abs(v.Change) <= v.Noise:
			v.Outcome = Noise
		default:
			v.Outcome = Fail
		}
		report.Verdicts = append(report.Verdicts, v)
	}
	if len(report.Verdicts) == 0 {
		return report, notComparable("rule %q could never fail: %s", rule.Text, g.whyNothing(rule, &report, rows))
	}
	return report, nil
}

func (g *gate) whyNothing(rule *Rule, report *RuleReport, rows []row) string {
	switch {
	case report.Gaps > 0:
		return fmt.Sprintf("none of %d call paths has %s in every run", report.Gaps, rule.Metric)
	case rule.Scope != nil:
		return fmt.Sprintf("no call path that both sides have matches '%s'; see proton viewer for those of a profile", rule.Scope)
	}
	return fmt.Sprintf("it is about none of %d call paths", len(rows))
}

func (g *gate) sample(values []float64) Sample {
	s := benchmath.NewSample(slices.Clone(values), &benchmath.Thresholds{CompareAlpha: g.Alpha})
	summary := benchmath.AssumeNothing.Summary(s, 1-g.Alpha)
	return Sample{Values: values, Median: summary.Center, Lo: summary.Lo, Hi: summary.Hi}
}

// noise is what two runs of one side typically differ by: the median of all differences.
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
	return median(all)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// decide tests all call paths of all rules of a change together, and settles the outcomes.
func (g *gate) decide(r *Report) {
	if r.Tested {
		g.test(r)
	}
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

// rankTest is the Mann-Whitney test in the direction of a rule. benchmath asks whether there is any difference; half
// of that is the chance of one in the direction that the ranks point to.
func (g *gate) rankTest(v *Verdict, sign float64) float64 {
	t := &benchmath.Thresholds{CompareAlpha: g.Alpha}
	both := benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(v.Before.Values), t), benchmath.NewSample(slices.Clone(v.After.Values), t))
	if sign*ranksAbove(v.After.Values, v.Before.Values) > 0 {
		return both.P / 2
	}
	return 1 - both.P/2
}

// ranksAbove is how many pairs have the value of a above that of b, less those that have it below.
func ranksAbove(a, b []float64) (n float64) {
	for _, x := range a {
		for _, y := range b {
			n += float64(cmp.Compare(x, y))
		}
	}
	return n
}

// Name is a call path in one line, of names or labels.
func Name(path []string) string {
	if len(path) == 0 {
		return "the whole program"
	}
	return strings.Join(path, " > ")
}
