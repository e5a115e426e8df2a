package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/internal/version"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/nearby"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

type reproduceFlags struct {
	line, kernel, hash string
	launch             int
	options            reproduce.Options
	kernelImport       string
	stamp              string
	intRange           string
	replacers          []string
	json               bool

	slowest   int
	profile   string
	include   string
	exclude   string
	benchmark bool
	runs      bool
	compare   string
	rounds    int
	detect    string
	seconds   float64
	python2   string
	candidate string
	tolerance float64
	warm      secondsFlag
}

func newReproduceCommand() *cobra.Command {
	var f reproduceFlags
	cmd := &cobra.Command{
		Use:   "reproduce [flags] TRACE",
		Short: "write a Python script that repeats one recorded launch, and time it",
		Long: `reproduce writes a Python script that repeats one launch of a TritonParse trace, raw or parsed: the kernel as it was
compiled, with the recorded arguments. The script needs only torch and triton.

The launch is selected by --line, --kernel with --launch-id, --hash, or --slowest with a profile of the same run;
otherwise it is the first. The script contains the source of the kernel and of everything that it uses, if the trace
or the original files have it. Otherwise it imports the original file or compiles the recorded TTIR. Tensors have
their recorded contents if the trace has them, else random values with the recorded statistics, else random values.
The script of a compilation that failed, which proton trace info lists, compiles it again and needs no GPU.

--benchmark writes a script that checks the result of the launch and times it. With --run it runs now, and once more
under proton run for the kernel's own time and the hot lines. --compare runs two traces or scripts in alternation and
reports whether one is slower. With --detect 1% it is a gate for CI: exit code 1 if OTHER is slower, 3 if a slowdown of
1% could have been missed.

--candidate calls another kernel with the recorded arguments: its outputs are compared with those of the recorded one, both
are timed in turns, and it is explained as proton explain does. Exit code 1 if outputs differ or it is slower, 3 if that
could not be decided. Without a GPU the outputs alone are compared, by proton interpret.`,
		Example: `  proton reproduce logs --kernel matmul_kernel --launch-id 3
  proton reproduce logs --slowest --profile train.hatchet --benchmark --run
  proton reproduce logs --slowest 3 --profile train.hatchet -i '^backward$'
  proton reproduce before --kernel matmul_kernel --compare after
  proton reproduce old/repro.py --compare new/repro.py --rounds 10
  proton reproduce before --kernel matmul_kernel --compare after --detect 1%
  proton reproduce logs --kernel matmul_kernel --candidate new_kernel.py --json`,
		Args: cobra.ArbitraryArgs, // oneTrace checks them
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && cmd.Flags().Changed("slowest") { // --slowest 3 TRACE
				for i, a := range args {
					if n, err := strconv.Atoi(a); err == nil {
						f.slowest, args = n, slices.Delete(args, i, i+1)
						break
					}
				}
			}
			if err := oneTrace(cmd, args); err != nil {
				return err
			}
			for _, name := range []string{"rounds", "compare-python", "detect"} {
				if cmd.Flags().Changed(name) && f.compare == "" && !(name == "detect" && f.candidate != "") {
					return usagef("--%s needs --compare OTHER", name)
				}
			}
			if cmd.Flags().Changed("tolerance") && (f.candidate == "" || !(f.tolerance >= 0 && f.tolerance < 1)) {
				return usagef("read --tolerance %g: it is of --candidate, and a share of the largest value, such as 0.001", f.tolerance)
			}
			if cmd.Flags().Changed("keep-warm") && f.candidate == "" {
				return usagef("--keep-warm is of --candidate")
			}
			if cmd.Flags().Changed("seconds") && f.detect == "" || f.detect != "" && cmd.Flags().Changed("rounds") {
				return usagef("--seconds is of --detect, which takes as many rounds as it needs; without --detect, give --rounds")
			}
			if cmd.Flags().Changed("slowest") && f.slowest < 1 {
				return usagef("read --slowest %d: give a number of launches, 1 or more", f.slowest)
			}
			f.options.Python = cmp.Or(f.options.Python, usualPython())
			return f.run(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd)
	return cmd
}

func (f *reproduceFlags) register(cmd *cobra.Command) {
	flags := flagsOf(cmd)
	flags.StringVar(&f.line, "line", "", "the launch, or the compilation that failed, in record `N` of the trace, as proton trace info shows it; FILE:N in a folder of several files")
	flags.StringVar(&f.kernel, "kernel", "", "a launch of the kernel `NAME`")
	flags.IntVar(&f.launch, "launch-id", 0, "launch number `N`, counted from 0, among those of --kernel or --hash if given")
	flags.StringVar(&f.hash, "hash", "", "a launch of the compilation whose hash begins with `H`")
	flags.IntVar(&f.slowest, "slowest", 0, "the `N` launches with the most time in --profile, summed over launches of the same kind (default 1)")
	flags.Lookup("slowest").NoOptDefVal = "1"
	flags.StringVar(&f.profile, "profile", "", "for --slowest: the profile `FILE` of the same run")
	flags.StringVarP(&f.include, "include", "i", "", "for --slowest: count only call paths through a frame that matches `REGEXP`")
	flags.StringVarP(&f.exclude, "exclude", "e", "", "for --slowest: count no call path through a frame that matches `REGEXP`, such as '<autotune>'")
	flags.StringVarP(&f.options.OutDir, "out-dir", "o", "repro_output", "write to `DIR`, with one folder for each kernel")
	flags.StringVar(&f.options.Template, "template", "", "template `NAME` of the script: example (default), tritonbench, or a file")
	flags.StringVar(&f.kernelImport, "kernel-import", "", "`HOW` the script gets the kernel: default imports its original file, copy contains its source, override-ttir compiles the recorded TTIR (default: the first of copy, default and override-ttir that works)")
	flags.BoolVar(&f.options.Embed, "embed-context", false, "write a single file that contains everything")
	flags.BoolVar(&f.options.PreserveAutotune, "preserve-autotune", false, "keep autotuner and heuristics; otherwise the recorded configuration runs")
	flags.StringVar(&f.intRange, "int-range", "", "range `LEAST:LIMIT` of random integers, without LIMIT itself (default: 0 to the smallest size of a tensor)")
	flags.Int64Var(&f.options.Seed, "seed", 0, "`SEED` of random values")
	flags.Float64Var(&f.options.Flops, "flops", 0, "`FLOPS` of the launch, for rates (default: counted in its TTIR)")
	flags.StringArrayVar(&f.replacers, "replacer", nil, "run the program `CMD`, with arguments, for the texts of a template's placeholders; may be repeated")
	flags.StringArrayVar(&f.options.FilesFrom, "files-from", nil, filesFromUsage)
	flags.StringVar(&f.options.Python, "python", "", "`INTERPRETER` that parses the original source files and runs scripts (default: the one that proton run would use)")
	flags.BoolVar(&f.benchmark, "benchmark", false, "write a script that checks and times the launch")
	flags.BoolVar(&f.runs, "run", false, "run the script now; with --benchmark also under proton run")
	flags.StringVar(&f.compare, "compare", "", "time this and `OTHER`, a trace or a script of --benchmark, in alternation, and compare them")
	flags.IntVar(&f.rounds, "rounds", 5, "with --compare: run each side `N` times")
	flags.StringVar(&f.detect, "detect", "", "with --compare: alternate both on the GPU until a slowdown of `SHARE`, such as 1%, would be seen in 9 of 10 cases; exit with 1 if OTHER is slower, which is a false alarm in 1 of 100")
	flags.Float64Var(&f.seconds, "seconds", 60, "with --detect: measure for at most `SECONDS`; exit with 3 if that was too short to decide")
	flags.StringVar(&f.python2, "compare-python", "", "`INTERPRETER` for the other side of --compare (default: the same)")
	flags.StringVar(&f.candidate, "candidate", "", "put the function NAME of a Python file, `FILE[:NAME]`, in the place of the kernel, with the same arguments: compare outputs, time both, explain it")
	flags.Float64Var(&f.tolerance, "tolerance", 0, "with --candidate: the largest difference of outputs as a `SHARE` of the largest value (default: by type, 0.001 of float16)")
	flags.Var(&f.warm, "keep-warm", "with --candidate: leave a Python with torch and Triton imported for the next call, until it had no work for `TIME`, such as 10m")
	flags.StringVar(&f.stamp, "stamp", "time", "append `TEXT` to the files' names, the time if it is \"time\"; empty for none")
	flags.BoolVar(&f.options.Force, "force", false, "replace the script if it exists")
	flags.BoolVar(&f.json, "json", false, "print a JSON object; with --slowest 2 or more it has the list launches")
	showEveryday(cmd,
		everyday{"line", "the launch in a record of the trace", "proton reproduce traces --line 12"},
		everyday{"kernel", "a launch of a kernel", "proton reproduce traces --kernel matmul_kernel"},
		everyday{"slowest", "the launch with the most time", "proton reproduce logs --slowest --profile p.hatchet"},
		everyday{"profile", "the profile that has the times", "proton reproduce traces --slowest --profile p.pb.gz"},
		everyday{"out-dir", "where the script goes", "proton reproduce traces -o repro"},
		everyday{"benchmark", "a script that checks and times", "proton reproduce traces --benchmark"},
		everyday{"run", "run the script now", "proton reproduce traces --benchmark --run"},
		everyday{"compare", "which of two is faster", "proton reproduce before --compare after"},
		everyday{"candidate", "compare, time and explain a new kernel", "proton reproduce traces --candidate new.py"},
		everyday{"detect", "a gate: exit code 1 if it is slower", "proton reproduce before --compare after --detect 1%"},
	)
	heading(flags, "line", "Which launch")
	heading(flags, "out-dir", "The script")
	heading(flags, "benchmark", "Running it")
	heading(flags, "stamp", "Output")
	choices(cmd, "kernel-import", "default", "copy", "override-ttir")
	withSchema[candidateDocument](cmd, "")
	flags.Lookup("schema").Usage = "print the JSON Schema of the JSON that --candidate prints, and read nothing"
}

func (f *reproduceFlags) run(source string, stdout, stderr io.Writer) error {
	selection, err := f.selection()
	if err == nil {
		err = f.complete()
	}
	if err != nil {
		return usage(err)
	}
	if f.candidate != "" {
		return endsWithScripts(func() error { return f.runCandidate(source, selection, stdout, stderr) })
	}
	if f.compare != "" {
		return endsWithScripts(func() error { return f.runComparison(source, selection, stdout, stderr) })
	}
	if isScript(source) {
		return usagef("%s is a script: give a trace instead, or add --compare OTHER", source)
	}
	trace, err := f.open(source, stderr)
	if err != nil {
		return err
	}
	places, whys, err := f.places(trace, selection)
	if err != nil {
		return err
	}
	var documents []any
	for i, s := range places {
		var document any
		if document, err = f.reproduce(trace, s, whys[i], stdout, stderr); document != nil {
			documents = append(documents, document)
		}
		if err != nil {
			break
		}
	}
	if problem := f.printDocuments(stdout, documents); err == nil {
		err = problem
	}
	return err
}

// printDocuments prints one document of all launches, even if the work ended early: the files that it names were written.
// Its form depends on the flags, not on the number of launches found.
func (f *reproduceFlags) printDocuments(stdout io.Writer, documents []any) error {
	switch {
	case len(documents) == 0:
		return nil
	case f.slowest > 1:
		return printJSON(stdout, map[string]any{"launches": documents})
	}
	return printJSON(stdout, documents[0])
}

func (f *reproduceFlags) open(source string, stderr io.Writer) (*tritonparse.Trace, error) {
	completeTraces(stderr, source)
	trace, err := tritonparse.Open(source, tritonparse.OpenOptions{Kinds: f.slowest > 0})
	if err != nil {
		return nil, err
	}
	warnOfTrace(stderr, trace)
	return trace, nil
}

// places are the launches to reproduce, and the reason for their selection.
func (f *reproduceFlags) places(trace *tritonparse.Trace, selection reproduce.Selection) ([]reproduce.Selection, []string, error) {
	if f.profile == "" {
		return []reproduce.Selection{selection}, []string{""}, nil
	}
	p, err := readProfile(f.profile, os.Stdin, fromFlag{})
	if err != nil {
		return nil, nil, err
	}
	filter, err := profile.NewFilter(f.include, f.exclude)
	if err != nil {
		return nil, nil, usage(err)
	}
	slow, err := reproduce.Slowest(trace, p, filter, f.slowest)
	if err != nil {
		return nil, nil, err
	}
	var places []reproduce.Selection
	var whys []string
	for _, s := range slow {
		places = append(places, reproduce.Selection{File: s.Place.File, Line: s.Place.Line})
		whys = append(whys, s.Why)
	}
	return places, whys, nil
}

// reproduce writes the script of a launch, runs it if requested, and prints the result, or returns it for --json.
func (f *reproduceFlags) reproduce(trace *tritonparse.Trace, s reproduce.Selection, why string, stdout, stderr io.Writer) (document any, err error) {
	launch, err := reproduce.Pick(trace, s)
	var failed *tritonparse.Compilation
	if err != nil {
		if failed = reproduce.PickFailed(trace, s); failed == nil {
			return nil, err
		}
	}
	written := fillsFolder()
	var result *reproduce.Result
	if failed != nil {
		result, err = reproduce.GenerateFailed(trace, failed, f.options)
	} else {
		result, err = reproduce.Generate(trace, launch, f.options)
	}
	written()
	if err != nil {
		return nil, err
	}
	result.Chosen = why
	switch {
	case f.runs && result.Template == "benchmark":
		return f.runBenchmark(result, stdout, stderr)
	case f.runs:
		err = f.runScript(result, stdout, stderr)
	case !f.json:
		err = printReproduced(stdout, result)
	}
	if !f.json {
		return nil, err
	}
	return result, err
}

func (f *reproduceFlags) selection() (s reproduce.Selection, err error) {
	s = reproduce.Selection{Line: -1, Kernel: f.kernel, Launch: f.launch, Hash: f.hash}
	if f.line != "" {
		if f.kernel != "" || f.hash != "" || f.launch != 0 {
			return s, errors.New("--line already selects a launch; leave out --kernel, --hash and --launch-id")
		}
		number := f.line
		if i := strings.LastIndexByte(f.line, ':'); i >= 0 {
			s.File, number = f.line[:i], f.line[i+1:]
		}
		n, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return s, fmt.Errorf("read --line %q: give the number of a record, counted from 0, as proton trace info --kernel NAME shows it", f.line)
		}
		s.Line = int(n)
	}
	switch {
	case f.slowest < 0 || f.slowest > 0 != (f.profile != ""):
		return s, errors.New("--slowest and --profile FILE need each other: the profile has the times")
	case f.slowest > 0 && (f.line != "" || f.kernel != "" || f.hash != "" || f.launch != 0):
		return s, errors.New("--slowest already selects a launch; leave out --line, --kernel, --hash and --launch-id")
	case f.slowest == 0 && (f.include != "" || f.exclude != ""):
		return s, errors.New("-i and -e select call paths of a profile: give --slowest and --profile FILE too")
	case f.slowest > 0 && f.compare != "":
		return s, errors.New("--compare takes one launch of each side: give --kernel or --line instead of --slowest")
	case f.rounds < 1:
		return s, fmt.Errorf("read --rounds %d: give 5 or more for a verdict", f.rounds)
	}
	if f.candidate != "" && (f.compare != "" || f.slowest > 1) {
		return s, errors.New("--candidate takes the place of one launch: leave out --compare, and --slowest of more than 1")
	}
	if f.launch < 0 {
		return s, fmt.Errorf("read --launch-id %d: the first launch is 0", f.launch)
	}
	if f.options.Flops < 0 {
		return s, fmt.Errorf("read --flops %g: give a number of operations, such as 2e9", f.options.Flops)
	}
	return s, nil
}

