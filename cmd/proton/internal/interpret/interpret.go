// Package interpret is the command "proton interpret": the programs whose Triton kernels run on the CPU, saved launches, and what is said at
// the end. What runs kernels of a program is the library in its processes, which leave reports for this package.
package interpret

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	from "github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/interpreter/counts"
	"github.com/goproton/goproton/interpreter/run"
)

// Options is a command line, parsed.
type Options struct {
	run.Settings
	Python  string   // the interpreter of scripts
	JSON    bool     // print the report in JSON
	SARIF   string   // a file for findings
	Launch  string   // a saved launch, instead of a program
	Command []string // the program

	Counted func([]*counts.Kernel) error // what is done with counts; nil for nothing
}

// ExitFindings is the exit code if kernels did what they must not, and the program did not fail.
const ExitFindings = 1

// Program runs a program, and reports at its end what the kernels in it did.
func Program(o Options, layout from.Layout, stdout, stderr io.Writer) (from.Result, error) {
	command, err := layout.Resolve(o.Command, o.Python)
	if err != nil {
		return from.Result{}, err
	}
	if command.Note != "" {
		fmt.Fprintf(stderr, "proton: %s\n", command.Note)
	}
	if o.Status, err = os.MkdirTemp("", "proton-interpret-"); err != nil {
		return from.Result{}, fmt.Errorf("create a folder for reports: %w; set TMPDIR to a writable folder", err)
	}
	defer os.RemoveAll(o.Status)
	if o.Save != "" {
		if o.Save, err = filepath.Abs(o.Save); err != nil {
			return from.Result{}, err
		}
	}
	text, err := json.Marshal(o.Settings)
	if err != nil {
		return from.Result{}, err
	}
	environment, err := layout.Bootstrapped(withoutPeer(os.Environ(), stderr), settings.InterpretConfig, string(text))
	if err != nil {
		return from.Result{}, err
	}
	result, err := from.Supervise(command, environment, o.askForReports)
	if err != nil {
		return from.Result{}, err
	}
	report, unfinished, err := reports(o.Status)
	if err != nil {
		return from.Result{}, err
	}
	for _, r := range unfinished {
		lost := "its launches are not counted"
		if r.Asked {
			lost = "of its launches, those that had ended when a signal came are counted"
		}
		fmt.Fprintf(stderr, "proton: warning: process %d ended without its report: %s\n", r.PID, lost)
	}
	if err := o.finish(report, stdout, stderr); err != nil {
		return from.Result{}, err
	}
	if len(report.Findings) > 0 && result == (from.Result{}) {
		result.Code = ExitFindings
	}
	return result, nil
}

// withoutPeer takes Triton's own interpreter out of the way, which would have the kernels.
func withoutPeer(list []string, stderr io.Writer) []string {
	return slices.DeleteFunc(list, func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		if name != "TRITON_INTERPRET" {
			return false
		}
		if value != "" && value != "0" {
			fmt.Fprintln(stderr, "proton: TRITON_INTERPRET is set, and is left out: kernels are interpreted by GoProton")
		}
		return true
	})
}

// reports sums what the processes of a program have left; unfinished are those that left none, or only what they had done when a signal came.
func reports(folder string) (sum run.Report, unfinished []run.Report, err error) {
	all, err := readReports(folder)
	if err != nil {
		return sum, nil, err
	}
	var list []run.Report
	for _, r := range all {
		if !r.Finished {
			unfinished = append(unfinished, r)
		}
		if r.Finished || r.Asked {
			list = append(list, r)
		}
	}
	return run.Sum(list), unfinished, nil
}

func readReports(folder string) (list []run.Report, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var r run.Report
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("read the report of a process: %w", err)
		}
		list = append(list, r)
	}
	return list, nil
}

// askForReports has the processes of a program write what they have done, because the signal that is passed on then may end them.
func (o *Options) askForReports() (waits func() bool) {
	if run.AskForReports(o.Status) != nil {
		return nil
	}
	return func() bool {
		list, err := readReports(o.Status)
		return err == nil && slices.ContainsFunc(list, func(r run.Report) bool { return !r.Finished && !r.Asked && from.Lives(r.PID) })
	}
}

