package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/jsontext"
	"github.com/goproton/goproton/tritonparse/ndjson"
)

func newTraceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "read TritonParse traces: what was compiled and launched",
		Long: `trace reads what TritonParse records: every compilation with all its intermediate representations, and every
launch with its arguments. Raw traces are read as they are written: plain, as gzip members or as zstd frames.`,
		Example: `  proton trace parse logs -o parsed
  proton trace info logs/dedicated_log_triton_trace_me_.ndjson
  proton trace info trace.ndjson.gz --kernel matmul_kernel --args-list 'M=1024,a_ptr.shape=[1024, 512]'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &exitError{code: 2, err: unknownCommand(cmd, args[0])}
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newTraceParseCommand(), newTraceInfoCommand())
	return cmd
}

// oneTrace is the argument of commands that read one trace.
func oneTrace(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &exitError{code: 2, err: errors.New("must specify one trace; see --help")}
	}
	return nil
}

type traceInfoFlags struct {
	kernel string
	filter string
	args   bool
	json   bool
}

func newTraceInfoCommand() *cobra.Command {
	var f traceInfoFlags
	cmd := &cobra.Command{
		Use:   "info [flags] FILE",
		Short: "list the kernels of a trace, or the launches of one",
		Long: `info lists the kernels of a raw or parsed trace with how often each was compiled and launched, or, with --kernel,
the launches of one. A launch has an id, its place among those of its kernel in this file, and a line, the place
of its record in this file, from 0.`,
		Example: `  proton trace info logs/dedicated_log_triton_trace_me_.ndjson
  proton trace info trace.ndjson.gz --kernel matmul_kernel --args
  proton trace info trace.ndjson.gz --kernel matmul_kernel --args-list 'num_warps=4,a_ptr.shape[0]=64' --json`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.kernel, "kernel", "", "list the launches of the kernel `NAME`")
	flags.StringVar(&f.filter, "args-list", "", "only launches that fulfil `FILTER`: NAME=VALUE of compile options and arguments, with commas between several; NAME may go on with .field and [index]")
	flags.BoolVar(&f.args, "args", false, "with --kernel, show the arguments")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (f *traceInfoFlags) run(path string, stdout, stderr io.Writer) error {
	if f.kernel == "" && (f.filter != "" || f.args) {
		return &exitError{code: 2, err: errors.New("--args-list and --args need --kernel NAME")}
	}
	filter, err := tritonparse.ParseFilter(f.filter)
	if err != nil {
		return &exitError{code: 2, err: err}
	}
	info, err := tritonparse.ReadInfo(path, tritonparse.InfoOptions{Kernel: f.kernel, Filter: filter, Args: f.args})
	if info != nil {
		warnDamages(stderr, "proton trace info", info.Damages, info.Damaged)
	}
	if err != nil {
		return err
	}
	switch {
	case f.json:
		encoder := json.NewEncoder(stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(info)
	case f.kernel != "":
		return f.printLaunches(stdout, info)
	}
	return printKernels(stdout, info)
}

// warnDamages names the first damages, each in a line of standard error, and counts all.
func warnDamages(stderr io.Writer, command string, damages []ndjson.Damage, count int) {
	const most = 10
	for _, d := range damages[:min(most, len(damages))] {
		fmt.Fprintf(stderr, "%s: skipped: %s\n", command, d)
	}
	if count > most {
		fmt.Fprintf(stderr, "%s: skipped %d damaged pieces in all\n", command, count)
	}
}

func printKernels(w io.Writer, info *tritonparse.Info) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KERNEL\tCOMPILATIONS\tLAUNCHES\tIDS")
	for _, k := range info.Kernels {
		ids := "-"
		if k.Launches > 0 {
			ids = fmt.Sprintf("0-%d", k.Launches-1)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", term.Printable(k.Name), k.Compilations, k.Launches, ids)
	}
	return t.Flush()
}

func (f *traceInfoFlags) printLaunches(w io.Writer, info *tritonparse.Info) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "ID\tLINE\tGRID\tHASH")
	if f.args {
		fmt.Fprint(t, "\tARGUMENTS")
	}
	fmt.Fprintln(t)
	for _, l := range info.Launches {
		grid, hash := "-", "-"
		if len(l.Grid) > 0 {
			grid = string(jsontext.Form{}.Append(nil, l.Grid))
		}
		if l.Hash != "" {
			hash = term.Printable(l.Hash[:min(12, len(l.Hash))])
		}
		fmt.Fprintf(t, "%d\t%d\t%s\t%s", l.ID, l.Line, term.Printable(grid), hash)
		if f.args {
			fmt.Fprintf(t, "\t%s", term.Printable(briefArguments(l.Args)))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d launches of %s\n", len(info.Launches), info.Total, term.Printable(f.kernel))
	return err
}

// briefArguments shows arguments in a line: x_ptr=float16[64,64] M=64.
func briefArguments(args json.RawMessage) string {
	if len(args) == 0 {
		return "-"
	}
	members, err := jsontext.Members(args)
	if err != nil {
		return "-"
	}
	var parts []string
	for _, m := range members {
		parts = append(parts, m.Name+"="+briefArgument(m.Value))
	}
	return strings.Join(parts, " ")
}

func briefArgument(v []byte) string {
	canonical := func(v []byte) string { return string(jsontext.Form{}.Append(nil, v)) }
	if value := jsontext.Get(v, "value"); value != nil {
		return canonical(value)
	}
	if shape := jsontext.Get(v, "shape"); shape != nil {
		return strings.TrimPrefix(jsontext.Text(jsontext.Get(v, "dtype")), "torch.") + canonical(shape)
	}
	if repr := jsontext.Text(jsontext.Get(v, "repr")); repr != "" {
		return repr
	}
	if kind := jsontext.Text(jsontext.Get(v, "type")); kind != "" {
		return kind
	}
	return canonical(v)
}
