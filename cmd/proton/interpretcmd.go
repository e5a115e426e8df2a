package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goproton/goproton/cmd/proton/internal/interpret"
	from "github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/interpreter/counts"
	"github.com/goproton/goproton/interpreter/debug"
	"github.com/goproton/goproton/interpreter/run"
)

const interpretLong = `interpret runs a program, and its Triton kernels on the CPU: no GPU is needed, and none is used for them. The rest of
the program runs as before. Kernels take tensors of torch on the CPU or on a GPU (copied there and back) and arrays of numpy.

TARGET is the command line without proton, as for proton run:

  proton interpret script.py --steps 1           all Triton kernels
  proton interpret --kernel 'softmax_*' script.py  these; others go to the GPU as always
  proton interpret --save launches script.py     each launch as a folder
  proton interpret --launch launches/1-softmax   runs it again, without Python and Triton
  proton interpret --launch launches/1-softmax --precision      how exact each of its lines is
  proton interpret diff a.ttir b.ttir --launch launches/1-softmax  the first variable in which two texts differ
  proton interpret traces --slowest              a launch of a trace, which proton run --trace has written

An access outside of a tensor's storage, and an assertion that does not hold, is a finding: it names the line, the program
instance, the lane and the tensor. In the program it is an exception of the launch; with --keep-going the program goes on.
--check looks for more: races between program instances, values that were never set, wrong hints, and others; docs/interpret.md
says what each check finds.

Exit codes: the program's own, or
    1  a kernel did what it must not, and the program succeeded
    2  the command line is invalid, or a saved launch cannot be read or run
  126  the program cannot be executed
  127  the program does not exist`

