package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/export/push"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/replay"
)

const runLong = `run runs a program and profiles its work on the GPU. TARGET is a script, a module (-- -m NAME), pytest, or any program.

The target is the command line without proton:

  proton run script.py --epochs 1         a Python script
  proton run -- -m package.module args    a Python module (before TARGET, -m is --mode)
  proton run pytest test_kernels.py       pytest
  proton run -- python -X dev script.py   any command line
  proton run ./program args               a CUDA program in any language: kernels only

Flags come before TARGET; everything after it belongs to the target. The target's exit code, death by a signal,
terminal and files are the same as without proton. Child processes are profiled too, each into its own file.

The profile is named after the target, or by --name, a template without suffix: %p is the process id, %h the
host, %r the rank (torchrun, Slurm, MPI), %q{VAR} an environment variable, %% a percent sign. A name that ends
in / is a folder for profiles named after the target; missing folders are created. A second process that would
write the same file writes NAME.pid<P> instead.

The processes of a launcher write NAME.rank0, NAME.rank1, …, whether proton is around the launcher (proton run
torchrun …) or below it (mpirun proton run …); with several hosts NAME.rank0.HOST. proton merge NAME adds them up.

At its end the target waits for the GPU while kernels keep finishing. The wait ends after 30 seconds without a
finished kernel, or with Ctrl-C. For longer kernels, PROTON_EXIT_PATIENCE sets another number of seconds.

The Python interpreter is --python, else $PYTHON, else the one in which pip has installed proton, else python3 or python in PATH.

Exit codes: the target's own, or
    1  the profiler could not start
    2  the command line is invalid
    3  the target succeeded but nothing was recorded or written (not with --allow-empty)
  126  the target cannot be executed
  127  the target does not exist`

