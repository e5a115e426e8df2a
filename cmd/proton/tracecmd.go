package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse"
)

func newTraceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "read TritonParse traces of compilations and launches",
		Long: `trace reads TritonParse's records: every compilation with all its intermediate representations, and every launch
with its arguments. Raw traces may be plain text, gzip members or zstd frames.`,
		Example: `  proton trace parse logs -o parsed
  proton trace info logs/dedicated_log_triton_trace_me_.ndjson
  proton trace info logs --kernel matmul --args-list 'M=1024,a_ptr.shape[0]=64'`,
		Args: cobra.ArbitraryArgs,
		PersistentPreRun: func(cmd *cobra.Command, args []string) {
			for _, source := range args {
				completeTraces(cmd.ErrOrStderr(), source)
			}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(unknownCommand(cmd, args[0]))
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newTraceInfoCommand(), newTraceParseCommand(), newTraceCatCommand(), newTraceExtractCommand(), newTraceDiffCommand(), newTraceValidateCommand())
	return cmd
}

// oneTrace is the argument of commands that read one trace.
func oneTrace(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("must specify one trace; see %s --help", cmd.CommandPath())
	}
	return nil
}

type traceInfoFlags struct {
	kernel string
	filter string
	args   bool
	json   bool

	compilations bool
	kinds        bool
}

