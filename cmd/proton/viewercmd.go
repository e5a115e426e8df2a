package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer/compat"
)

// viewerFlags are the flags of `proton viewer` as they were given.
type viewerFlags struct {
	list      bool
	metrics   []string
	include   string
	exclude   string
	threshold float64
	depth     int
	format    string
	sorted    bool
	diff      string
	color     string
}

func newViewerCommand() *cobra.Command {
	var f viewerFlags
	cmd := &cobra.Command{
		Use:   "viewer [flags] FILE",
		Short: "print a profile as a tree",
		Long: `viewer prints a .hatchet profile, ours or Triton's, as a tree of call paths with the metrics you ask for.
FILE may be - for standard input. Called as proton-viewer, this program is this command.

Without -m the tree shows time/ms. Metric names ignore case and units. What can be asked for:

  time/s /ms /us /ns              time over the subtree; avg_time/…: per kernel launch
  cpu_time/…, avg_cpu_time/…      time on the CPU of a cpu_timed_scope
  flop/s, gflop/s, tflop/s        arithmetic rate; flop8/s … tflop64/s for one operand width
  byte/s, gbyte/s, tbyte/s        memory rate
  util                            roofline utilisation: the larger of arithmetic and memory time at the
                                  GPU's dense peak, over the time taken
  NAME/%                          share of the root (inclusive metrics) or of the sum over all frames
  NAME                            any recorded metric: see --list`,
		Example: `  proton viewer -m util,tflop16/s,time/ms matmul.hatchet
  proton viewer -m time/% -t 5 -i '.*attention.*' train.hatchet
  proton viewer -m time/ms --diff-profile before.hatchet after.hatchet`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &exitError{code: 2, err: fmt.Errorf("must specify one file to read, or - for standard input; got %d: proton viewer [flags] FILE", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args[0], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd)
	return cmd
}

func (f *viewerFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVarP(&f.list, "list", "l", false, "list the metrics that the profile holds")
	flags.StringArrayVarP(&f.metrics, "metrics", "m", nil, "metrics to show, `NAMES` separated by commas; the first rules -t, sorting and colour")
	flags.StringVarP(&f.include, "include", "i", "", "show only paths through frames that match `REGEXP` from their start on, '.*gemm'")
	flags.StringVarP(&f.exclude, "exclude", "e", "", "leave out frames that match `REGEXP` from their start on, and all below them")
	flags.Float64VarP(&f.threshold, "threshold", "t", 0, "leave out frames with less than `VALUE` of the first metric")
	flags.IntVarP(&f.depth, "depth", "d", compat.DefaultDepth, "print `N` levels of the tree")
	flags.StringVarP(&f.format, "format", "f", string(compat.FullName), "`FORM` of file:line@function names: "+formatNames())
	flags.BoolVar(&f.sorted, "print-sorted", false, "also print a list sorted by the first metric")
	flags.StringVar(&f.diff, "diff-profile", "", "subtract the profile in `FILE` (also -diff FILE)")
	flags.StringVar(&f.color, "color", "auto", "colour, `WHEN`: "+term.ColorModes+"; auto respects NO_COLOR")
}

func formatNames() string {
	var names []string
	for _, n := range compat.NameFormats {
		names = append(names, string(n))
	}
	return strings.Join(names, ", ")
}

func (f *viewerFlags) run(file string, stdin io.Reader, stdout, stderr io.Writer) error {
	if f.depth < 1 {
		return fmt.Errorf("read --depth %d: a tree has at least 1 level", f.depth)
	}
	color, err := term.Color(f.color, stdout, os.Getenv)
	if err != nil {
		return err
	}
	p, err := readProfile(file, stdin)
	if err != nil {
		return err
	}
	if f.list {
		return compat.List(stdout, p)
	}
	o := compat.Options{
		Metrics: splitNames(f.metrics), Include: f.include, Exclude: f.exclude, Threshold: f.threshold, Depth: f.depth,
		Format: compat.NameFormat(f.format), Sorted: f.sorted, Color: color,
		Warn: func(note string) { fmt.Fprintf(stderr, "proton viewer: %s\n", note) },
	}
	if f.diff != "" {
		if o.Diff, err = readProfile(f.diff, stdin); err != nil {
			return err
		}
	}
	return compat.Render(stdout, p, o)
}

// splitNames takes apart lists at their commas, and at nothing else: names may hold spaces and quotes.
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

// spellOutDiff turns proton-viewer's -diff, which is no flag of one letter, into --diff-profile.
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