func newRunCommand() *cobra.Command {
	var options run.Options
	var trace traceFlags
	var recording recordingFlags
	open, noSources := false, false
	cmd := &cobra.Command{
		Use:   "run [flags] [--] TARGET [ARGS]…",
		Short: "run a program and profile it",
		Long:  runLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			options.Target = args
			given := cmd.Flags().Changed
			takeTorchWords(cmd.Flags(), &options)
			for _, check := range []func() error{
				func() error { return checkFlags(cmd.Flags(), &options) },
				func() error { return options.Push.FillFrom(os.Getenv, given) },
				func() error { return leaveOutSources(noSources, &options) },
				func() error { return checkRun(&options) },
				func() error { return checkPM(given("pm"), &options) },
				func() error { return checkBudget(given("budget"), &options) },
				func() error { return recording.apply(given, &options) },
				func() error { return trace.apply(&options) },
			} {
				if err := check(); err != nil {
					return usage(err)
				}
			}
			if open && options.Name == "-" {
				return usagef("--open needs a file: give a --name that is not standard output")
			}
			if open {
				options.Written = func(files []string) { openReport(files, toUser()) }
			}
			return profileProgram(options)
		},
	}
	flags := flagsOf(cmd)
	flags.SetInterspersed(false)
	flags.StringVarP(&options.Name, "name", "n", "", "write the profile to `NAME` plus suffix (default: named after the target; - is standard output)")
	flags.StringVarP(&options.Backend, "backend", "b", "", "collect with `BACKEND`: "+strings.Join(backends(), ", ")+" (default: the one for this machine); instrumentation also records scopes inside kernels, and the TARGET of replay is a capture")
	flags.StringVarP(&options.Context, "context", "c", "shadow", "attribute kernels to scopes or to Python call paths, `CONTEXT`: shadow or python")
	flags.StringVarP(&options.Mode, "mode", "m", "", "`MODE` of proton.start: pcsampling samples instructions (and :interval=CYCLES, :collection=serialized, :kernels=PATTERNS), counters measures launches with hardware counters (and :set=roofline, memory, compute, agent or METRICS with + between, or lines to count by source line; :first=N of each kernel at each call path, :most=N of all, :kernels=PATTERNS), periodic_flushing writes each phase when it ends (and :format=FORMAT), default and mma record scopes inside kernels")
	flags.StringVarP(&options.Data, "data", "d", "tree", "collect `DATA`: tree, sums by call path, or timeline, events in time")
	flags.StringVar(&options.Format, "format", "", "write `FORMAT`: hatchet (default) or hatchet_msgpack for a tree, chrome_trace for a trace")
	flags.StringVar(&options.Activities, "activities", "", "record `KINDS` of work in addition to kernels, separated by commas: memcpy, memset, sync (default: all in a timeline, none in a tree)")
	flags.StringVar(&options.Inside, "inside", "", "put scopes into the Triton kernels whose names match `PATTERNS` (as in 'matmul_*', separated by commas): around loops, loads, stores, dots, waits and barriers, by source line")
	flags.StringVar(&options.Torch, "torch", "", "add frames of PyTorch between scopes and kernels, `WORDS` separated by commas: operators (aten::addmm), modules (Net.layers.3.linear1), flops (operators with their flops and bytes, from shapes); --torch alone is operators,modules")
	flags.BoolVar(&options.Memory, "memory", false, "record the memory of PyTorch's allocator for GPUs: what each call path allocated, and what of it was allocated at the peak")
	flags.Lookup("torch").NoOptDefVal = strings.Join(runinfo.TorchWords[:2], ",")
	flags.BoolVar(&options.Energy, "energy", false, "read the energy of GPUs, and share it out among the call paths whose kernels ran: joules; with --data timeline also power and clocks over time")
	flags.StringVar(&options.PM, "pm", "", "read hardware counters of whole GPUs each `TIME`, such as 1ms, next to the kernels' times: activity of multiprocessors and tensor cores, traffic of memory, PCIe and NVLink")
	flags.BoolVar(&options.Idle, "idle", false, "sum how long GPUs had nothing to do before the work of each call path; copies and fills are recorded too (a trace shows it without this)")
	flags.BoolVar(&options.NoStats, "no-stats", false, "do not record the distribution of kernel times at each call path")
	flags.BoolVar(&noSources, "no-sources", false, "with --mode pcsampling: do not keep the text of the sampled lines in the profile, with which --source works on another machine")
	flags.StringVarP(&options.Hook, "hook", "k", "triton", "use a launch `HOOK`: triton takes names, flops and bytes of kernels from their launch_metadata, none does not")
	flags.StringVar(&options.Graph, "graph", "node", "time CUDA graphs at `LEVEL`: node times each kernel, graph each replay, with less overhead")
	flags.StringVar(&options.Budget, "budget", "", "take at most `SHARE` of the program's time, such as 1%: as far as needed, kernels are timed, and instructions sampled, for a part of the time, and Python call paths are not taken at some launches")
	flags.Float64Var(&options.Checkpoint, "checkpoint", 2, "rewrite the profile every `SECONDS`, so that a crash loses no more than that; 0 writes it only at the end")
	flags.BoolVar(&options.AllowEmpty, "allow-empty", false, "exit with 0 if nothing was recorded and the target succeeded")
	flags.StringVar(&options.Python, "python", "", "run scripts and modules with `INTERPRETER`")
	flags.BoolVar(&open, "open", false, "at the end, write the report of the profile and open it in the browser, a timeline too: nothing is uploaded")
	flags.Var(someSecondsFlag{(*secondsFlag)(&options.WatchHang)}, "watch-hang", "when the GPU has work and finishes none for `TIME`, such as 30s, say which kernel, call path and rank, and keep the profile so far; the program goes on")
	recording.add(flags)
	flags.StringVar(&options.Push.URL, "push", "", "send what was recorded in each window to the server at `URL`: Pyroscope, Parca or, over OTLP, an OpenTelemetry collector; or into the folder file:///FOLDER")
	flags.StringVar(&options.Push.Protocol, "push-protocol", "", "speak `PROTOCOL` with it: pyroscope, parca or otlp (default: what the URL says, as in parca+https://, or its port)")
	flags.Float64Var(&options.Push.Every, "push-every", 60, "length of a window in `SECONDS`, aligned to the clock")
	flags.Float64Var(&options.Push.Wait, "push-wait", 5, "wait at the end at most `SECONDS` for the server; what is not sent then is sent by the next run")
	flags.StringVar(&options.Push.Service, "push-service", "", "label windows with the service `NAME` (default: named after the target)")
	flags.StringArrayVar(&options.Push.Labels, "push-label", nil, "label windows with `NAME=VALUE`, in addition to service, job, host, rank and gpu; may be repeated")
	flags.BoolVar(&options.Push.Metrics, "push-counters", false, "send the counters of --prometheus too, over OTLP, at each window and at the end")
	flags.StringVar(&options.Metrics.Address, "prometheus", "", "serve counters of GPU time, launches and so on to Prometheus at `ADDRESS`, as in 127.0.0.1:9464, path /metrics; a port alone, or 0 for any, is of this machine only")
	flags.Float64Var(&options.Metrics.Wait, "prometheus-wait", 0, "serve the last counters at the end until someone has read them, at most `SECONDS`")
	flags.IntVar(&options.Metrics.Scopes, "prometheus-scopes", counters.MostScopes, "count at most `N` outermost scopes of each process on their own, and all others together")
	trace.add(flags)

	renamed(flags, map[string]string{"gate": "within", "metrics": "prometheus", "metrics-wait": "prometheus-wait", "metrics-scopes": "prometheus-scopes", "push-metrics": "push-counters"})
	for _, name := range []string{"push", "prometheus", "trace"} {
		structured(flags, name)
	}
	showEveryday(cmd,
		everyday{"name", "write NAME.hatchet", "proton run -n out/first train.py"},
		everyday{"context", "kernels by scope, or by Python call path", "proton run --context python train.py"},
		everyday{"mode", "sample instructions, for viewer --source", "proton run --mode pcsampling train.py"},
		everyday{"data", "a tree, or a timeline", "proton run --data timeline train.py"},
		everyday{"inside", "scopes inside Triton kernels, by line", "proton run --inside 'matmul_*' train.py"},
		everyday{"torch", "PyTorch's operators, modules and flops", "proton run --torch=modules,flops train.py"},
		everyday{"python", "run scripts with another Python", "proton run --python python3.12 train.py"},
		everyday{"open", "open the report at the end", "proton run --open train.py"},
		everyday{"push", "send each minute to a server", "proton run --push http://pyroscope:4040 serve.py"},
		everyday{"trace", "what Triton compiled and launched", "proton run --trace traces train.py"},
	)
	heading(flags, "format", "Output")
	heading(flags, "activities", "What is recorded")
	heading(flags, "allow-empty", "The program")
	heading(flags, "delay", "When it is recorded")
	heading(flags, "push", "Windows for a server")
	heading(flags, "prometheus", "Counters for Prometheus")
	heading(flags, "trace", "TritonParse traces")
	choices(cmd, "backend", backends()...)
	choices(cmd, "context", runinfo.Contexts...)
	choices(cmd, "mode", "pcsampling", "counters", "periodic_flushing", "default", "mma")
	choices(cmd, "data", runinfo.DataForms...)
	choices(cmd, "format", append(runinfo.Formats("tree"), runinfo.Formats("trace")...)...)
	choices(cmd, "hook", "triton", "none")
	choices(cmd, "graph", runinfo.GraphLevels...)
	choices(cmd, "torch", runinfo.TorchWords...)
	choices(cmd, "push-protocol", push.Protocols()...)
	choices(cmd, "trace-launches", "all", "profiled", "none")
	choices(cmd, "trace-compression", "zstd", "gzip", "none")
	return cmd
}