func newTraceInfoCommand() *cobra.Command {
	var f traceInfoFlags
	cmd := &cobra.Command{
		Use:   "info [flags] TRACE",
		Short: "list the kernels, compilations, launch kinds and launches of a trace",
		Long: `info lists the kernels of a trace, which is a file or a folder, raw or parsed, with the number of compilations and
launches of each. With --kernel it lists the launches of one kernel. A launch has an id, its position among the
launches of its kernel in its file, and a line, the position of its record in its file, both counted from 0.
Compilations that failed are listed below, with their errors.

--compilations lists the compilations with their registers, shared memory and occupancy; registers are known if the
cubin is next to the trace or still where it was compiled. --kinds counts launches with the same compilation, grid and
arguments; addresses and contents of tensors are ignored.`,
		Example: `  proton trace info logs/dedicated_log_triton_trace_me_.ndjson
  proton trace info trace.ndjson.gz --kernel matmul_kernel --args
  proton trace info trace.ndjson.gz --kinds --kernel matmul_kernel
  proton trace info logs --kernel matmul --args-list 'a_ptr.shape[0]=64' --json`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.StringVar(&f.kernel, "kernel", "", "list the launches of the kernel `NAME`")
	flags.StringVar(&f.filter, "args-list", "", "only launches that match `FILTER`: NAME=VALUE of compile options and arguments, separated by commas; NAME may be followed by .field and [index]")
	flags.BoolVar(&f.args, "args", false, "with --kernel, show the arguments")
	flags.BoolVar(&f.compilations, "compilations", false, "list the compilations, or with --kernel those of that kernel")
	flags.BoolVar(&f.kinds, "kinds", false, "count the launches by kind, or with --kernel those of that kernel")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (f *traceInfoFlags) run(path string, stdout, stderr io.Writer) error {
	if f.compilations && f.kinds {
		return usagef("--compilations and --kinds print different lists; give one of them")
	}
	if f.kernel == "" && !f.kinds && (f.filter != "" || f.args) {
		return usagef("--args-list and --args need --kernel NAME")
	}
	filter, err := tritonparse.ParseFilter(f.filter)
	if err != nil {
		return usage(err)
	}
	if f.compilations || f.kinds {
		return f.runLists(path, filter, stdout, stderr)
	}
	info, err := tritonparse.ReadInfo(path, tritonparse.InfoOptions{Kernel: f.kernel, Filter: filter, Args: f.args})
	if info != nil && len(info.Records) > 0 { // else the error names the first
		warnDamages(stderr, info.Damages, info.Damaged)
	}
	if err != nil {
		return err
	}
	switch {
	case f.json:
		return printJSON(stdout, info)
	case f.kernel != "":
		return errors.Join(f.printLaunches(stdout, info), printFailures(stdout, path, info))
	}
	return errors.Join(printKernels(stdout, info), printFailures(stdout, path, info))
}

// printFailures lists compilations that failed, the first ones of many.
func printFailures(w io.Writer, path string, info *tritonparse.Info) error {
	const most = 20
	if len(info.Failures) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := term.NewTable(w, "FAILED", "LINE", "STAGE", "ERROR")
	for _, f := range info.Failures[:min(most, len(info.Failures))] {
		line := fmt.Sprint(f.Line)
		if f.File != "" {
			line = f.File + ":" + line
		}
		t.Row(f.Kernel, line, cmp.Or(f.Stage, "-"), foreign.Plain(f.Error, 160))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	more := ""
	if n := len(info.Failures); n > most {
		more = fmt.Sprintf("; %s more failed", figures.Grouped(n-most))
	}
	_, err := fmt.Fprintf(w, "proton reproduce %s --line LINE writes a script that compiles one of them again%s\n", term.Printable(path), more)
	return err
}

// warnOfTrace reports on standard error what is wrong with a trace: damages, and that a newer version wrote it.
func warnOfTrace(stderr io.Writer, t *tritonparse.Trace) {
	if newer := t.Newer(); newer != "" {
		tell(stderr, "%s: %s; what this one does not know is left out", t.Source, newer)
	}
	damages, damaged := t.Damages()
	warnDamages(stderr, damages, damaged)
}

// warnDamages reports the first damages on standard error, one per line, and counts all.
func warnDamages(stderr io.Writer, damages []tritonparse.Damage, count int) {
	const most = 10
	for _, d := range damages[:min(most, len(damages))] {
		tell(stderr, "skipped: %s", d)
	}
	if count > most {
		tell(stderr, "skipped %d damaged pieces in all", count)
	}
}

// warnNoLaunch reports that no launch matches the filter.
func warnNoLaunch(stderr io.Writer, filter string) {
	tell(stderr, "no launch matches --args-list %s; proton trace info --kernel NAME --args shows their arguments", term.Printable(filter))
}

func printKernels(w io.Writer, info *tritonparse.Info) error {
	t := term.NewTable(w, "KERNEL", "COMPILATIONS", "LAUNCHES", "IDS")
	for _, k := range info.Kernels {
		ids := "-"
		if k.Launches > 0 && info.Files > 1 {
			ids = "in each file from 0"
		} else if k.Launches > 0 {
			ids = fmt.Sprintf("0-%d", k.Launches-1)
		}
		t.Row(k.Name, k.Compilations, k.Launches, ids)
	}
	return t.Flush()
}

func (f *traceInfoFlags) printLaunches(w io.Writer, info *tritonparse.Info) error {
	t := term.NewTable(w)
	row := func(file, id, line, grid, hash, arguments any) {
		cells := []any{id, line, grid, hash}
		if info.Files > 1 {
			cells = slices.Insert(cells, 0, file)
		}
		if f.args {
			cells = append(cells, arguments)
		}
		t.Row(cells...)
	}
	row("FILE", "ID", "LINE", "GRID", "HASH", "ARGUMENTS")
	for _, l := range info.Launches {
		grid, hash := "-", "-"
		if len(l.Grid) > 0 {
			grid = string(jsontext.Form{}.Append(nil, l.Grid))
		}
		if l.Hash != "" {
			hash = shortHash(l.Hash)
		}
		row(l.File, l.ID, l.Line, grid, hash, briefArguments(tritonparse.ReadArguments(l.Args)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s of %s of %s\n", figures.Grouped(len(info.Launches)), figures.Count(info.Total, "launch"), term.Printable(f.kernel))
	return err
}

// printJSON prints a value for programs: fields are added, not renamed.
func printJSON(w io.Writer, v any) error { return jsontext.Write(w, v, "  ") }

// briefArguments shows arguments in a line: x_ptr=float16[64,64] M=64.
func briefArguments(args []tritonparse.Argument) string {
	if len(args) == 0 {
		return "-"
	}
	var parts []string
	for i := range args {
		parts = append(parts, args[i].Name+"="+args[i].Brief())
	}
	return strings.Join(parts, " ")
}
