package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/compat"
	"github.com/goproton/goproton/viewer/idle"
)

// viewerFlags are the flags of `proton viewer` as they were given.
type viewerFlags struct {
	file     string // the argument; "" where a trace alone is shown
	list     bool
	metrics  []string
	view     string
	flat     bool
	bottomUp bool
	o        viewer.Options
	format   string
	mangled  bool
	full     bool
	sorted   bool
	diff     string
	compat   bool
	terminal terminalFlags
	idle     bool
	counts   string
	samples  sourceFlags
	least    leastFlag
	from     fromFlag
}

// flagsOfProtonViewer are those that --compat knows.
var flagsOfProtonViewer = []string{
	"list", "metrics", "include", "exclude", "threshold", "depth", "format", "print-sorted", "diff-profile", "color", "compat", "no-pager", "from", "help",
}

func newViewerCommand() *cobra.Command {
	var f viewerFlags
	cmd := &cobra.Command{
		Use:   "viewer [flags] FILE",
		Short: "print a profile: its tree, its hottest frames, its samples",
		Long: `viewer prints a profile: a tree of call paths with the selected metrics, their units, and each frame's share of the
time. FILE may have any format that proton reads, or be - for standard input.

-m takes any number of metrics, separated by commas. Names ignore case. A name without a unit gets a suitable one.

  time, cpu_time, avg_time        /s /ms /us /ns; avg_time: per kernel, copy or fill
  min_time, median_time, p95_time, p99_time, max_time, stddev_time
                                  of the individual kernels in the subtree; any percentile: p99.9_time
  flop/s, flop8/s … flop64/s      arithmetic rate, of all operands or of one width; kflop/s … pflop/s
  byte/s                          memory rate; kbyte/s … tbyte/s
  util                            least time of the work at the GPU's peaks, over the time of all work that is known
  coverage, intensity, attainable, bound, roof_time
                                  part of the time that util covers; flop per byte; rate at the roof; compute or
                                  memory; least time
  dram_bytes, traffic_ratio, l2_hit, tensor_pipe, registers, occupancy_limit and more
                                  of proton run --mode counters: docs/counters.md lists them
  NAME/%                          share of the whole program
  NAME                            any recorded metric: see --list

Profiles of proton run --mode pcsampling have instruction samples. --source shows them at the source lines of the hottest
kernel, --sass at its instructions; docs/sampling.md explains the numbers. With the trace of the same run (proton run
--trace DIR), --source also shows the Triton IR, PTX and machine code of each line, --sass shows the lines that each
instruction came from, and both show times of launches by specialisation and arguments. --launches shows these times in
the tree. See docs/tritonparse.md.

Under the name proton-viewer, this program prints what Triton's proton-viewer prints, as with --compat.`,
		Example: `  proton viewer -m util,tflop/s,time matmul.hatchet
  proton viewer --top 20 train.hatchet
  proton viewer --view bottom-up --focus '^backward$' train.hatchet
  proton viewer -m time,p50_time,p99_time,max_time --view flat train.hatchet
  proton viewer -m util,bound,attainable --peak flops32=fp32 train.hatchet
  proton viewer --view json train.hatchet | jq '.rows[0]'
  proton viewer -m util,bound --counts counts.hatchet train.hatchet
  proton viewer --idle train.chrome_trace
  proton viewer --source matmul sampled.hatchet
  proton viewer --inside attention inside.hatchet
  proton viewer --inside attention --source --samples s.hatchet inside.hatchet
  proton viewer --trace traces matmul.hatchet --source matmul --ir ttgir,ptx
  proton viewer --trace traces --launches matmul.hatchet`,
		Args: func(_ *cobra.Command, args []string) error {
			args = f.samples.kernelOf(args)
			if len(args) != 1 && !(len(args) == 0 && f.samples.traceAlone()) {
				return usagef("must specify one file to read, or - for standard input; got %d: proton viewer [flags] FILE", len(args))
			}
			if len(args) == 1 {
				f.file = args[0]
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd.Flags()); err != nil {
				return usage(err)
			}
			return f.run(f.file, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd)
	withSchema[viewer.Document](cmd, viewer.Schema)
	return cmd
}

func (f *viewerFlags) register(cmd *cobra.Command) {
	flags := flagsOf(cmd)
	flags.BoolVarP(&f.list, "list", "l", false, "list the metrics of the profile")
	f.from.register(cmd)
	flags.StringArrayVarP(&f.metrics, "metrics", "m", nil, "show the metrics `NAMES`, separated by commas; the first determines -t, order and colour")

	flags.StringVar(&f.view, "view", "", "print the view `NAME`: "+strings.Join(viewNames(), ", ")+" (default tree); flat and bottom-up also with a form, as in flat,json")
	flags.BoolVar(&f.flat, "flat", false, "show frames by name: the flat view, or its rows in another --view")
	flags.IntVar(&f.o.Top, "top", 0, "show the `N` frames with the largest own values: the top view")
	flags.BoolVar(&f.bottomUp, "bottom-up", false, "show frames by name with their callers below: the bottom-up view, or its rows in another --view")

	flags.BoolVar(&f.idle, "idle", false, "show when GPUs had nothing to do, and what the program did meanwhile, from a timeline (--top N: N rows)")

	f.samples.register(flags)

	flags.StringVarP(&f.o.Include, "include", "i", "", "count only paths through frames that match `REGEXP`")
	flags.StringVarP(&f.o.Exclude, "exclude", "e", "", "count no path through frames that match `REGEXP`")
	flags.StringVar(&f.o.Focus, "focus", "", "as -i, and begin the tree at the frames that match `REGEXP`")
	flags.StringVar(&f.o.Trim, "trim", "", "end the tree at the frames that match `REGEXP`, which include what is below them")
	flags.StringVar(&f.o.Hide, "hide", "", "remove the frames that match `REGEXP`; their values count for their callers")
	flags.VarP(&f.least, "threshold", "t", "hide rows with less than `VALUE` of the first metric: 5% of the whole program's, 1ms, or a number in the unit shown")
	flags.IntVarP(&f.o.Depth, "depth", "d", 0, "show `N` levels of the tree (default all)")
	flags.BoolVar(&f.terminal.All, "all", false, "show every row, however small")
	flags.StringVar(&f.o.Sort, "sort", "", "sort siblings by `ORDER`: chronological, name, own, or a shown metric, the largest first")

	flags.StringVarP(&f.format, "format", "f", "", "print names in `FORM`: "+strings.Join(formatNames(), ", ")+" (default short)")
	flags.BoolVar(&f.full, "full-names", false, "whole paths, complete C++ names: -f full")
	flags.BoolVar(&f.mangled, "mangled", false, "names as recorded, C++ mangled: -f mangled")
	flags.StringVar(&f.counts, "counts", "", "give kernels the flops and bytes that proton interpret -o has counted in `FILE`, for util and rates")
	flags.StringSliceVar(&f.o.Peaks, "peak", nil, peakUsage)

	flags.BoolVar(&f.terminal.Human, "human", false, "print each value in its own unit if -m names none: 9.90 ms instead of 9899.08 in a column of us")
	registerWidth(flags, &f.terminal.Width, widthUsage)
	registerColor(cmd, &f.terminal.color)
	flags.BoolVar(&f.terminal.ASCII, "ascii", false, "draw with ASCII characters only")
	flags.BoolVar(&f.terminal.noPager, "no-pager", false, noPagerUsage)

	flags.BoolVar(&f.compat, "compat", false, "print exactly what Triton's proton-viewer prints")
	flags.BoolVar(&f.sorted, "print-sorted", false, "also print the flat view; with --compat proton-viewer's sorted list")
	flags.StringVar(&f.diff, "diff-profile", "", "subtract the profile in `FILE` (also -diff FILE) as proton-viewer does; proton diff shows more")

	for flag, instead := range map[string]string{"flat": "--view flat", "bottom-up": "--view bottom-up", "full-names": "-f full", "mangled": "-f mangled",
		"print-sorted": "proton-viewer --print-sorted", "diff-profile": "proton diff"} {
		older(flags, flag, instead)
	}
	showEveryday(cmd,
		everyday{"list", "the metrics that a profile has", "proton viewer -l train.hatchet"},
		everyday{"metrics", "which metrics, in which units", "proton viewer -m util,tflop/s,time train.hatchet"},
		everyday{"view", "tree, flat, bottom-up, configs, json …", "proton viewer --view bottom-up train.hatchet"},
		everyday{"top", "the hottest frames", "proton viewer --top 20 train.hatchet"},
		everyday{"idle", "when GPUs had nothing to do", "proton viewer --idle train.chrome_trace"},
		everyday{"source", "samples by source line", "proton viewer --source matmul sampled.hatchet"},
		everyday{"inside", "scopes inside kernels", "proton viewer --inside attention inside.hatchet"},
		everyday{"trace", "with --source: IR, PTX, launch times", "proton viewer --trace traces --source p.hatchet"},
		everyday{"include", "only call paths through some frames", "proton viewer -i '^backward$' train.hatchet"},
		everyday{"threshold", "hide small rows", "proton viewer -t 1% train.hatchet"},
	)
	heading(flags, "view", "Views")
	heading(flags, "source", "Instruction samples and traces")
	heading(flags, "include", "Which rows")
	heading(flags, "format", "Names and peaks")
	heading(flags, "human", "Terminal")
	heading(flags, "compat", "Triton's proton-viewer")
	metricChoices(cmd, "metrics")
	choices(cmd, "view", viewNames()...)
	choices(cmd, "format", formatNames()...)
	choices(cmd, "sort", "chronological", "name", "own")
}

// others are the flags that were given and are not among those.
func others(flags *pflag.FlagSet, those []string) (names []string) {
	flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(those, flag.Name) {
			names = append(names, "--"+flag.Name)
		}
	})
	return names
}

