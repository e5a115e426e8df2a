package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
	"github.com/goproton/goproton/viewer/listing"
)

// sourceFlags are those of `proton viewer` that show instruction samples.
type sourceFlags struct {
	source, sass kernelFlag
	inside       kernelFlag
	sampled      string
	paths        []string
	context      int
	unfold       bool
	byPath       bool
	json         bool
	markdown     bool
	trace        string
	ir           []string
	launches     bool
}

// kernelFlag is a flag that may have a kernel's name or not: --source, --source=matmul. `--source matmul FILE` is taken
// apart by kernelOf.
type kernelFlag struct {
	asked   bool
	pattern string
}

// hottest is the value of the flag without a kernel.
const hottest = "the hottest"

func (k *kernelFlag) String() string { return k.pattern }
func (k *kernelFlag) Type() string   { return "PATTERNS" }

func (k *kernelFlag) Set(pattern string) error {
	k.asked = true
	if k.pattern = pattern; pattern == hottest {
		k.pattern = ""
	}
	return nil
}

func (f *sourceFlags) register(flags *pflag.FlagSet) {
	for _, k := range []struct {
		name, about string
		value       *kernelFlag
	}{
		{"source", "show samples by source line, for kernels that match the `PATTERNS`, separated by commas: a part of a name, or 'matmul_*' for whole ones; with --inside, scopes next to the source", &f.source},
		{"sass", "show samples by instruction, for kernels that match the `PATTERNS`", &f.sass},
		{"inside", "show the scopes inside of kernels that match the `PATTERNS` (default the one with most cycles)", &f.inside},
	} {
		flags.Var(k.value, k.name, k.about)
		flags.Lookup(k.name).NoOptDefVal = hottest
	}
	flags.StringVar(&f.sampled, "samples", "", "with --inside, add the instruction samples of the same kernels in `FILE`, of a run with --mode pcsampling")
	flags.StringArrayVar(&f.paths, "source-path", nil, "replace `OLD=NEW` in paths of sources, or search a folder")
	flags.IntVar(&f.context, "context", 2, "show `N` lines around lines with samples")
	flags.BoolVar(&f.unfold, "unfold", false, "show the lines of inlined functions")
	flags.BoolVar(&f.byPath, "by-path", false, "show a kernel separately for each call path that launched it")
	flags.StringVar(&f.trace, "trace", "", "read the `TRACE` of the same run, a folder or a file: with --source and --sass for IR and launch times, with --launches for arguments")
	flags.StringSliceVar(&f.ir, "ir", nil, "with --trace, show all lines of these `STAGES`: ttir, ttgir, llir, ptx, sass (default a few of each; with --sass none)")
	flags.BoolVar(&f.launches, "launches", false, "add a frame below each kernel for every specialisation and set of arguments that it was launched with")
	flags.BoolVar(&f.markdown, "markdown", false, "print a table for GitHub: --view markdown")
	flags.BoolVar(&f.json, "json", false, "print JSON: --view json, or with --source and --sass the samples")
}

// onlyOfSamples are the flags that need instruction samples; alsoOfSamples are the other flags that have an effect with
// them.
var (
	onlyOfSamples = []string{"source-path", "context", "unfold", "by-path", "ir"}
	alsoOfSamples = []string{"source", "sass", "trace", "include", "exclude", "json", "view", "width", "color", "ascii", "all", "no-pager", "help"}
)

func (f *sourceFlags) asked() bool { return (f.source.asked || f.sass.asked) && !f.inside.asked }

// check refuses flags that exclude each other.
func (f *sourceFlags) check(flags *pflag.FlagSet, view string) error {
	if f.source.asked && f.sass.asked {
		return errors.New("--source and --sass exclude each other: give one of them")
	}
	if f.context < 0 {
		return fmt.Errorf("read --context %d: give 0 or more lines", f.context)
	}
	var foreign string
	flags.Visit(func(flag *pflag.Flag) {
		own := slices.Contains(onlyOfSamples, flag.Name)
		switch {
		case !f.asked() && own:
			foreign = fmt.Sprintf("--%s needs --source or --sass", flag.Name)
		case f.asked() && !own && !slices.Contains(alsoOfSamples, flag.Name):
			foreign = fmt.Sprintf("--%s has no effect with --source and --sass; use -i, -e, --by-path or --all", flag.Name)
		}
	})
	switch {
	case f.sampled != "":
		return errors.New("--samples needs --inside, which shows the scopes that the samples are added to")
	case foreign != "":
		return errors.New(foreign)
	case f.trace != "" && !f.asked() && !f.launches:
		return errors.New("--trace needs --source, --sass or --launches; proton trace has commands for traces alone")
	case len(f.ir) > 0 && f.trace == "":
		return errors.New("--ir needs --trace DIR, which has the lines of the compiler's stages")
	case f.asked() && view != "" && view != "json":
		return fmt.Errorf("--view %s has no effect with --source and --sass, which print text, or with --json a document", view)
	}
	return f.files("", nil).CheckMoves()
}

