package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/tritonparse"
)

type traceParseFlags struct {
	out       string
	force     bool
	compat    string
	rank      string
	noPreInit bool
	strict    bool
}

func newTraceParseCommand() *cobra.Command {
	var f traceParseFlags
	cmd := &cobra.Command{
		Use:   "parse [flags] SRC -o DIR",
		Short: "map every line of a raw trace's compilations to its Python line; write what TritonParse's website opens",
		Long: `parse reads a raw trace, or a folder of those of many processes and ranks, and writes for each rank what was
compiled, with the lines of every intermediate representation mapped to the Python source and to each other, the launches
of each compilation, and what is the same in all of them and what is not.

Lines of inlined helpers are credited to the line of the kernel that called them. --compat tritonparse gives the maps
that tritonparse 0.6.0 gives instead, its mistakes included, for comparison with it.

A record that is cut or damaged costs that record; it is named on standard error.`,
		Example: `  proton trace parse logs -o parsed
  proton trace parse logs -o parsed --force --rank 0
  proton trace parse logs/dedicated_log_triton_trace_me_.ndjson -o parsed --compat tritonparse`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.out, "output", "o", "", "folder to write, `DIR`")
	flags.BoolVar(&f.force, "force", false, "replace DIR if it exists")
	flags.StringVar(&f.compat, "compat", "", "`tritonparse`: maps and differences as tritonparse 0.6.0 has them")
	flags.StringVarP(&f.rank, "rank", "r", "", "only rank `N`, or none for the files without one")
	flags.BoolVar(&f.noPreInit, "no-pre-init-attribution", false, "leave what a process wrote before it had a rank where it is, without one")
	flags.BoolVar(&f.strict, "strict", false, "fail if anything was damaged")
	return cmd
}

func (f *traceParseFlags) options(stderr io.Writer) (tritonparse.Options, error) {
	o := tritonparse.Options{Compat: f.compat == "tritonparse", NoPreInit: f.noPreInit}
	o.Warn = func(s string) { fmt.Fprintf(stderr, "proton trace parse: %s\n", s) }
	if f.out == "" {
		return o, errors.New("must specify where to write: proton trace parse SRC -o DIR")
	}
	if f.compat != "" && !o.Compat {
		return o, fmt.Errorf("--compat %q: only tritonparse is known", f.compat)
	}
	switch f.rank {
	case "":
	case "none":
		none := -1
		o.Rank = &none
	default:
		n, err := strconv.ParseUint(f.rank, 10, 31)
		if err != nil {
			return o, fmt.Errorf("--rank %q: give a number, or none", f.rank)
		}
		rank := int(n)
		o.Rank = &rank
	}
	return o, nil
}

func (f *traceParseFlags) run(source string, stdout, stderr io.Writer) error {
	options, err := f.options(stderr)
	if err != nil {
		return &exitError{code: 2, err: err}
	}
	replaced := false
	if _, err := os.Lstat(f.out); err == nil {
		if !f.force {
			return fmt.Errorf("%s exists; give --force to replace it, or another name", f.out)
		}
		if err := mayReplace(source, f.out); err != nil {
			return err
		}
		replaced = true
	}
	// What was there stays until all is written.
	part, err := os.MkdirTemp(filepath.Dir(filepath.Clean(f.out)), "."+filepath.Base(f.out)+".part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	collectMore()
	result, err := tritonparse.Parse(source, part, options)
	if result != nil {
		warnDamages(stderr, "proton trace parse", result.Damages, result.Damaged)
	}
	if err != nil {
		return err
	}
	if f.strict && result.Damaged > 0 {
		return fmt.Errorf("%d pieces are damaged, and --strict is given: nothing is written", result.Damaged)
	}
	if result.Dropped > 0 {
		fmt.Fprintf(stderr, "proton trace parse: %d launches do not say which compilation they launched, and are left out\n", result.Dropped)
	}
	if replaced {
		if err := os.RemoveAll(f.out); err != nil {
			return err
		}
	}
	if err := os.Rename(part, f.out); err != nil {
		return err
	}
	return f.print(stdout, result)
}

// collectMore takes back collectLess: a trace of any size goes through a fixed part of memory, and that part should be
// small. 191 MB took 280 MB resident before, and 160 so.
func collectMore() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(150)
	}
}

// mayReplace refuses to remove what is read, and folders that hold other things than a parsed trace.
func mayReplace(source, out string) error {
	from, err := filepath.Abs(source)
	if err != nil {
		return err
	}
	to, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(to, from); err == nil && (rel == "." || filepath.IsLocal(rel)) {
		return fmt.Errorf("%s holds the trace that is read; give another name", out)
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) == 0 {
		return err
	}
	if _, err := os.Stat(filepath.Join(out, "log_file_list.json")); err != nil {
		return fmt.Errorf("%s holds no log_file_list.json, so it is no parsed trace that may be replaced; give another name", out)
	}
	return nil
}

func (f *traceParseFlags) print(w io.Writer, result *tritonparse.Result) error {
	for _, name := range result.Files {
		if _, err := fmt.Fprintln(w, filepath.Join(f.out, name)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d compilations, %d launches\n", result.Compilations, result.Launches)
	return err
}
