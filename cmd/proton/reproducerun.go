package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

func isScript(source string) bool { return filepath.Ext(source) == ".py" }

// usualPython is the interpreter that proton run would use, and python3 where that finds none.
func usualPython() string {
	layout, _, err := parts()
	if err != nil {
		return "python3"
	}
	found, err := layout.FindPython("")
	if err != nil {
		return "python3" // whose absence is said where it is needed
	}
	return found.Path
}

// interpreter runs scripts. It finds the goproton package, as the program did under proton run: a script may import that
// program for its kernel.
func (f *reproduceFlags) interpreter(python string) reproduce.Interpreter {
	in := reproduce.Interpreter{Python: python}
	if layout, _, err := parts(); err == nil {
		in.Env = layout.Environment(os.Environ())
	}
	return in
}

// runScript runs the script. Its output goes to standard output, unless that is for JSON.
func (f *reproduceFlags) runScript(r *reproduce.Result, stdout, stderr io.Writer) error {
	if f.json {
		stdout = stderr
	} else if err := printReproduced(stderr, r); err != nil {
		return err
	}
	in := f.interpreter(f.options.Python)
	cmd := in.Command(r.Script)
	cmd.Stdout, cmd.Stderr = term.Raw(stdout), term.Raw(stderr)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s with %s: %w", r.Script, in.Python, err)
	}
	return nil
}

// runBenchmark runs the script alone first and then under proton run, because sampling would disturb its times. For --json it
// returns the measurements, also of a launch with wrong results.
func (f *reproduceFlags) runBenchmark(r *reproduce.Result, stdout, stderr io.Writer) (document any, err error) {
	done := map[string]any{"reproduced": r}
	if f.json {
		document = done
	}
	var m *reproduce.Measurement
	var said string
	err = endsWithScripts(func() (err error) {
		m, said, err = reproduce.Measure(f.interpreter(f.options.Python), r.Script)
		return err
	})
	if err != nil {
		return document, err
	}
	done["measured"] = m
	profiled, problem := f.profileScript(r)
	if problem != nil {
		tell(stderr, "no profile of the launch: %v", problem)
	}
	if !f.json {
		if err := printReproduced(stdout, r); err != nil {
			return nil, err
		}
		if _, err := fmt.Fprintf(stdout, "\n%s%s", said, profiled); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(m.Check.Recorded, func(c reproduce.Check) bool { return !c.OK }) {
		err = errors.New("the launch computes other values than the recorded one")
	}
	return document, err
}

// profileScript profiles the script with this program, and returns the output of its viewer: the kernel's time and rates, and
// its hot lines.
func (f *reproduceFlags) profileScript(r *reproduce.Result) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	stem := strings.TrimSuffix(r.Script, ".py")
	var text strings.Builder
	for _, each := range []struct{ mode, suffix string }{{"", "_profile"}, {"pcsampling", "_samples"}} {
		record := []string{"run", "-n", stem + each.suffix}
		view := []string{"viewer", "-m", "util,tflop/s,gbyte/s,avg_time/us,count", "-i", regexp.QuoteMeta(r.Kernel), stem + each.suffix + ".hatchet"}
		if each.mode != "" {
			record = append(record, "-m", each.mode)
			view = []string{"viewer", "--source", stem + each.suffix + ".hatchet"}
		}
		if _, err := output(self, append(record, "--python", f.options.Python, r.Script, "--launches", "100")...); err != nil {
			return text.String(), err
		}
		shown, err := output(self, view...)
		if err != nil {
			return text.String(), err
		}
		text.WriteString("\n" + shown)
	}
	return text.String(), nil
}

// output runs a program. If it fails, the error has its last line.
func output(program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("proton %s: %w: %s", args[0], err, lines[len(lines)-1])
	}
	return stdout.String(), nil
}

// runComparison runs the scripts of two sides in alternation.
func (f *reproduceFlags) runComparison(source string, selection reproduce.Selection, stdout, stderr io.Writer) error {
	if isScript(source) && (selection.Line >= 0 || selection.Kernel != "" || selection.Hash != "" || selection.Launch > 0) {
		return usagef("%s is a script of one launch: leave out --line, --kernel, --hash and --launch-id", source)
	}
	a := &reproduce.Side{Name: "A", Interpreter: f.interpreter(f.options.Python)}
	b := &reproduce.Side{Name: "B", Interpreter: f.interpreter(cmp.Or(f.python2, f.options.Python))}
	launch, err := f.side(a, source, selection, nil, stderr)
	if err != nil {
		return fmt.Errorf("side A: %w", err)
	}
	if _, err := f.side(b, f.compare, selection, launch, stderr); err != nil {
		return fmt.Errorf("side B: %w", err)
	}
	if f.detect != "" {
		return f.runDetection(a, b, stdout, stderr)
	}
	c, err := reproduce.Compare(a, b, f.rounds, func(s string) { tell(stderr, "%s", s) })
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(stdout, map[string]any{"a": a, "b": b, "ratio": c.Ratio, "p": c.P, "against": c.Against, "verdict": c.Verdict()})
	}
	return printComparison(stdout, c)
}