func viewNames() (names []string) {
	for _, v := range viewer.Views() {
		names = append(names, v.Name)
	}
	return names
}

func formatNames() (names []string) {
	for _, n := range viewer.NameFormats {
		names = append(names, string(n))
	}
	return names
}

// check refuses flags that exclude each other, and expands the short ones.
func (f *viewerFlags) check(flags *pflag.FlagSet) error {
	if flags.Changed("depth") && f.o.Depth < 1 {
		return fmt.Errorf("read --depth %d: a tree has at least 1 level", f.o.Depth)
	}
	if flags.Changed("top") && f.o.Top < 1 {
		return fmt.Errorf("read --top %d: show at least 1 frame", f.o.Top)
	}
	if _, err := term.Color(f.terminal.color, nil, os.Getenv); err != nil {
		return err
	}
	if f.diff != "" {
		f.compat = true
	}
	f.o.Threshold, f.o.ThresholdUnit = f.least.Amount, f.least.Unit
	if f.compat {
		if f.least.Unit != "" {
			return fmt.Errorf("read --threshold %s: proton-viewer takes a number, in the unit of the first metric", f.least.String())
		}
		if foreign := others(flags, flagsOfProtonViewer); len(foreign) > 0 {
			return fmt.Errorf("%s: proton-viewer has no such flag, and --compat prints its output; leave out --compat (under the name proton-viewer: give --compat=false)", strings.Join(foreign, ", "))
		}
		return nil
	}
	if f.idle {
		if foreign := others(flags, flagsOfIdle); len(foreign) > 0 {
			return fmt.Errorf("--idle excludes %s: it prints tables of its own", strings.Join(foreign, ", "))
		}
	}
	if f.samples.inside.asked {
		return f.checkInside(flags)
	}
	if err := f.samples.check(flags, f.view); err != nil {
		return err
	}
	return f.chooseView(flags)
}