// kernelOf takes the kernel's name off the arguments: `proton viewer --source matmul FILE`, or, with a file that is there,
// `FILE --source matmul`. With a trace the file may be missing.
func (f *sourceFlags) kernelOf(args []string) []string {
	pattern := &f.source.pattern
	if f.sass.asked {
		pattern = &f.sass.pattern
	}
	if f.inside.asked {
		pattern = &f.inside.pattern
	}
	switch {
	case !f.asked() && !f.inside.asked:
		return args
	case len(args) == 1 && f.traceAlone() && *pattern == "" && !exists(args[0]):
		*pattern = args[0]
		return nil
	case len(args) != 2:
		return args
	}
	kernel, file := args[0], args[1]
	if exists(kernel) && !exists(file) {
		kernel, file = file, kernel
	}
	if *pattern != "" && *pattern != kernel {
		return args
	}
	*pattern = kernel
	return []string{file}
}

// traceAlone reports whether a trace without a profile has something to show.
func (f *sourceFlags) traceAlone() bool { return f.trace != "" && f.asked() }

func exists(file string) bool {
	info, err := os.Stat(file)
	return file == "-" || err == nil && !info.IsDir() // a kernel may be called as a folder is
}

// files finds sources where they were, next to the profile and in the current folder.
func (f *sourceFlags) files(file string, p *profile.Profile) *kernels.Files {
	files := &kernels.Files{Moves: f.paths, Near: []string{"."}, Below: settings.SourcesBelow.Get(os.Getenv)}
	if file != "" && file != "-" {
		files.Near = append(files.Near, filepath.Dir(file))
	}
	if p != nil {
		if p.Sampling != nil {
			files.Keep(p.Sampling.Sources)
		}
		if ns, err := strconv.ParseInt(p.Info[profile.InfoStart], 10, 64); err == nil {
			files.Since = time.Unix(0, ns)
		}
	}
	return files
}

// printKernels prints the output of --source and --sass. p is nil if there is only a trace.
func (f *viewerFlags) printKernels(file string, p *profile.Profile, out io.Writer) (notes []string, err error) {
	sf := &f.samples
	o := kernels.Options{
		Profile: p, Files: sf.files(file, p), Modules: &kernels.Modules{Profile: file, Env: os.LookupEnv},
		Kernel: sf.source.pattern + sf.sass.pattern, Include: f.o.Include, Exclude: f.o.Exclude, ByPath: sf.byPath,
	}
	if sf.trace != "" {
		if o.Trace, err = openTrace(sf.trace); err != nil {
			return nil, err
		}
	}
	r, err := kernels.Collect(o)
	switch {
	case errors.As(err, new(*kernels.TraceError)):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("show the samples of %s: %w", file, err)
	}
	l := listing.Options{Terminal: f.terminal.Terminal, Instructions: sf.sass.asked, Unfold: sf.unfold, Context: sf.context, Stages: splitNames(sf.ir)}
	if err := checkStages(r, l); err != nil {
		return nil, err
	}
	if sf.json || f.view == "json" {
		err = listing.PrintJSON(out, r, l)
	} else {
		notes, err = listing.Print(out, r, l)
	}
	if folder := traceOf(p); folder != "" && !r.Traced() {
		more := "the IR and instructions of each line"
		if l.Instructions {
			more = "the IR behind each instruction"
		}
		notes = append(notes, fmt.Sprintf("the run was traced: --trace %s also shows %s", folder, more))
	}
	return notes, err
}

// checkStages refuses stages that the trace does not have.
func checkStages(r *kernels.Run, l listing.Options) error {
	known := r.Stages()
	if l.Instructions { // instructions are what is listed
		known = slices.DeleteFunc(known, func(stage string) bool { return slices.Contains(r.MachineStages(), stage) })
	}
	for _, stage := range l.Stages {
		if !slices.Contains(known, stage) {
			return usagef("read --ir %q: the compilations have %s", stage, strings.Join(known, ", "))
		}
	}
	return nil
}

// traceOf is the folder of the trace that was recorded with a profile, "" if there was none.
func traceOf(p *profile.Profile) string {
	if p == nil {
		return ""
	}
	return p.Info[profile.InfoTrace]
}