// profileProgram runs the target and ends as the target did.
func profileProgram(options run.Options) error {
	collectAsUsual()
	layout, _, err := parts()
	if err != nil {
		return err
	}
	result, err := run.Run(options, layout, settings.Root.Get(os.Getenv), toUser())
	var notStarted *run.NotStartedError
	switch {
	case errors.As(err, &notStarted):
		if asked := isProfile(options.Target[0]); asked != nil {
			err = asked
		}
		return &exitError{code: notStarted.Code, err: err}
	case errors.Is(err, replay.ErrNotCapture):
		if asked := isProfile(options.Target[0]); asked != nil {
			err = fmt.Errorf("%w; a replay takes a capture, which a program leaves that runs with PROTON_RECORD=FILE", asked)
		}
		return err
	case err != nil:
		return err
	}
	return endAs(result)
}

// endAs ends the command as its target has ended.
func endAs(result run.Result) error {
	switch {
	case result.Signal != 0:
		run.DieBy(result.Signal)
		return &exitError{code: 128 + result.Signal} // only when something in our way ignores the signal
	case result.Code != 0:
		return &exitError{code: result.Code}
	}
	return nil
}

// leaveOutSources gives the mode of instruction samples its option to keep no source texts.
func leaveOutSources(asked bool, o *run.Options) error {
	head, option, _ := strings.Cut(o.Mode, ":")
	switch {
	case !asked:
		return nil
	case !strings.EqualFold(head, "pcsampling"):
		return errors.New("--no-sources is about the lines of instruction samples: add --mode pcsampling, or leave it out; other profiles have no source texts")
	case option != "":
		option = ":" + option
	}
	o.Mode = head + ":sources=drop" + option
	return nil
}

// openReport opens the report of the first profile of a run. What goes wrong is said, and the exit code remains that of the program.
func openReport(files []string, stderr io.Writer) {
	if len(files) > 1 {
		tell(stderr, "the report is of the first of %d profiles; proton merge adds profiles up", len(files))
	}
	if err := subcommand(stderr, stderr, "report", files[0], "-o", formats.Stem(files[0])+".html", "--open"); err != nil {
		tell(stderr, "warning: the report was not opened: %v", err)
	}
}