// Saved runs a saved launch again.
func Saved(ctx context.Context, o Options, stdout, stderr io.Writer) (found bool, err error) {
	l, err := run.Read(o.Launch)
	if err != nil {
		return false, err
	}
	r, err := run.New(o.Settings)
	if err != nil {
		return false, err
	}
	if editors, host, port := r.Editors(); editors != nil {
		if err := listen(editors, host, port, stderr); err != nil {
			return false, err
		}
		defer editors.Finish()
	}
	var printed io.Writer = stdout
	if o.JSON {
		printed = stderr
	}
	outcome, err := r.Launch(ctx, l, &console{Writer: printed, lines: bufio.NewReader(os.Stdin)}, nil)
	if err != nil {
		return false, err
	}
	report := r.Report()
	report.Finished = true
	report.Outputs = l.Outputs()
	if !o.JSON && len(outcome.Findings) == 0 {
		fmt.Fprintln(stderr, "proton: "+compared(report.Outputs))
	}
	return len(outcome.Findings) > 0, o.finish(report, stdout, stderr)
}

// console is the terminal, through which the debugger asks for commands.
type console struct {
	io.Writer
	lines *bufio.Reader
}

// Ask writes a prompt and reads a line. If no user types it, the line is written too.
func (c *console) Ask(prompt string) (string, error) {
	fmt.Fprint(c, prompt)
	line, err := c.lines.ReadString('\n')
	if err != nil && line == "" {
		return "", err
	}
	if !term.IsTerminal(os.Stdin) {
		fmt.Fprint(c, strings.TrimSuffix(line, "\n")+"\n")
	}
	return line, nil
}

// compared says whether a launch left the bytes that it left when it was saved.
func compared(outputs map[string]run.Output) string {
	var changed []string
	known := 0
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if o := outputs[name]; o.Before != "" {
			known++
			if o.Before != o.SHA256 {
				changed = append(changed, name)
			}
		}
	}
	switch {
	case known == 0:
		return "the launch was saved without what it left in its buffers: nothing is compared"
	case changed != nil:
		return "other bytes than when the launch was saved: " + strings.Join(changed, ", ")
	}
	return fmt.Sprintf("the same bytes as when the launch was saved, in %s", figures.Count(int64(known), "buffer"))
}

// finish writes what was asked for, and the closing lines.
func (o *Options) finish(report run.Report, stdout, stderr io.Writer) error {
	if o.JSON {
		if err := jsontext.Write(stdout, report, " "); err != nil {
			return err
		}
	}
	if o.Counted != nil && report.Launches > 0 {
		if err := o.Counted(report.Counts()); err != nil {
			return err
		}
	}
	if o.SARIF != "" {
		if err := writeSARIF(o.SARIF, report.Findings); err != nil {
			return err
		}
	}
	for _, text := range report.Warnings {
		fmt.Fprintf(stderr, "proton: warning: %s\n", text)
	}
	for _, pattern := range report.Unmatched {
		launched := "the program launched no Triton kernel"
		if len(report.Others) > 0 {
			launched = "the program launched " + strings.Join(report.Others, ", ")
		}
		fmt.Fprintf(stderr, "proton: warning: --kernel: no kernel is named %s; %s\n", pattern, launched)
	}
	for _, place := range report.Nowhere {
		fmt.Fprintf(stderr, "proton: warning: --break or --print: no kernel that ran has the place %s\n", place)
	}
	for i, f := range report.Findings {
		if i == shownFindings {
			fmt.Fprintf(stderr, "proton: and %s more; --json has them\n", figures.Count(int64(len(report.Findings)-i), "finding"))
			break
		}
		fmt.Fprint(stderr, "proton: ")
		check.Print(stderr, []*check.Finding{f})
	}
	fmt.Fprintf(stderr, "proton: %s\n", closing(&report))
	return nil
}

const shownFindings = 20

// writeSARIF writes findings for code hosts, which want names of files relative to the checkout.
func writeSARIF(path string, list []*check.Finding) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	if err := check.SARIF(f, list, root); err != nil {
		f.Close()
		return fmt.Errorf("write findings: %w", err)
	}
	return f.Close()
}

// closing is the last line.
func closing(r *run.Report) string {
	if r.Launches == 0 {
		return "no kernel was interpreted"
	}
	var programs, of int64
	var seconds float64
	names := map[string]bool{}
	for _, k := range r.Kernels {
		names[k.Name] = true
		programs, seconds = programs+k.Programs, seconds+k.Seconds
		if of += k.Programs; k.Of > 0 {
			of += k.Of - k.Programs
		}
	}
	sampled := ""
	if of != programs {
		sampled = fmt.Sprintf(" of %s in the grids", figures.Grouped(of))
	}
	return fmt.Sprintf("%s of %s interpreted: %s%s in %s, %s", figures.Count(int64(r.Launches), "launch"), figures.Count(len(names), "kernel"),
		figures.Count(programs, "program instance"), sampled, figures.Time(seconds*1e9), figures.Count(int64(len(r.Findings))+r.LeftOut, "finding"))
}
