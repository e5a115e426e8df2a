package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse/validate"
)

type traceValidateFlags struct {
	quick  bool
	strict bool
	most   int
	json   bool
}

func newTraceValidateCommand() *cobra.Command {
	var f traceValidateFlags
	cmd := &cobra.Command{
		Use:   "validate [flags] TRACE…",
		Short: "report errors in traces; exit code 1 if there are any",
		Long: `validate reads traces, which are files or folders, raw or parsed, and prints one line per error: the file, the line of
the record, the member, and the error.

shape: TritonParse 0.6.0's schemas forbid it. joins: records contradict one another, for example with equal occurrence
ids. hashes: launch_group_hash or the launch kind does not match the record. maps: source maps point to lines that do
not exist. files: tensors and cubins next to the trace are missing or differ from the recorded ones. damage: it
cannot be read.

Warnings mark facts that may be correct, such as launches of kernels that were compiled before the trace began.`,
		Example: `  proton trace validate logs
  proton trace validate parsed --strict --json`,
		Args: between(1, noLimit, "must specify traces: proton trace validate TRACE…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.BoolVar(&f.quick, "quick", false, "check that tensors and cubins exist, without reading them")
	flags.BoolVar(&f.strict, "strict", false, "exit with 1 for warnings too")
	flags.IntVar(&f.most, "most", 100, "print at most `N` findings of each trace, 0 for all; all are counted")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// validated is the result of a trace for --json.
type validated struct {
	Trace string `json:"trace"`
	*validate.Result
	Findings []validate.Finding `json:"findings"` // the first of them
}

func (f *traceValidateFlags) run(sources []string, stdout, stderr io.Writer) error {
	all := []validated{}
	wrong := 0
	for _, source := range sources {
		v, err := f.validate(source, stdout)
		if v == nil { // the other traces are looked at
			tell(stderr, "%v", err)
			wrong++
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, *v)
		if v.Errors > 0 || f.strict && v.Warnings > 0 {
			wrong++
		}
	}
	if f.json {
		if err := printJSON(stdout, all); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return &exitError{code: 1}
	}
	return nil
}

// validate checks one trace and prints its findings unless --json is given. It returns nil for a trace that cannot be read,
// otherwise the error of printing.
func (f *traceValidateFlags) validate(source string, stdout io.Writer) (*validated, error) {
	v := &validated{Trace: source, Findings: []validate.Finding{}}
	var printErr error
	say := func(format string, args ...any) {
		if !f.json && printErr == nil {
			_, printErr = fmt.Fprintln(stdout, term.Printable(fmt.Sprintf(format, args...)))
		}
	}
	var err error
	v.Result, err = validate.Validate(source, validate.Options{Quick: f.quick, Report: func(finding validate.Finding) {
		if f.most > 0 && len(v.Findings) >= f.most {
			return
		}
		v.Findings = append(v.Findings, finding)
		say("%s", finding)
	}})
	if err != nil {
		return nil, err
	}
	say("%s: %s: %s", source, countRecords(v.Records), verdict(v.Result))
	return v, printErr
}

func verdict(r *validate.Result) string {
	switch {
	case r.Errors == 0 && r.Warnings == 0:
		return "nothing wrong"
	case r.Warnings == 0:
		return figures.Count(r.Errors, "error")
	}
	return fmt.Sprintf("%s, %s", figures.Count(r.Errors, "error"), figures.Count(r.Warnings, "warning"))
}
