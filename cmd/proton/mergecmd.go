package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profile/merge"
	"github.com/goproton/goproton/viewer/collectives"
	"github.com/goproton/goproton/viewer/fleet"
)

// mergeFlags are the flags of `proton merge` as they were given.
type mergeFlags struct {
	output     string
	force      bool
	format     string
	by         string
	columns    []string
	attempt    string
	counts     string
	part       int
	ofParts    bool
	timeline   bool
	ownClocks  bool
	json       bool
	skipBroken bool
	sorted     bool
	imbalance  bool
	metric     string
	threshold  leastFlag
	depth      int
	from       fromFlag
	terminal   terminalFlags
}

func newMergeCommand() *cobra.Command {
	var f mergeFlags
	cmd := &cobra.Command{
		Use:   "merge [flags] FILE…",
		Short: "add up the profiles of ranks, hosts or runs",
		Long: `merge adds profiles up, call path by call path: the ranks of a distributed run, its hosts, or repeated runs. It
reads files with all processors and keeps only the sum, so that a thousand ranks take the memory of a few profiles.

Amounts are added up, distributions of kernel times are merged exactly, and differing properties are replaced by the
list of their values. A GPU of rank 3 is renamed to rank3:0, and work on several ranks belongs to rank0-7:0.

--by keeps the time of each source in addition to the sum, as a metric that every format holds and the viewer
shows: "time@rank3 (ns)". --imbalance prints how unevenly the sources spent their time; it also accepts one file that
was merged with --by. The rank of a file is the one recorded in the profile, else the one in its name
(train.rank3.hatchet, train.r3.hatchet, NAME.HOST.RANK.PID.hatchet), else its position on the command line.

Merged profiles merge again, to the same bytes as all files at once in the same order: ten hosts may merge their own
ranks first. With --sorted, the order does not matter either. Timelines, and metrics that are not whole numbers, are
equal up to rounding.

FILE may also be a pattern in quotes, or the name of a run without suffix: proton merge train adds up what
proton run --name train has written, train.rank0.hatchet and so on. Ranks that have no file are named.

A rank that its launcher has started again, because some rank failed, has a file for each attempt. All attempts are added
up, because the GPU did their work, and a line names such ranks. --attempt last takes the last attempt of each rank alone.

--timeline puts the timelines of ranks (proton run --data timeline) on one clock: a collective of NCCL ends on all of its
ranks at about the same time. It prints how well the clocks agree, how long each rank communicated, how much of that
its other kernels overlapped, and how long it waited for the last rank; -o OUT is optional.

A file that cannot be read or contradicts the others is named and left out, and the exit code is 1 unless
--skip-broken is given. FILE may be - for standard input.`,
		Example: `  proton merge train -o all.hatchet
  proton merge 'train.rank*.hatchet' -o all.hatchet
  proton merge --by rank train.*.hatchet -o all.hatchet.zst
  proton merge --imbalance train.*.hatchet
  proton merge --timeline train -o all.chrome_trace
  proton merge --by file before.hatchet after.hatchet -o both.pb.gz`,
		Args: between(1, noLimit, "must specify the files to merge: proton merge FILE… -o OUT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd)
	return cmd
}

func (f *mergeFlags) register(cmd *cobra.Command) {
	flags := flagsOf(cmd)
	flags.StringVarP(&f.output, "output", "o", "", "write the merged profile to `OUT`; the suffix selects the format, - is standard output")
	registerForce(cmd, &f.force)
	flags.StringVar(&f.format, "to", "", "write in `FORMAT` whatever the suffix (default for standard output: hatchet)")
	f.from.register(cmd)
	flags.StringVar(&f.by, "by", "", "keep columns per `SOURCE`: rank, host, run or file")
	flags.StringSliceVar(&f.columns, "columns", nil, "keep columns of the metrics `NAMES`, * for all amounts (default time, cycles, cpu_time)")
	flags.StringVar(&f.counts, "counts", "", "give kernels of the sum the flops and bytes that proton interpret -o has counted in `FILE`")
	flags.StringVar(&f.attempt, "attempt", "all", "of ranks that ran more than once, take `WHICH` attempts: all, or of each rank the last")
	flags.IntVar(&f.part, "part", -1, "the files are a part of those of a larger merge, and the first has the place `N` among them, from 0")
	flags.BoolVar(&f.ofParts, "of-parts", false, "the files were merged with --part")
	for _, flag := range []string{"part", "of-parts"} { // for goproton.ray.merge
		_ = flags.MarkHidden(flag)
	}
	flags.BoolVar(&f.timeline, "timeline", false, "keep the timelines too, a process per source, on one clock by their collectives, and print a table of communication; needs memory for all of them")
	flags.BoolVar(&f.ownClocks, "own-clocks", false, "with --timeline: keep the clock of each host as it is, and print no table")
	flags.BoolVar(&f.json, "json", false, "with --timeline: print the table of communication as JSON")
	flags.BoolVar(&f.skipBroken, "skip-broken", false, "exit with 0 even if files were left out")
	flags.BoolVar(&f.sorted, "sorted", false, "put siblings in order of name, so that the output is the same for any order of the files")
	flags.BoolVar(&f.imbalance, "imbalance", false, "print min, median and max per source and call path (by rank unless --by says otherwise)")
	flags.StringVarP(&f.metric, "metric", "m", "", "with --imbalance: the metric `NAME` (default time)")
	f.threshold.Least, _ = figures.ParseLeast("1%")
	flags.VarP(&f.threshold, "threshold", "t", "with --imbalance: leave out call paths with less than `VALUE` in every source: 1% of the largest source's total, or 1ms")
	flags.IntVarP(&f.depth, "depth", "d", 0, "with --imbalance: print `N` levels of the tree")
	flags.BoolVar(&f.terminal.ASCII, "ascii", false, "with --imbalance: draw the tree with ASCII characters")
	registerColor(cmd, &f.terminal.color)
	showEveryday(cmd,
		everyday{"output", "where the sum goes", "proton merge train -o all.hatchet"},
		everyday{"by", "also a column for each rank or host", "proton merge --by rank train -o all.hatchet"},
		everyday{"timeline", "timelines too, on one clock", "proton merge --timeline train -o all.chrome_trace"},
		everyday{"imbalance", "how uneven the ranks are", "proton merge --imbalance train"},
		everyday{"metric", "of another metric than time", "proton merge --imbalance -m bytes train"},
		everyday{"attempt", "of ranks that were started again", "proton merge --attempt last train -o all.hatchet"},
		everyday{"skip-broken", "files may be unreadable", "proton merge --skip-broken train -o all.hatchet"},
	)
	heading(flags, "timeline", "Timelines")
	heading(flags, "imbalance", "Imbalance")
	metricChoices(cmd, "metric")
	metricChoices(cmd, "columns")
	choices(cmd, "by", "rank", "host", "run", "file")
	choices(cmd, "attempt", "all", "last")
	choices(cmd, "to", formatChoices()...)
	registerWidth(flags, &f.terminal.Width, "with --imbalance: "+widthUsage)
}

func (f *mergeFlags) run(files []string, stdin io.Reader, stdout, stderr io.Writer) error {
	target, view, err := f.check(stdout)
	if err != nil {
		return usage(err)
	}
	if err := mayWrite(f.output, f.force); err != nil {
		return err
	}
	files, err = merge.Files(files, f.timeline)
	if err != nil {
		return usage(err)
	}
	note := func(text string) { tell(stderr, "%s", text) }
	merge.NoteRepeated(files, note)
	p, table, broken := f.merge(files, stdin, note)
	if p == nil {
		return fmt.Errorf("none of the %d files could be read; see above", len(files))
	}
	f.missing(p, note)
	if f.counts != "" {
		if err := addCounts(p, f.counts, stdin, stderr); err != nil {
			return err
		}
	}
	if f.output != "" {
		for _, lost := range target.Format.Drops(p) {
			note(fmt.Sprintf("%s cannot hold %s", target.Format.Name, lost))
		}
		if err := writeProfile(target, f.output, p, stdout); err != nil {
			return err
		}
	}
	if err := f.printTables(stdout, p, table, view); err != nil {
		return err
	}
	if broken > 0 {
		note(fmt.Sprintf("merged %d of %d files", len(files)-broken, len(files)))
		if !f.skipBroken {
			return &exitError{code: 1}
		}
	}
	return nil
}

func (f *mergeFlags) printTables(stdout io.Writer, p *profile.Profile, table *collectives.Report, view fleet.ImbalanceOptions) error {
	switch {
	case f.imbalance:
		return fleet.WriteImbalance(stdout, p, view)
	case table == nil || f.output == "-":
		return nil
	case f.json:
		return table.WriteJSON(stdout)
	}
	return table.Write(stdout, view.Width, view.ASCII)
}

// check checks the flags before anything is read, because reading a thousand files takes long.
func (f *mergeFlags) check(stdout io.Writer) (t formats.Target, o fleet.ImbalanceOptions, err error) {
	if f.output == "" && !f.imbalance && (!f.timeline || f.ownClocks) {
		return t, o, fmt.Errorf("no output: -o OUT writes the merged profile, --imbalance prints how evenly time is spread, --timeline how long ranks communicate")
	}
	if (f.json || f.ownClocks) && !f.timeline {
		return t, o, fmt.Errorf("--json and --own-clocks are of the timelines of ranks: add --timeline")
	}
	if f.json && (f.imbalance || f.ownClocks || f.output == "-") {
		return t, o, fmt.Errorf("--json prints the table of --timeline alone on standard output: leave --imbalance, --own-clocks and -o - out")
	}
	if f.output == "-" && f.imbalance {
		return t, o, fmt.Errorf("--imbalance and -o - both write to standard output; write the profile to a file")
	}
	if f.attempt != "all" && f.attempt != "last" {
		return t, o, fmt.Errorf("read --attempt %q: use all or last", f.attempt)
	}
	if f.depth < 0 {
		return t, o, fmt.Errorf("read --depth %d: give the number of levels below the root", f.depth)
	}
	if f.imbalance && f.by == "" {
		f.by = string(merge.ByRank)
	}
	switch merge.By(f.by) {
	case merge.None, merge.ByRank, merge.ByHost, merge.ByRun, merge.ByFile:
	default:
		return t, o, fmt.Errorf("read --by %q: use rank, host, run or file", f.by)
	}
	if f.metric != "" && len(f.columns) == 0 {
		f.columns = []string{f.metric}
	}
	if err := f.terminal.suit(stdout); err != nil {
		return t, o, err
	}
	o = fleet.ImbalanceOptions{Terminal: f.terminal.Terminal, Metric: f.metric, Depth: f.depth, Threshold: f.threshold.Least}
	if o.Threshold.Unit == "" { // 0.01 is 1%
		o.Threshold.Unit = "%"
	}
	if f.output != "" {
		t, err = outputTarget(f.output, f.format)
	}
	return t, o, err
}

// merge reads files with all processors and adds up one after another; with timelines, it reads all of them first, to put them on
// one clock. It returns the number of files left out because of an error.
func (f *mergeFlags) merge(files []string, stdin io.Reader, note func(string)) (p *profile.Profile, table *collectives.Report, broken int) {
	apart := f.by == string(merge.ByRun) || f.by == string(merge.ByFile)
	m := merging{
		from:  f.from,
		sum:   merge.New(merge.Options{Columns: f.columns, Timeline: f.timeline, Sorted: f.sorted, Part: f.part >= 0, Note: note}),
		who:   merge.Identifier{By: merge.By(f.by), Place: max(0, f.part), OfParts: f.ofParts, Note: note},
		ranks: merge.Ranks{Apart: apart, Part: f.part >= 0, OfParts: f.ofParts},
	}
	failed := func(err error) {
		if err != nil {
			broken++
			note(fmt.Sprintf("%v; left out", err))
		}
	}
	last := f.attempt == "last"
	read := func(i int) (*profile.Profile, error) { return readSilently(files[i], stdin, f.from) }
	readInOrder(files, read, func(i int, p *profile.Profile, err error) {
		var source merge.Source
		if err == nil {
			warnIncomplete(files[i], p)
			source, err = m.who.Identify(files[i], p)
		}
		switch {
		case err == nil && f.timeline, err == nil && last && files[i] == "-":
			m.wait(p, source)
		case err == nil && last: // it is read again, because the files together may be large
			m.wait(&profile.Profile{Info: p.Info}, source)
		case err == nil:
			err = m.add(p, source)
		}
		failed(err)
	})
	var said []string
	if last {
		m.waiting, said = merge.Last(m.waiting, apart)
		for _, text := range said {
			note(text)
		}
	}
	if f.timeline && !f.ownClocks {
		table = collectives.OneClock(m.waiting, note)
	}
	m.addWaiting(failed)
	for _, text := range m.ranks.Notes() {
		if !slices.Contains(said, text) {
			note(text)
		}
	}
	return m.sum.Profile(), table, broken
}

// merging is a sum of profiles and where they come from.
type merging struct {
	from    fromFlag
	sum     *merge.Merger
	who     merge.Identifier
	ranks   merge.Ranks
	waiting []merge.Member // read and not added yet
}

func (m *merging) add(p *profile.Profile, s merge.Source) error {
	if err := m.sum.Add(p, s); err != nil {
		return err
	}
	m.ranks.Add(s, p)
	return nil
}

func (m *merging) wait(p *profile.Profile, s merge.Source) {
	m.waiting = append(m.waiting, merge.Member{Profile: p, Source: s})
}

// addWaiting adds the profiles that were read before, and reads those again of which only the facts were kept.
func (m *merging) addWaiting(failed func(error)) {
	files := make([]string, len(m.waiting))
	for i, w := range m.waiting {
		files[i] = w.Source.File
	}
	read := func(i int) (*profile.Profile, error) {
		if p := m.waiting[i].Profile; p.Root != nil {
			return p, nil
		}
		return readSilently(files[i], nil, m.from)
	}
	readInOrder(files, read, func(i int, p *profile.Profile, err error) {
		if err == nil {
			err = m.add(p, m.waiting[i].Source)
		}
		failed(err)
	})
}

// missing reports the metrics of --columns that no file has.
func (f *mergeFlags) missing(p *profile.Profile, note func(string)) {
	if f.by == "" || f.imbalance { // --imbalance reports them itself
		return
	}
	kept := map[string]bool{"*": true}
	for name := range p.Kinds {
		if metric, _, ok := merge.SplitColumn(name); ok {
			base, _, _ := strings.Cut(metric, " (")
			kept[base] = true
		}
	}
	for _, name := range f.columns {
		if !kept[name] {
			note(fmt.Sprintf("no file has a metric %q that adds up, so there are no columns of it; proton viewer --list shows a file's metrics", name))
		}
	}
}

// outputTarget finds the format for -o and --to.
func outputTarget(path, format string) (formats.Target, error) {
	if format == "" && path == "-" {
		format = "hatchet"
	}
	var wanted *formats.Format
	if format != "" {
		var err error
		if wanted, err = formats.ByName(format); err != nil {
			return formats.Target{}, err
		}
	}
	t, err := formats.TargetOf(path, wanted)
	if err == nil && t.Format.Write == nil {
		err = fmt.Errorf("%s is read only; choose another format for %s", t.Format.Name, path)
	}
	return t, err
}
