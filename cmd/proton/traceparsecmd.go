package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/interpreter/fromtrace"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/backend"
	"github.com/goproton/goproton/tritonparse/parse"
)

type traceParseFlags struct {
	out        string
	force      bool
	compat     string
	rank       string
	noPreInit  bool
	kernels    string
	launches   string
	analyses   string
	procedures string
	torchTrace string
	noSplit    bool
	strict     bool
	json       bool
}

func newTraceParseCommand() *cobra.Command {
	var f traceParseFlags
	cmd := &cobra.Command{
		Use:   "parse [flags] SRC -o DIR",
		Short: "map every line of a raw trace's compilations to its Python line; write files for TritonParse's website",
		Long: `parse reads a raw trace, or a folder of traces of many processes and ranks. For each rank it writes the compilations,
with the lines of every intermediate representation mapped to the Python source and to each other, and the launches of
each compilation, with their common members and their differences.

Lines of inlined helpers are mapped to the line of the kernel that called them. --compat tritonparse writes the output
of tritonparse 0.6.1.dev20261021 instead, including its mistakes, for comparison.

Analyses show the order of a loop's operations after compilation (loop_schedules), the bytes and operations of each
launch by its grid and arguments (roofline), whether AMD's buffer instructions are used (amd_buffer_ops), and which of
AMD's schedules was applied, or the matches of --procedure-checks (procedure_checks).

A truncated or damaged record is the only one lost, and standard error names it. The exit code is 1 if nothing was
written, because of --strict or because no kernel matches --kernel-allowlist for example.`,
		Example: `  proton trace parse logs -o parsed
  proton trace parse logs -o parsed --force --rank 0
  proton trace parse logs -o parsed --kernel-allowlist 'matmul*,softmax_kernel'
  proton trace parse logs -o parsed --compat tritonparse`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.StringVarP(&f.out, "output", "o", "", "write to the folder `DIR`")
	flags.BoolVar(&f.force, "force", false, "replace DIR if it exists")
	flags.StringVar(&f.compat, "compat", "", "`tritonparse`: the same output as tritonparse; its procedure checks need LLVM's FileCheck, which Triton includes")
	flags.StringVarP(&f.rank, "rank", "r", "", "only rank `N`, or none for the files without a rank; if no file has a rank, N takes them too")
	flags.BoolVar(&f.noPreInit, "no-pre-init-attribution", false, "keep records from before a process had its rank apart, without a rank")
	flags.StringVar(&f.kernels, "kernel-allowlist", "", "only kernels whose names match `PATTERNS` (as in 'matmul_*', separated by commas). The configurations of one autotuner session stay together")
	flags.StringVar(&f.launches, "args-list", "", "only launches that match `FILTER`, see proton trace info")
	flags.StringVar(&f.analyses, "analysis", "", "make the analyses `NAMES`, separated by commas, all, or none (default: $TRITONPARSE_ANALYSIS, or all)")
	flags.StringVar(&f.procedures, "procedure-checks", "", "check the procedures in `FILE`, in tritonparse's format, instead of AMD's schedules")
	flags.StringVar(&f.torchTrace, "torch-trace-dir", "", "also read torch's own traces (TORCH_TRACE) in `DIR` for the origin of kernels that do not name it; those next to SRC are always read")
	flags.BoolVar(&f.noSplit, "no-split", false, "do not write one file per compilation of torch.compile")
	flags.BoolVar(&f.json, "json", false, "print a JSON object of the files and counts")
	flags.BoolVar(&f.strict, "strict", false, "fail if anything was damaged")
	choices(cmd, "compat", "tritonparse")
	return cmd
}

func (f *traceParseFlags) options(stderr io.Writer) (parse.Options, error) {
	o := parse.Options{Compat: f.compat == "tritonparse", NoPreInit: f.noPreInit}
	o.Warn = func(s string) { tell(stderr, "%s", s) }
	if f.out == "" {
		return o, errors.New("must specify an output folder: proton trace parse SRC -o DIR")
	}
	if f.compat != "" && !o.Compat {
		return o, fmt.Errorf("--compat %q: only tritonparse is known", f.compat)
	}
	var err error
	if o.Launches, err = tritonparse.ParseFilter(f.launches); err != nil {
		return o, err
	}
	if err := f.chooseAnalyses(&o); err != nil {
		return o, err
	}
	if o.Kernels, err = tritonparse.ParseNames(f.kernels); err != nil {
		return o, err
	}
	o.NoSplit, o.TorchTrace = f.noSplit, f.torchTrace
	switch f.rank {
	case "":
	case "none":
		o.Rank = new(-1)
	default:
		n, err := strconv.ParseUint(f.rank, 10, 31)
		if err != nil {
			return o, fmt.Errorf("--rank %q: give a number, or none", f.rank)
		}
		o.Rank = new(int(n))
	}
	return o, nil
}

// chooseAnalyses reads --analysis, its environment variable and the procedures to check.
func (f *traceParseFlags) chooseAnalyses(o *parse.Options) error {
	names, set := f.analyses, f.analyses != ""
	if !set {
		names, set = os.LookupEnv(settings.Analysis.Name)
	}
	if set {
		known := backend.AnalysisNames()
		o.Analyses = []string{}
		for _, n := range strings.Split(strings.ToLower(names), ",") {
			switch n = strings.TrimSpace(n); {
			case n == "all":
				o.Analyses = known
			case n == "" || n == "none":
			case slices.Contains(known, n):
				o.Analyses = append(o.Analyses, n)
			case f.analyses != "":
				return fmt.Errorf("--analysis: there is no %q; there are %s, all, none", n, strings.Join(known, ", "))
			default:
				o.Warn(fmt.Sprintf("TRITONPARSE_ANALYSIS: there is no %q; there are %s", n, strings.Join(known, ", ")))
			}
		}
	}
	if f.procedures != "" {
		var err error
		if o.Procedures, err = backend.ReadProcedures(f.procedures); err != nil {
			return fmt.Errorf("--procedure-checks: %w", err)
		}
		o.OwnProcedures = true
	}
	if o.Compat || o.OwnProcedures {
		o.FileCheck = backend.FindFileCheck()
	}
	return nil
}

func (f *traceParseFlags) run(source string, stdout, stderr io.Writer) error {
	options, err := f.options(stderr)
	if err != nil {
		return usage(err)
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
	// An existing folder is kept until all is written.
	parent := filepath.Dir(filepath.Clean(f.out))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return cannotWrite(f.out, err)
	}
	part, err := os.MkdirTemp(parent, "."+filepath.Base(f.out)+".part-")
	if err != nil {
		return cannotWrite(f.out, err)
	}
	remove := func() { os.RemoveAll(part) }
	defer remove()
	defer whenInterrupted(remove)()
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	collectMore()
	progress := term.NewProgress(stderr, "proton")
	var one sync.Mutex // launch is run at a time: memory stays bounded
	options.Run = func(compilation, launch []byte) (parse.Ran, error) {
		one.Lock()
		defer one.Unlock()
		return fromtrace.Run(source, compilation, launch)
	}
	options.Progress = func(p parse.Progress) { progress.Report(p.Read, p.Size) }
	result, err := parse.Parse(source, part, options)
	progress.Stop()
	if result != nil {
		warnDamages(stderr, result.Damages, result.Damaged)
	}
	if err != nil {
		return err
	}
	if f.strict && result.Damaged > 0 {
		return fmt.Errorf("%s damaged, and --strict is given: nothing was written", figures.Count(result.Damaged, "piece"))
	}
	if result.Dropped > 0 {
		tell(stderr, "%s left out", figures.Plural(result.Dropped, "launch does not name its compilation and is", "launches do not name their compilation and are"))
	}
	if result.Failed > 0 {
		tell(stderr, "%s left out: proton trace info lists those of the raw trace", figures.Plural(result.Failed, "compilation that failed is", "compilations that failed are"))
	}
	if len(options.Launches) > 0 && result.Launches == 0 {
		warnNoLaunch(stderr, f.launches)
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

// collectMore reverts collectLess: a trace of any size needs a fixed amount of memory, about 60 MB, and garbage must not add
// much to it.
func collectMore() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(200)
		debug.SetMemoryLimit(136 << 20)
	}
}

// mayReplace refuses to remove the input, and folders that contain anything other than a parsed trace.
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
		return fmt.Errorf("%s contains the input trace; give another name", out)
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) == 0 {
		return err
	}
	if _, err := os.Stat(filepath.Join(out, "log_file_list.json")); err != nil {
		return fmt.Errorf("%s has no log_file_list.json, so it is not a parsed trace and is not replaced; give another name", out)
	}
	return nil
}