func newInterpretCommand() *cobra.Command {
	var o interpret.Options
	var programs []string
	var counted countFlags
	var traced tracedFlags
	var precision bool
	cmd := &cobra.Command{
		Use:   "interpret [flags] [--] TARGET [ARGS]…",
		Short: "run a program's Triton kernels on the CPU, and check them",
		Long:  interpretLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			trace := ""
			if o.Launch == "" && len(args) > 0 && isTrace(args[0]) {
				trace = args[0]
				if args, err = afterTrace(cmd, args[1:], &traced); err != nil {
					return usage(err)
				}
			}
			if o.DAP == "-" && len(args) == 0 && o.Launch == "" {
				return adaptEditor(cmd)
			}
			o.Command = args
			if o.Width = term.Width(cmd.OutOrStdout()); o.Debugging() && !cmd.Flags().Changed("form") {
				o.Form = "front"
			}
			if o.Programs, err = parsePrograms(programs); err == nil {
				err = o.Check()
			}
			if err == nil {
				err = counted.check(&o.Unique)
			}
			if counted.asked() {
				o.Scopes = true
				o.Counted = func(kernels []*counts.Kernel) error {
					return counted.write(kernels, cmd.OutOrStdout(), toUser(), o.JSON)
				}
			}
			notGiven := func(name string) bool { return !cmd.Flags().Changed(name) }
			only := slices.DeleteFunc(slices.Clone(ofTraces), notGiven)
			compiling := slices.DeleteFunc([]string{"kernel", "form", "target", "device", "autotune"}, notGiven)
			switch {
			case err != nil:
			case trace != "" && len(args) > 0:
				err = fmt.Errorf("%s is a trace, and %s is something else: give a trace alone", trace, args[0])
			case trace != "":
				return interpretTrace(trace, &traced, counted.device, o, cmd.OutOrStdout())
			case len(only) > 0:
				err = fmt.Errorf("--%s selects launches of a trace, which proton run --trace writes: give its folder", only[0])
			case len(args) == 0 && o.Launch == "":
				err = errors.New("nothing to run: give a script, -- -m module, or --launch with a saved launch; see proton interpret --help")
			case len(args) > 0 && o.Launch != "":
				err = fmt.Errorf("--launch %s runs a saved launch, and %s is a program: give one of them", o.Launch, args[0])
			case o.Launch != "" && len(compiling) > 0:
				err = fmt.Errorf("--%s selects or compiles kernels of a program, and --launch %s is a kernel that was compiled: leave it out", compiling[0], o.Launch)
			}
			if err != nil {
				return usage(err)
			}
			if precision && o.Launch == "" {
				return usagef("--precision compares a saved launch: give --launch FOLDER, which --save writes")
			}
			if precision {
				return interpretPrecision(cmd.OutOrStdout(), o)
			}
			if o.Launch != "" {
				return interpretLaunch(cmd.OutOrStdout(), o)
			}
			return interpretProgram(cmd.OutOrStdout(), o)
		},
	}
	flags := flagsOf(cmd)
	flags.SetInterspersed(false)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown, is := errors.AsType[*pflag.NotExistError](err); is && unknown.GetSpecifiedName() == "m" {
			return usagef("read -m: to run a Python module, write: proton interpret -- -m MODULE")
		}
		return cmd.Root().FlagErrorFunc()(cmd, err)
	})
	flags.StringSliceVarP(&o.Kernels, "kernel", "k", nil, "run only the kernels whose names match `PATTERNS` on the CPU (as in 'matmul_*', separated by commas)")
	flags.StringVar(&o.Launch, "launch", "", "run the launch in `FOLDER`, which --save has written, or in its launch.json")
	flags.BoolVar(&precision, "precision", false, "of --launch: compare each floating-point number with what it is in f64 without rounding, by line")
	flags.StringVar(&o.Save, "save", "", "write each launch into a folder below `FOLDER`: TTIR, arguments, and the contents of tensors")
	flags.StringSliceVar(&o.Checks, "check", nil, "look for `CHECKS` too: "+strings.ReplaceAll(check.All.String(), ",", ", ")+", or all")
	flags.StringVar(&o.SARIF, "sarif", "", "write findings into `FILE` in SARIF, as code hosts and editors read it")
	flags.BoolVar(&o.KeepGoing, "keep-going", false, "do not raise exceptions for findings in the program; exit with 1 at its end if there were any")
	counted.register(cmd)
	flags.BoolVar(&o.Unique, "unique", false, "count different bytes too: what the memory sees if caches spare all else")
	flags.BoolVar(&o.JSON, "json", false, "print launches, counts by line, findings and outputs as JSON")
	flags.StringVar(&o.Python, "python", "", "run scripts and modules with `INTERPRETER`")
	flags.StringVar(&o.Order, "order", run.Orders[0], "run program instances in `ORDER`: serial, reverse, shuffle (see --seed), parallel, or cooperative, in turns, as waiting for each other needs")
	flags.Uint64Var(&o.Seed, "seed", 0, "the `NUMBER` that --order shuffle and --sample begin with")
	flags.IntVar(&o.Workers, "workers", 0, "program instances at a time, of --order parallel: `N` (default: the processors)")
	flags.StringArrayVar(&programs, "programs", nil, "run only the program instance `X,Y,Z` of each launch; may be repeated")
	flags.IntVar(&o.Sample, "sample", 0, "run only `N` program instances of each launch, chosen at random: outputs are incomplete")
	flags.Int64Var(&o.MaxSteps, "max-steps", 0, "end a launch as a finding after `N` operations of one worker, of 1024 elements at most")
	flags.Float64Var(&o.MaxSeconds, "max-seconds", 0, "end a launch as an error after `SECONDS`")
	flags.BoolVar(&o.Debug, "debug", false, "stop at the first line of the first launch, or where --break says, and ask for commands; help lists them")
	flags.StringArrayVar(&o.Break, "break", nil, "stop at `PLACE`: FILE:LINE, FILE:LINE if EXPRESSION, or the name of a function; may be repeated")
	flags.StringVar(&o.DAP, "dap", "", "wait for an editor at `PORT` of this machine, or HOST:PORT, and debug there by the Debug Adapter Protocol; - is for editors that start proton themselves")
	flags.StringArrayVar(&o.Settings.Print, "print", nil, "print `'FILE:LINE EXPRESSION'` whenever that line is reached, as in 'add.py:11 offsets[0, :]'; may be repeated")
	flags.StringVar(&o.Form, "form", run.Forms[0], "run kernels in `FORM`: ttir, as GPUs get them, or front, before Triton's passes, with all variables: that of the debugger")
	flags.StringVar(&o.Settings.Target, "target", "", "compile for `GPU`, as in cuda:90 or hip:gfx942 (default: the one of this machine, else cuda:90)")
	flags.StringVar(&o.Device, "device", "", "with `cpu`, tensors that the program makes on a GPU are made on the CPU")
	flags.IntVar(&o.Autotune, "autotune", 0, "of autotuned kernels, run the configuration `N`, from 0")

	traced.register(cmd)
	cmd.AddCommand(newInterpretDiffCommand())

	showEveryday(cmd,
		everyday{"kernel", "only some kernels, others on the GPU", "proton interpret -k 'softmax_*' train.py"},
		everyday{"launch", "run a saved launch again", "proton interpret --launch launches/1-softmax"},
		everyday{"save", "each launch into a folder", "proton interpret --save launches train.py"},
		everyday{"count", "bytes and flops by line", "proton interpret --count train.py"},
		everyday{"gpu", "the least time on a GPU", "proton interpret --gpu H200 train.py"},
		everyday{"check", "races, values that were never set and more", "proton interpret --check all train.py"},
		everyday{"order", "the order of program instances", "proton interpret --order shuffle train.py"},
		everyday{"programs", "one program instance", "proton interpret --programs 0,1 train.py"},
		everyday{"debug", "stop, look and step", "proton interpret --debug train.py"},
		everyday{"print", "a variable at a line", "proton interpret --print 'a.py:11 x' a.py"},
	)
	heading(flags, "order", "Program instances")
	heading(flags, "debug", "Debugger")
	heading(flags, "form", "How kernels are compiled")
	heading(flags, "slowest", "Launches of a trace")
	choices(cmd, "order", run.Orders...)
	choices(cmd, "form", run.Forms...)
	choices(cmd, "device", "cpu")
	return cmd
}