// checkRun refuses invalid options before the target runs, and converts values to the runtime's spelling.
func checkRun(o *run.Options) error {
	if len(o.Target) == 0 {
		if err := checkMode(*o); err != nil {
			return err // "proton run -m module"
		}
		return errors.New("nothing to run: give a script, -- -m module, or a program; see proton run --help")
	}
	for _, choice := range []struct {
		flag   string
		value  *string
		known  []string
		reason string // what to add when the value is not known
	}{
		{"--context", &o.Context, runinfo.Contexts, ""},
		{"--data", &o.Data, runinfo.DataForms, ""},
		{"--format", &o.Format, append(runinfo.Formats(o.Data), ""), "of --data " + o.Data},
		{"--hook", &o.Hook, []string{"triton", "none", ""}, ""},
		{"--graph", &o.Graph, runinfo.GraphLevels, ""},
		{"--backend", &o.Backend, append(backends(), ""), "other backends are not supported yet"},
	} {
		if *choice.value = strings.ToLower(*choice.value); choice.value == &o.Data && *choice.value == "trace" { // upstream's word
			continue
		}
		if slices.Contains(choice.known, *choice.value) {
			continue
		}
		known := strings.Join(slices.DeleteFunc(slices.Clone(choice.known), func(s string) bool { return s == "" }), " or ")
		if choice.reason != "" {
			known += " (" + choice.reason + ")"
		}
		return fmt.Errorf("read %s %q: use %s", choice.flag, *choice.value, known)
	}
	o.Data = runinfo.DataForm(o.Data)
	if o.Hook == "none" {
		o.Hook = ""
	}
	if err := checkInside(o); err != nil {
		return err
	}
	if o.Checkpoint < 0 {
		return fmt.Errorf("--checkpoint %g is negative: give seconds, or 0 for none", o.Checkpoint)
	}
	if err := checkMode(*o); err != nil {
		return err
	}
	if err := o.CheckPush(); err != nil {
		return err
	}
	if err := o.CheckMetrics(); err != nil {
		return err
	}
	for _, kind := range strings.Split(o.Activities, ",") {
		if !slices.Contains(append([]string{""}, runinfo.Activities...), strings.ToLower(strings.TrimSpace(kind))) {
			return fmt.Errorf("read --activities %q: use kernel, memcpy, memset or sync, separated by commas", kind)
		}
	}
	for _, word := range strings.Split(o.Torch, ",") {
		if o.Torch != "" && !slices.Contains(runinfo.TorchWords, word) {
			return fmt.Errorf("read --torch=%s: use operators, modules and flops, separated by commas, or --torch alone for the first two", o.Torch)
		}
	}
	return runinfo.CheckName(o.Name)
}

// takeTorchWords lets `--torch modules,flops script.py` mean `--torch=modules,flops script.py`.
func takeTorchWords(flags *pflag.FlagSet, o *run.Options) {
	torch := flags.Lookup("torch")
	if !torch.Changed || o.Torch != torch.NoOptDefVal || len(o.Target) == 0 {
		return
	}
	for word := range strings.SplitSeq(o.Target[0], ",") {
		if !slices.Contains(runinfo.TorchWords, word) {
			return
		}
	}
	if _, err := exec.LookPath(o.Target[0]); err != nil {
		o.Torch, o.Target = o.Target[0], o.Target[1:]
	}
}

// checkFlags refuses flags that have taken the target for their value, or that do nothing without another one, and says which have no effect
// on a replay.
func checkFlags(flags *pflag.FlagSet, o *run.Options) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		switch {
		case (len(o.Target) == 0 || !runnable(o.Target[0])) && (filepath.Ext(value) == ".py" || value == "pytest") && f.Name != "python":
			kind, _ := pflag.UnquoteUsage(f)
			what := "nothing to run"
			if len(o.Target) > 0 {
				what = "there is no program " + o.Target[0]
			}
			err = fmt.Errorf("%s: --%s took %s as its %s; write: proton run --%s %s %s", what, f.Name, value, kind, f.Name, kind, strings.Join(append([]string{value}, o.Target...), " "))
		case o.Push.URL == "" && strings.HasPrefix(f.Name, "push-") && f.Name != "push-counters": // which says what URL it needs
			err = fmt.Errorf("--%s needs --push with the URL of a server", f.Name)
		case o.Backend == "replay" && slices.Contains([]string{"torch", "memory", "python", "hook"}, f.Name):
			tell(toUser(), "warning: --%s has no effect on a replay, which runs no Python", f.Name)
		}
	})
	return err
}