// formOr is the view that --json or --markdown means, else the one that is given.
func formOr(view string, json, markdown bool) (string, error) {
	for form, asked := range map[string]bool{"json": json, "markdown": markdown} {
		switch {
		case asked && (view == "flat" || view == "bottom-up"): // rows, which all forms have
			form = view + "," + form
		case asked && view != "" && view != form:
			return view, fmt.Errorf("--%s means --view %s, which excludes --view %s: give one of them", form, form, view)
		}
		if asked {
			view = form
		}
	}
	return view, nil
}

func (f *viewerFlags) chooseView(flags *pflag.FlagSet) error {
	var err error
	if f.view, err = formOr(f.view, f.samples.json, f.samples.markdown); err != nil {
		return err
	}
	if rows, form, both := strings.Cut(f.view, ","); both && (rows == "flat" || rows == "bottom-up") {
		f.flat, f.bottomUp, f.view = f.flat || rows == "flat", f.bottomUp || rows == "bottom-up", form
	}
	short := []struct {
		given bool
		view  string
		group viewer.Grouping
	}{{f.flat, "flat", viewer.ByName}, {flags.Changed("top"), "top", viewer.ByName}, {f.bottomUp, "bottom-up", viewer.ByCaller}}
	asked := f.view
	for _, s := range short {
		if !s.given {
			continue
		}
		if f.o.Group != viewer.ByPath && f.o.Group != s.group {
			return fmt.Errorf("--bottom-up excludes --flat and --top: give one of them")
		}
		f.o.Group = s.group
		if asked == "" {
			f.view = s.view
		}
	}
	for _, s := range []struct {
		given bool
		form  viewer.NameFormat
	}{{f.full, viewer.FullName}, {f.mangled, viewer.MangledName}} {
		if !s.given {
			continue
		}
		if f.format != "" && f.format != string(s.form) {
			return fmt.Errorf("names have one format, %s or %s: give one of them", f.format, s.form)
		}
		f.format = string(s.form)
	}
	if _, err := viewer.ViewByName(f.view); err != nil {
		return err
	}
	return checkFrames(f.o.Include, f.o.Exclude, f.format)
}