// afterTrace reads the flags behind a trace, and returns what is not a flag.
func afterTrace(cmd *cobra.Command, args []string, f *tracedFlags) ([]string, error) {
	cmd.Flags().SetInterspersed(true)
	if err := cmd.Flags().Parse(args); err != nil {
		return nil, unknownFlag(cmd, flagError(err))
	}
	args = cmd.Flags().Args()
	if cmd.Flags().Changed("slowest") && len(args) == 1 { // --slowest 3
		if n, err := strconv.Atoi(args[0]); err == nil {
			f.slowest, args = n, nil
		}
	}
	if cmd.Flags().Changed("slowest") && f.slowest < 1 {
		return nil, fmt.Errorf("read --slowest %d: give a number of launches, 1 or more", f.slowest)
	}
	return args, nil
}

// parsePrograms reads the places of program instances.
func parsePrograms(list []string) (places [][3]int32, err error) {
	for _, text := range list {
		at, err := debug.ParseInstance(text)
		if err != nil {
			return nil, fmt.Errorf("--programs %q: give X, X,Y or X,Y,Z, from 0", text)
		}
		places = append(places, at)
	}
	return places, nil
}

func interpretProgram(stdout io.Writer, o interpret.Options) error {
	collectAsUsual()
	layout, _, err := parts()
	if err != nil {
		return err
	}
	result, err := interpret.Program(o, layout, stdout, toUser())
	if notStarted, is := errors.AsType[*from.NotStartedError](err); is {
		return &exitError{code: notStarted.Code, err: err}
	}
	if err != nil {
		return err
	}
	return endAs(result)
}

func interpretLaunch(stdout io.Writer, o interpret.Options) error {
	ctx, stop := untilSignal()
	defer stop()
	found, err := interpret.Saved(ctx, o, stdout, toUser())
	return interpreted(ctx, found, err)
}

// interpreted is the error of a command that has interpreted launches: 2 for an error, and another code for findings.
func interpreted(ctx context.Context, found bool, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return endedBy(ctx, err)
	case err != nil:
		return usage(err)
	case found:
		return &exitError{code: interpret.ExitFindings}
	}
	return nil
}

// signalled is the signal that has ended a context.
type signalled syscall.Signal

func (s signalled) Error() string { return syscall.Signal(s).String() }

// untilSignal is a context that a signal ends which would end the command.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := endingSignals()
	go func() {
		select {
		case s := <-signals:
			cancel(signalled(s.(syscall.Signal)))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

// endedBy is the error of a command whose context a signal has ended.
func endedBy(ctx context.Context, err error) error {
	by, _ := errors.AsType[signalled](context.Cause(ctx))
	return &exitError{code: 128 + int(by), err: err}
}

// adaptEditor serves an editor that has started the command.
func adaptEditor(cmd *cobra.Command) error {
	_, executable, err := parts()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return interpret.Adapt(ctx, executable, cmd.InOrStdin(), term.Raw(cmd.OutOrStdout()))
}