// runnable says whether a word may be the target, and not an argument of one.
func runnable(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil || exists(word) || strings.HasPrefix(word, "-") || word == "pytest"
}

// tookTarget says which flag before an error has taken a script for its value.
func tookTarget(flags *pflag.FlagSet) (said string) {
	flags.Visit(func(f *pflag.Flag) {
		if value := f.Value.String(); filepath.Ext(value) == ".py" && exists(value) {
			said += fmt.Sprintf(" (--%s took %s for its value)", f.Name, value)
		}
	})
	return said
}

// backends can be given to --backend.
func backends() []string { return append(vendors.Backends(), "instrumentation", "replay") }

// checkPM refuses times between readings that nothing can keep, and readings next to counters of launches.
func checkPM(given bool, o *run.Options) error {
	if _, err := runinfo.ParsePM(o.PM); err != nil && given {
		return fmt.Errorf("--pm: %w", err)
	} else if o.PM != "" && o.ModeName() == "counters" {
		return errors.New("--pm with --mode counters: " + record.CountersUseTheHardware)
	}
	return nil
}

// checkBudget refuses budgets that cannot be kept.
func checkBudget(given bool, o *run.Options) error {
	if !given {
		return nil
	}
	if share, err := runinfo.ParseBudget(o.Budget); err != nil {
		return fmt.Errorf("--budget: %w", err)
	} else if share == 0 {
		return errors.New("--budget '': give a share of the program's time, such as 1%, or leave it out")
	}
	if o.ModeName() == "counters" {
		return errors.New("--budget with --mode counters: a launch that is measured runs several times, which costs more than any budget; choose fewer with most=")
	}
	if o.ModeName() == "pcsampling" && strings.Contains(strings.ToLower(o.Mode), "collection=serialized") {
		return errors.New("--budget with collection=serialized: kernels that run one at a time cost many times any budget; use collection=continuous, the default")
	}
	return nil
}

// checkInside chooses the backend that records scopes inside kernels.
func checkInside(o *run.Options) error {
	if o.Inside == "" {
		return nil
	}
	if strings.Trim(o.Inside, ", ") == "" {
		return fmt.Errorf("read --inside %q: give the names of kernels, or patterns like 'matmul_*', separated by commas", o.Inside)
	}
	if o.Backend != "" && o.Backend != "instrumentation" {
		return fmt.Errorf("--inside does not work with --backend %s: leave --backend out; the times of kernels are collected too", o.Backend)
	}
	o.Backend = "instrumentation"
	return nil
}

// checkMode catches "proton run -m module", in which -m is upstream's --mode and not Python's, and modes that
// the runtime would refuse only after the start of the target.
func checkMode(o run.Options) error {
	head, option, _ := strings.Cut(o.Mode, ":")
	switch strings.ToLower(head) {
	case "":
		return nil
	case "default", "mma":
		if o.Backend != "instrumentation" {
			return fmt.Errorf("--mode %s is of scopes inside kernels: add --backend instrumentation, or --inside with the names of kernels", o.Mode)
		}
		return nil
	}
	if o.Backend == "instrumentation" {
		return fmt.Errorf("read --mode %q: scopes inside kernels have the modes default and mma", o.Mode)
	}
	switch strings.ToLower(head) {
	case "pcsampling", "counters":
		mode := strings.ToLower(head)
		if runinfo.DataForm(o.Data) == "trace" {
			return fmt.Errorf("--mode %s needs --data tree, because what it measures is added up", mode)
		}
		if _, err := vendors.ParseMode(o.Backend, mode, option); err != nil {
			return fmt.Errorf("--mode %s: %w", mode, err)
		}
		return nil
	case "periodic_flushing":
		formats := runinfo.Formats(o.Data)
		if format := strings.TrimPrefix(strings.ToLower(option), "format="); option != "" && !slices.Contains(formats, format) {
			return fmt.Errorf("--mode %s: the format of --data %s is %s", o.Mode, o.Data, strings.Join(formats, " or "))
		}
		return nil
	}
	for _, mode := range []string{"pcsampling", "periodic_flushing", "counters"} {
		if len(head) >= 3 && strings.HasPrefix(mode, strings.ToLower(head[:3])) {
			return fmt.Errorf("read --mode %q: did you mean --mode %s?", o.Mode, mode)
		}
	}
	return fmt.Errorf("read --mode %q: to run a Python module, write: proton run -- -m %s", o.Mode, strings.Join(append([]string{o.Mode}, o.Target...), " "))
}