func (f *viewerFlags) run(file string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	var p *profile.Profile
	if file != "" {
		if p, err = readProfile(file, stdin, f.from); err != nil {
			return err
		}
	}
	if f.counts != "" {
		if err := addCounts(p, f.counts, stdin, stderr); err != nil {
			return err
		}
	}
	var notes []string // for standard error, once a pager has left the screen
	err = f.terminal.print("", stdout, false, func(out io.Writer) (err error) {
		if f.samples.inside.asked {
			notes, err = f.printInside(file, p, stdin, out)
		} else if f.samples.asked() {
			notes, err = f.printKernels(file, p, out)
		} else if f.compat {
			notes, err = f.printCompat(p, stdin, out)
		} else {
			notes, err = f.print(p, out)
		}
		return err
	})
	tellEach(stderr, notes)
	return err
}

// addCounts gives the kernels of a profile the work that another has of them.
func addCounts(p *profile.Profile, file string, stdin io.Reader, stderr io.Writer) error {
	counts, err := readProfile(file, stdin, fromFlag{})
	if err != nil {
		return err
	}
	notes, err := merge.AddWork(p, counts)
	if err != nil {
		return fmt.Errorf("--counts %s: %w", file, err)
	}
	tellEach(stderr, notes)
	return nil
}

func (f *viewerFlags) print(p *profile.Profile, out io.Writer) ([]string, error) {
	if f.idle {
		return nil, f.printIdle(p, out)
	}
	if f.list && f.samples.json {
		return nil, viewer.ListJSON(out, p)
	}
	if f.list {
		var text strings.Builder
		if err := viewer.List(&text, p); err != nil {
			return nil, err
		}
		_, err := io.WriteString(out, term.Fit(text.String(), f.terminal.Width))
		return nil, err
	}
	var split []string
	if f.samples.launches {
		var err error
		if split, err = f.splitLaunches(p); err != nil {
			return nil, err
		}
	}
	f.o.Metrics, f.o.Names = splitNames(f.metrics), viewer.NameFormat(f.format)
	notes, err := viewer.Render(out, p, f.view, f.o, f.terminal.Terminal)
	notes = append(split, notes...)
	if err == nil && f.sorted {
		fmt.Fprintln(out)
		_, err = viewer.Render(out, p, "flat", f.o, f.terminal.Terminal)
	}
	return notes, err
}

// flagsOfIdle are those that --idle knows.
var flagsOfIdle = []string{"idle", "json", "top", "format", "full-names", "mangled", "width", "color", "ascii", "no-pager", "from", "help", "allow-high-compression"}

func (f *viewerFlags) printIdle(p *profile.Profile, out io.Writer) error {
	if f.samples.json {
		return idle.WriteJSON(out, p)
	}
	return idle.Write(out, p, idle.Options{Terminal: f.terminal.Terminal, Rows: f.o.Top, Names: viewer.NameFormat(f.format)})
}

// printCompat prints what proton-viewer prints.
func (f *viewerFlags) printCompat(p *profile.Profile, stdin io.Reader, out io.Writer) (notes []string, err error) {
	if f.list {
		return nil, compat.List(out, p)
	}
	o := compat.Options{
		Metrics: splitNames(f.metrics), Include: f.o.Include, Exclude: f.o.Exclude, Threshold: f.o.Threshold, Depth: f.o.Depth,
		Format: compat.NameFormat(f.format), Sorted: f.sorted, Color: f.terminal.Color,
		Warn: func(note string) { notes = append(notes, note) },
	}
	if f.diff != "" {
		if o.Diff, err = readProfile(f.diff, stdin, f.from); err != nil {
			return nil, err
		}
	}
	err = compat.Render(out, p, o)
	return notes, err
}

// splitNames splits lists only at their commas: names may contain spaces and quotes.
func splitNames(lists []string) []string {
	var names []string
	for _, list := range lists {
		for _, name := range strings.Split(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// spellOutDiff turns proton-viewer's -diff, which is not a flag of one letter, into --diff-profile.
func spellOutDiff(args []string) []string {
	if len(args) == 0 || args[0] != "viewer" {
		return args
	}
	spelled := append([]string(nil), args...)
	for i, a := range spelled {
		switch value, given := strings.CutPrefix(a, "-diff="); {
		case a == "--":
			return spelled
		case given:
			spelled[i] = "--diff-profile=" + value
		case a == "-diff":
			spelled[i] = "--diff-profile"
		}
	}
	return spelled
}