// writtenFile is a file of a parsed trace.
type writtenFile struct {
	Name  string `json:"name"` // below the folder
	Bytes int64  `json:"bytes"`
}

func (f *traceParseFlags) written(result *parse.Result) ([]writtenFile, error) {
	var all []writtenFile
	for _, name := range result.Files {
		info, err := os.Stat(filepath.Join(f.out, name))
		if err != nil {
			return nil, err
		}
		all = append(all, writtenFile{name, info.Size()})
	}
	return all, nil
}

func (f *traceParseFlags) print(w io.Writer, result *parse.Result) error {
	files, err := f.written(result)
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(w, struct {
			Folder       string        `json:"folder"`
			Files        []writtenFile `json:"files"`
			Compilations int           `json:"compilations"`
			Launches     int           `json:"launches"`
			Dropped      int           `json:"dropped"` // launches that do not name their compilation
			Damaged      int           `json:"damaged"`
		}{f.out, files, result.Compilations, result.Launches, result.Dropped, result.Damaged})
	}
	t := term.NewTable(w)
	for _, one := range files {
		t.Row(filepath.Join(f.out, one.Name), figures.Bytes.Text(float64(one.Bytes)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s, %s\n", figures.Count(result.Compilations, "compilation"), figures.Count(result.Launches, "launch"))
	return err
}
