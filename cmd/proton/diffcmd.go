package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/compare"
)

// diffFlags are the flags of `proton diff` as they were given.
type diffFlags struct {
	metrics   []string
	rename    []string
	peaks     []string
	include   string
	exclude   string
	threshold string
	depth     int
	sort      string
	format    string
	view      string
	json      bool
	markdown  bool
	output    string
	force     bool
	from      fromFlag
	samples   sourceFlags   // --source and --source-path only
	terminal  terminalFlags // its All is of --source
}

func newDiffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [flags] A B [C…]",
		Short: "compare profiles call path by call path",
		Long: `diff compares profiles: for every call path and metric it shows the value in A, the value in B, and the change from
A to B. Further profiles are compared with A too.

Amounts are added up first. Rates, averages and utilisation are derived from the sums of each side and then
compared. Frames that only some of the profiles have are marked. For frames whose names changed, --rename replaces
the matches of a regular expression in names; frames that then have the same name below the same caller are
added up.

One of the profiles may be - for standard input. The views are tree, table (leaves only, the largest change first),
json, csv and pprof. pprof is a profile.proto with the values B-A, which go tool pprof shows like -diff_base. An OUT
that ends in .json, .csv, .pprof or .pb.gz selects its view.

--source compares the instruction samples of two profiles by source line: the samples of A and B, their shares of
the kernel, and the change of these shares. If the source has changed too and both versions are found (next to their
profiles, or by --source-path), lines are matched by their text. Each compilation of a kernel is compared with the one
of the same binary, else with one of equal size and registers, else with the one of the same rank in samples.`,
		Example: `  proton diff before.hatchet after.hatchet
  proton diff -m time/ms,tflop16/s -t 1% before.hatchet after.hatchet
  proton diff --rename '_<grid:[^>]*>=' --rename ':[0-9]+@=@' v1.pb.gz v2.pb.gz
  proton diff --source=matmul before.hatchet after.hatchet
  proton diff -o diff.pb.gz before.hatchet after.hatchet`,
		Args: between(2, noLimit, "must specify two or more profiles to compare; got %d: proton diff A B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkSource(cmd.Flags(), len(args)); err != nil {
				return usage(err)
			}
			if f.samples.asked() {
				return f.diffSource(args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return f.run(args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd)
	withSchema[compare.Document](cmd, compare.Schema)
	return cmd
}

func (f *diffFlags) register(cmd *cobra.Command) {
	flags := flagsOf(cmd)
	flags.StringArrayVarP(&f.metrics, "metrics", "m", nil, "compare the metrics `NAMES`, separated by commas (default time); -t and --sort use the first")
	flags.StringArrayVar(&f.rename, "rename", nil, "in names of frames, replace matches, `REGEXP=TEXT`; may be repeated")
	flags.StringSliceVar(&f.peaks, "peak", nil, peakUsage)
	flags.StringVarP(&f.include, "include", "i", "", "only paths through frames that match `REGEXP`")
	flags.StringVarP(&f.exclude, "exclude", "e", "", "no frames that match `REGEXP`, and nothing below them")
	flags.StringVarP(&f.threshold, "threshold", "t", "", "hide call paths that changed by less than `CHANGE`: 5% of their own value in A, 2ms, or a number in the unit of the first metric (default in trees and tables: 0.5% of the total; 0 hides nothing)")
	flags.IntVarP(&f.depth, "depth", "d", 0, "show `N` levels of the tree (default all)")
	flags.StringVar(&f.sort, "sort", "change", "sort siblings by `ORDER`: change, percent, name or none")
	flags.StringVarP(&f.format, "format", "f", string(viewer.ShortName), "print names in tree and table in `FORM`: "+strings.Join(formatNames(), ", "))
	flags.StringVar(&f.view, "view", "", "select a `VIEW`: tree, table, markdown, json, csv or pprof (default: by the end of OUT, otherwise tree)")
	flags.BoolVar(&f.json, "json", false, "print JSON: --view json")
	flags.BoolVar(&f.markdown, "markdown", false, "print a table for GitHub: --view markdown")
	flags.StringVarP(&f.output, "output", "o", "", "write to `OUT` instead of standard output")
	registerForce(cmd, &f.force)
	flags.BoolVar(&f.terminal.ASCII, "ascii", false, "draw the tree with ASCII characters")
	f.from.register(cmd)
	registerColor(cmd, &f.terminal.color)
	registerWidth(flags, &f.terminal.Width, widthUsage)
	flags.BoolVar(&f.terminal.noPager, "no-pager", false, noPagerUsage)
	f.registerSource(flags)

	showEveryday(cmd,
		everyday{"metrics", "which metrics", "proton diff -m time/ms,tflop16/s a.hatchet b.hatchet"},
		everyday{"rename", "let frames of two names match", "proton diff --rename ':[0-9]+@=@' a.hatchet b.hatchet"},
		everyday{"include", "only paths through some frames", "proton diff -i backward a.hatchet b.hatchet"},
		everyday{"threshold", "hide small changes", "proton diff -t 5% a.hatchet b.hatchet"},
		everyday{"sort", "change, percent or name first", "proton diff --sort percent a.hatchet b.hatchet"},
		everyday{"view", "a tree, table, JSON …", "proton diff --view table a.hatchet b.hatchet"},
		everyday{"output", "into a file, for pprof too", "proton diff -o diff.pb.gz a.hatchet b.hatchet"},
		everyday{"source", "samples by line, before and after", "proton diff --source=matmul a.hatchet b.hatchet"},
	)
	heading(flags, "include", "Which rows")
	heading(flags, "format", "Names and output")
	heading(flags, "ascii", "Terminal")
	heading(flags, "source", "Instruction samples")
	metricChoices(cmd, "metrics")
	choices(cmd, "view", "tree", "table", "markdown", "json", "csv", "pprof")
	choices(cmd, "format", formatNames()...)
	choices(cmd, "sort", "change", "percent", "name", "none")
}

func (f *diffFlags) run(files []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, cut, err := f.check()
	if err != nil {
		return usage(err)
	}
	if f.view == "pprof" && len(files) > 2 {
		return usagef("--view pprof holds the difference of two profiles; got %d", len(files))
	}
	if err := mayWrite(f.output, f.force); err != nil {
		return err
	}
	inputs, err := readInputs(files, stdin, f.from)
	if err != nil {
		return err
	}
	d, err := compare.New(inputs, o)
	if err != nil {
		return err
	}
	tellEach(stderr, d.Notes)
	if err := d.Cut(cut); err != nil {
		return usage(err)
	}
	return f.terminal.print(f.output, stdout, f.view == "pprof", func(w io.Writer) error { return f.write(w, d, f.terminal.Terminal) })
}

func (f *diffFlags) check() (o compare.Options, c compare.Cut, err error) {
	if f.view, err = formOr(f.view, f.json, f.markdown); err != nil {
		return o, c, err
	}
	if f.view == "" {
		f.view = viewOf(f.output)
	}
	if f.depth < 0 {
		return o, c, fmt.Errorf("read --depth %d: a tree has at least 1 level", f.depth)
	}
	if err := checkFrames(f.include, f.exclude, f.format); err != nil {
		return o, c, err
	}
	o = compare.Options{Metrics: splitNames(f.metrics), Include: f.include, Exclude: f.exclude, Peaks: f.peaks, Names: viewer.NameFormat(f.format), BaseUnits: f.view == "json" || f.view == "csv"}
	if o.Rename, err = parseRenames(f.rename); err != nil {
		return o, c, err
	}
	c = compare.Cut{Depth: f.depth, Sort: compare.Sort(f.sort)}
	switch {
	case f.threshold != "":
		if c.Threshold, err = compare.ParseThreshold(f.threshold); err != nil {
			return o, c, err
		}
	case f.view == "tree" || f.view == "table" || f.view == "markdown":
		c.Threshold = compare.SmallChange
	}
	switch f.view {
	case "tree", "table", "markdown", "json", "csv", "pprof":
	default:
		return o, c, fmt.Errorf("there is no view %q; there are tree, table, markdown, json, csv, pprof", f.view)
	}
	if _, err := term.Color(f.terminal.color, nil, os.Getenv); err != nil {
		return o, c, err
	}
	return o, c, nil
}

// viewOf is the view that a file's name selects, so that diff.pb.gz is never a text.
func viewOf(output string) string {
	switch path.Ext(strings.TrimSuffix(output, ".gz")) {
	case ".json":
		return "json"
	case ".csv":
		return "csv"
	case ".md":
		return "markdown"
	case ".pprof", ".pb":
		return "pprof"
	}
	return "tree"
}

func (f *diffFlags) write(w io.Writer, d *compare.Diff, terminal viewer.Terminal) error {
	switch f.view {
	case "table":
		return d.WriteTable(w, terminal)
	case "json":
		return d.WriteJSON(w)
	case "csv":
		return d.WriteCSV(w)
	case "markdown":
		return d.WriteMarkdown(w)
	case "pprof":
		return d.WritePprof(w)
	}
	return d.WriteTree(w, terminal)
}

func parseRenames(texts []string) ([]compare.Rename, error) {
	var all []compare.Rename
	for _, text := range texts {
		r, err := compare.ParseRename(text)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// readInputs reads the profiles to compare.
func readInputs(files []string, stdin io.Reader, from fromFlag) ([]compare.Input, error) {
	var all []compare.Input
	fromStdin := false
	for _, file := range files {
		if file == "-" && fromStdin {
			return nil, fmt.Errorf("standard input holds one profile; - was given twice")
		}
		fromStdin = fromStdin || file == "-"
		p, err := readProfile(file, stdin, from)
		if err != nil {
			return nil, err
		}
		all = append(all, compare.Input{Name: file, Profile: p})
	}
	return all, nil
}