// complete parses the flags that are not plain values.
func (f *reproduceFlags) complete() error {
	o := &f.options
	o.Import, o.Version, o.Stamp = reproduce.Import(f.kernelImport), version.Text(), f.stamp
	if f.benchmark || f.compare != "" || f.candidate != "" {
		if o.Template != "" && o.Template != "benchmark" {
			return errors.New("--benchmark and --compare use their own template; leave out --template")
		}
		o.Template = "benchmark"
	}
	o.Command = "proton " + shellWords(os.Args[1:])
	if f.stamp == "time" {
		o.Stamp = strings.ReplaceAll(time.Now().Format("20060102150405.000"), ".", "") // two in a second differ
	}
	if f.kernelImport != "" && !slices.Contains(reproduce.Imports, o.Import) {
		return fmt.Errorf("read --kernel-import %q: use default, copy or override-ttir", f.kernelImport)
	}
	if f.intRange != "" {
		least, limit, ok := strings.Cut(f.intRange, ":")
		a, errA := strconv.ParseInt(least, 10, 64)
		b, errB := strconv.ParseInt(limit, 10, 64)
		if !ok || errA != nil || errB != nil || a >= b {
			return fmt.Errorf("read --int-range %q: give LEAST:LIMIT, such as 0:128", f.intRange)
		}
		o.IntRange = [2]int64{a, b}
	}
	if err := nearby.CheckSources(o.FilesFrom); err != nil {
		return err
	}
	if f.detect != "" {
		if _, err := f.slowdown(); err != nil {
			return err
		}
		if !(f.seconds > 0 && f.seconds <= 86400) {
			return fmt.Errorf("read --seconds %g: give seconds, up to a day", f.seconds)
		}
	}
	for _, r := range f.replacers {
		words := strings.Fields(r)
		if len(words) == 0 {
			return errors.New("read --replacer: give a program")
		}
		o.Replacers = append(o.Replacers, reproduce.Program(words))
	}
	if _, err := os.Stat(o.Template); o.Template != "" && err != nil && !slices.Contains(reproduce.Templates, o.Template) {
		return fmt.Errorf("read --template %q: there is no such file; the built-in ones are %s", o.Template, strings.Join(reproduce.Templates, ", "))
	}
	return nil
}