// runDetection alternates both sides until a slowdown would be seen.
func (f *reproduceFlags) runDetection(a, b *reproduce.Side, stdout, stderr io.Writer) error {
	slowdown, err := f.slowdown() // which complete has checked
	if err != nil {
		return err
	}
	p, err := reproduce.Start(a, b)
	if err != nil {
		return &exitError{code: gateUndecided, err: err}
	}
	defer p.End()
	d, err := reproduce.Detect(p, slowdown, f.seconds, reproduce.BatchMillis, func(s string) { tell(stderr, "%s", s) })
	if err != nil {
		return &exitError{code: gateUndecided, err: err}
	}
	tellEach(stderr, detectionNotes(d))
	if f.json {
		err = printJSON(stdout, d)
	} else {
		err = printDetection(stdout, d)
	}
	return cmp.Or(err, exitOf(d.Outcome))
}

// exitOf is the exit code of an outcome, as an error.
func exitOf(outcome string) error {
	switch outcome {
	case "slower", "wrong":
		return &exitError{code: gateFailed}
	case "undecided":
		return &exitError{code: gateUndecided}
	}
	return nil
}

// detectionNotes is what to know about a measurement.
func detectionNotes(d *reproduce.Detection) (notes []string) {
	if d.Same {
		notes = append(notes, "both sides are the same script: this measures the machine, and not a change")
	}
	if d.Throttled > 0 {
		notes = append(notes, fmt.Sprintf("the driver lowered the clock for power or heat in %s of %d, as often for both sides", figures.Count(uint64(d.Throttled), "batch"), 4*len(d.Blocks)))
	}
	return notes
}

// slowdown reads --detect.
func (f *reproduceFlags) slowdown() (float64, error) {
	l, ok := figures.ParseLeast(f.detect)
	if !ok || l.Unit != "%" || !(l.Amount >= 0.0005 && l.Amount <= 1) {
		return 0, fmt.Errorf("read --detect %q: give a share from 0.05%% to 100%%, such as 1%%", f.detect)
	}
	return l.Amount, nil
}

func printDetection(w io.Writer, d *reproduce.Detection) error {
	clocks := "clocks unknown"
	if d.Clocks != nil {
		clocks = fmt.Sprintf("SM clock %d to %d MHz", d.Clocks[0], d.Clocks[1])
	}
	left := ""
	if d.WarmUp > 0 {
		left = fmt.Sprintf(", the first %s left out as warm-up", figures.Count(uint64(d.WarmUp), "block"))
	}
	fmt.Fprintf(w, "measured %s of A B B A in %.1f s%s; %s\n", figures.Count(uint64(len(d.Blocks)), "block"), d.Seconds, left, clocks)
	printChecks(w, d.Against)
	_, err := fmt.Fprintf(w, "verdict: %s\n", d.Verdict())
	return err
}

// side writes the script of a side, unless it is one. Of the second trace it uses the launch most similar to the first's.
func (f *reproduceFlags) side(s *reproduce.Side, source string, selection reproduce.Selection, like *tritonparse.LaunchRecord, stderr io.Writer) (*tritonparse.LaunchRecord, error) {
	if isScript(source) {
		s.Script = source
		_, err := os.Stat(source)
		return nil, err
	}
	trace, err := f.open(source, stderr)
	if err != nil {
		return nil, err
	}
	var launch *tritonparse.LaunchRecord
	if like != nil {
		launch, err = reproduce.MostSimilar(trace, like)
	} else {
		launch, err = reproduce.PickForComparison(trace, selection)
	}
	if err != nil {
		return nil, err
	}
	options := f.options
	options.OutDir = filepath.Join(f.options.OutDir, s.Name)
	options.Force = true
	written := fillsFolder()
	result, err := reproduce.Generate(trace, launch, options)
	written()
	if err != nil {
		return nil, err
	}
	s.Script = result.Script
	return launch, nil
}

func printComparison(w io.Writer, c *reproduce.Comparison) error {
	t := term.NewTable(w, "SIDE", "MEDIAN us", "RUNS", "GB/s", "Tflop/s", "REGISTERS", "TRITON", "SCRIPT")
	for _, s := range []*reproduce.Side{c.A, c.B} {
		least, most := s.Spread()
		m := s.Runs[0]
		rate := "-"
		if m.Flops > 0 {
			rate = fmt.Sprintf("%.1f", m.Flops/s.Median()/1e9)
		}
		t.Row(s.Name, fmt.Sprintf("%.2f", s.Median()*1e3), fmt.Sprintf("%.2f-%.2f (%d)", least*1e3, most*1e3, len(s.Runs)),
			fmt.Sprintf("%.1f", m.Bytes/s.Median()/1e6), rate, number(m.Compiled.Registers), m.Triton, s.Script)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	printChecks(w, c.Against)
	_, err := fmt.Fprintf(w, "verdict: %s\n", c.Verdict())
	return err
}

// printChecks says how the outputs of the sides differ.
func printChecks(w io.Writer, checks []reproduce.Check) {
	for _, check := range checks {
		said := "equal"
		switch {
		case check.Diff == nil:
			said = "differs: " + check.Why
		case *check.Diff != 0:
			said = fmt.Sprintf("differs by at most %.3g, of values to %.3g", *check.Diff, check.Scale)
		}
		fmt.Fprintf(w, "output %s: %s\n", term.Printable(check.Argument), said)
	}
}
