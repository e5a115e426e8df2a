package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/compare"
	"github.com/goproton/goproton/viewer/gate"
)

// gateFlags are the flags of `proton gate` as they were given.
type gateFlags struct {
	baseline   []string
	failOn     []string
	alpha      float64
	minTime    leastFlag
	onNew      string
	onVanished string
	strict     bool
	rename     []string
	peaks      []string
	include    string
	exclude    string
	json       string
	markdown   string
	from       fromFlag
	terminal   terminalFlags
}

// The exit codes of a gate.
const (
	gateFailed    = 1
	gateUndecided = 3
)

func newGateCommand() *cobra.Command {
	var f gateFlags
	cmd := &cobra.Command{
		Use:   "gate [flags] --baseline OLD… -- NEW…",
		Short: "fail if a program got slower",
		Long: `gate compares runs before a change with runs after it, call path by call path, and fails when a rule is broken. Give
each side at least five runs of the same program. A statistical test then decides, and identical code fails with a
probability of at most --alpha, however many call paths there are. With fewer than three runs on a side, the rules
alone decide, and the report says so.

--fail-on takes rules:
  time > 5%                    fails if time grew by more than 5 %
  tflop16/s < -3%              fails if it fell by more than 3 %
  time > +2ms                  fails if time grew by more than 2 ms: with a sign, the amount is a change
  time > 120ms                 fails if time is more than 120 ms now: without a sign, the amount is a limit
  … @ total                    applies to the whole program only
  … @ 'forward/.*gemm'         applies only to call paths (frames joined by /) that match the regular expression

Metrics are those of proton viewer. A change never fails if it is not larger than the typical difference between two
runs of the baseline. Call paths that only one side has are listed; --on-new and --on-vanished make them fail.

Exit codes:
  0  all rules passed
  1  a rule failed
  2  the command line is invalid
  3  no decision is possible: a file cannot be read, the sides have nothing in common or a run in common, a rule
     could never fail, or there are too few runs with --strict`,
		Example: `  proton gate --fail-on 'time > 5%' --baseline base*.hatchet -- new*.hatchet
  proton gate --fail-on 'tflop16/s < -3% @ gemm' --baseline a*.pb -- b*.pb
  proton gate --markdown="$GITHUB_STEP_SUMMARY" --baseline a*.pb -- b*.pb`,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, after, err := f.sides(args, cmd.ArgsLenAtDash())
			if err != nil {
				return usage(err)
			}
			return f.run(before, after, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	f.register(cmd)
	withSchema[gate.Document](cmd, gate.Schema)
	return cmd
}

func (f *gateFlags) register(cmd *cobra.Command) {
	flags := flagsOf(cmd)
	flags.StringArrayVar(&f.baseline, "baseline", nil, "runs before the change: this `FILE` and all others up to --")
	flags.StringArrayVar(&f.failOn, "fail-on", []string{"time > 5%"}, "fail if this `RULE` is broken; may be repeated")
	flags.Float64Var(&f.alpha, "alpha", gate.DefaultAlpha, "`PROBABILITY` of failing although nothing changed")
	f.minTime.Least, _ = figures.ParseLeast("0.1%")
	flags.Var(&f.minTime, "min-time", "ignore call paths that take less than `TIME` per run, such as 10us, or 0.1% of the whole program")
	flags.StringVar(&f.onNew, "on-new", "report", "`ACTION` for call paths that only the new runs have: report or fail")
	flags.StringVar(&f.onVanished, "on-vanished", "report", "`ACTION` for call paths that only the baseline has: report or fail")
	flags.BoolVar(&f.strict, "strict", false, "exit with 3 if there are too few runs for a test")
	flags.StringArrayVar(&f.rename, "rename", nil, "in names of frames, replace matches, `REGEXP=TEXT`, as in proton diff; may be repeated")
	flags.StringSliceVar(&f.peaks, "peak", nil, peakUsage)
	flags.StringVarP(&f.include, "include", "i", "", "only paths through frames that match `REGEXP`")
	flags.StringVarP(&f.exclude, "exclude", "e", "", "no frames that match `REGEXP`, and nothing below them")
	flags.BoolVar(&f.terminal.All, "all", false, "print every call path, not only those that failed")
	flags.StringVar(&f.json, "json", "", "write the report as JSON to `FILE`, or without one to standard output instead of the text")
	flags.StringVar(&f.markdown, "markdown", "", "write the report as Markdown to `FILE`, or without one to standard output instead of the text")
	flags.Lookup("json").NoOptDefVal = "-"
	flags.Lookup("markdown").NoOptDefVal = "-"
	f.from.register(cmd)
	registerColor(cmd, &f.terminal.color)
	registerWidth(flags, &f.terminal.Width, widthUsage)
	showEveryday(cmd,
		everyday{"baseline", "the runs before the change", "proton gate --baseline old*.hatchet -- new*.hatchet"},
		everyday{"fail-on", "what must not happen", "proton gate --fail-on 'time > 2% @ total' …"},
		everyday{"min-time", "ignore what takes less", "proton gate --min-time 10us …"},
		everyday{"on-vanished", "call paths that are gone", "proton gate --on-vanished fail …"},
		everyday{"strict", "refuse to decide from few runs", "proton gate --strict …"},
		everyday{"include", "only some call paths", "proton gate -i forward …"},
		everyday{"json", "the report for programs", "proton gate --json=gate.json …"},
		everyday{"markdown", "the report for a pull request", "proton gate --markdown=gate.md …"},
	)
	heading(flags, "fail-on", "What fails")
	heading(flags, "rename", "Which rows")
	heading(flags, "json", "Output")
	choices(cmd, "on-new", "report", "fail")
	choices(cmd, "on-vanished", "report", "fail")
}

// sides separates the baseline from the new runs: "--baseline A B -- C D", or "--baseline A C" and "--baseline A --baseline B C D".
func (f *gateFlags) sides(args []string, dash int) (before, after []string, err error) {
	before, after = f.baseline, args
	if dash >= 0 {
		before, after = append(before[:len(before):len(before)], args[:dash]...), args[dash:]
	}
	switch {
	case len(f.baseline) == 0:
		return nil, nil, errors.New("no baseline runs: give --baseline OLD… -- NEW…")
	case len(after) == 0:
		return nil, nil, errors.New("no new runs: give --baseline OLD… -- NEW…")
	case dash < 0 && len(before) == 1 && len(after) > 1:
		// The shell makes "--baseline base1 base2 new1" of base*; taking base2 for a new run would hide everything.
		return nil, nil, fmt.Errorf("no -- before the new runs: write --baseline %s … -- %s", before[0], after[len(after)-1])
	}
	return before, after, nil
}

func (f *gateFlags) run(before, after []string, stdin io.Reader, stdout io.Writer) error {
	o, err := f.options()
	if err != nil {
		return usage(err)
	}
	if err := f.terminal.suit(stdout); err != nil {
		return usage(err)
	}
	inputs, err := readInputs(append(before[:len(before):len(before)], after...), stdin, f.from)
	if err != nil {
		return &exitError{code: gateUndecided, err: err}
	}
	for _, side := range [][]compare.Input{inputs[:len(before)], inputs[len(before):]} {
		if err := differentRuns(side); err != nil {
			return usage(err)
		}
	}
	report, err := gate.Run(inputs[:len(before)], inputs[len(before):], o)
	if errors.As(err, new(*viewer.OptionError)) { // a metric that no file has is none: the rule could never fail
		return usage(err)
	}
	if err == nil {
		err = apart(inputs[:len(before)], inputs[len(before):])
	}
	if err != nil {
		return &exitError{code: gateUndecided, err: err}
	}
	if err := f.write(report, stdout); err != nil {
		return &exitError{code: gateUndecided, err: err}
	}
	if report.Failed {
		return &exitError{code: gateFailed}
	}
	return nil
}

// differentRuns returns an error if two files of a side are of one run: a test takes the spread of several runs, and copies have none.
func differentRuns(side []compare.Input) error {
	seen := map[string]string{}
	for _, in := range side {
		run, said := runOf(in)
		if other, same := seen[run]; same && run != "" {
			return fmt.Errorf("%s and %s are %s: give a file of each run", other, in.Name, said)
		}
		seen[run] = in.Name
	}
	return nil
}

// apart returns an error if a file of the baseline is of a new run: a program that is compared with itself cannot be slower.
func apart(before, after []compare.Input) error {
	seen := map[string]string{}
	for _, in := range before {
		run, _ := runOf(in)
		seen[run] = in.Name
	}
	for _, in := range after {
		if run, said := runOf(in); run != "" && seen[run] != "" {
			return fmt.Errorf("%s of the baseline and %s of the new runs are %s, which cannot be slower than itself: measure both sides", seen[run], in.Name, said)
		}
	}
	return nil
}

// runOf names the run that a file is of, by what it says or, if it says nothing, by its contents; "" if it cannot be known. Two runs never take the
// same times, but counts may be equal.
func runOf(in compare.Input) (run, said string) {
	info := in.Profile.Info
	if info[profile.InfoPID] != "" && info[profile.InfoStart] != "" {
		return fmt.Sprint(info[profile.InfoHost], " ", info[profile.InfoPID], " ", info[profile.InfoStart], " ", info[profile.InfoEnd]), "of one run, pid " + info[profile.InfoPID]
	}
	if content, err := os.ReadFile(in.Name); err == nil && gate.HasTime(in) {
		return fmt.Sprintf("%x", sha256.Sum256(content)), "copies of one file"
	}
	return "", ""
}

func (f *gateFlags) options() (o gate.Options, err error) {
	o = gate.Options{Alpha: f.alpha, Strict: f.strict, OneSides: gate.OneSides{FailOnNew: f.onNew == "fail", FailOnVanished: f.onVanished == "fail"}, Compare: compare.Options{Include: f.include, Exclude: f.exclude, Peaks: f.peaks}}
	if !(f.alpha > 0 && f.alpha < 1) {
		return o, fmt.Errorf("read --alpha %g: give a probability between 0 and 1, such as 0.05", f.alpha)
	}
	for flag, what := range map[string]string{"new": f.onNew, "vanished": f.onVanished} {
		if what != "report" && what != "fail" {
			return o, fmt.Errorf("read --on-%s %q: use report or fail", flag, what)
		}
	}
	if o.MinTime, err = minTime(f.minTime.Least); err != nil {
		return o, err
	}
	if f.json == "-" && f.markdown == "-" {
		return o, errors.New("--json and --markdown both write to standard output; give one of them a file, --markdown=FILE")
	}
	for _, text := range f.failOn {
		r, err := gate.ParseRule(text)
		if err != nil {
			return o, err
		}
		o.Rules = append(o.Rules, r)
	}
	if err := checkFrames(f.include, f.exclude, ""); err != nil {
		return o, err
	}
	o.Compare.Rename, err = parseRenames(f.rename)
	return o, err
}

// minTime is a time, or a share of the whole program's time.
func minTime(l figures.Least) (gate.Least, error) {
	switch {
	case l.Unit == "%":
		return gate.Least{Share: l.Amount}, nil
	case l.Unit == "" && l.Amount > 0:
		return gate.Least{}, fmt.Errorf("read --min-time %s: give a time such as 10us, or a share of the whole program such as 0.1%%", l)
	default:
		return gate.Least{Nanos: l.Amount * figures.Nanos(l.Unit)}, nil
	}
}

func (f *gateFlags) write(report *gate.Report, stdout io.Writer) error {
	for _, each := range []struct {
		to    string
		write func(io.Writer) error
	}{{f.json, report.WriteJSON}, {f.markdown, report.WriteMarkdown}} {
		if each.to == "" {
			continue
		}
		if err := writeOutput(each.to, stdout, each.write); err != nil {
			return err
		}
	}
	if f.json == "-" || f.markdown == "-" {
		return nil
	}
	return report.WriteText(stdout, f.terminal.Terminal)
}