// filesFromUsage is the help of a flag that several commands have.
const filesFromUsage = "also read files in `DIR` that the trace names: sources, cubins, tensors; otherwise only those in the trace's folder; may be repeated"

// shellWords writes a command line so that it can be typed again.
func shellWords(args []string) string {
	var words []string
	for _, arg := range args {
		words = append(words, term.ShellWord(arg))
	}
	return strings.Join(words, " ")
}

func printReproduced(w io.Writer, r *reproduce.Result) error {
	t := term.NewTable(w)
	row := func(name, format string, args ...any) { t.Row(name, fmt.Sprintf(format, args...)) }
	if r.Chosen != "" {
		row("chosen", "%s", r.Chosen)
	}
	if r.Error != "" {
		row("kernel", "%s, whose compilation failed, record %d of %s", r.Kernel, r.Launch.Line, r.Launch.File)
		row("error", "%s", r.Error)
	} else {
		row("kernel", "%s, launch %d, record %d of %s", r.Kernel, r.Launch.ID, r.Launch.Line, r.Launch.File)
	}
	row("from", "%s: %s", r.Import, r.Why)
	row("script", "%s", r.Script)
	if r.Context != "" {
		row("context", "%s", r.Context)
	}
	if r.IRs != "" {
		row("IR", "%s", r.IRs)
	}
	for _, a := range r.Arguments {
		if a.From != "recorded" || a.Notes != "" {
			row("argument", "%s %s: %s", a.Name, a.Brief, strings.TrimSuffix(a.From+", "+a.Notes, ", "))
		}
	}
	for _, e := range r.Expected {
		row("result", "%s is checked: %s", e.Argument, e.From)
	}
	for _, n := range r.Notes {
		row("note", "%s", n)
	}
	return t.Flush()
}
