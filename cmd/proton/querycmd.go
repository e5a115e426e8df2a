package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
	"github.com/goproton/goproton/viewer/fleet"
)

// queryFlags are the flags of `proton query` as they were given.
type queryFlags struct {
	since, until string
	ranks        string
	labels       []string
	attempt      string
	exclude      string
	metric       string
	top          int
	parquet      string
	force        bool
	json         bool
	width        int
	from         fromFlag
}

func newQueryCommand() *cobra.Command {
	f := queryFlags{from: fromFlag{hint: "; a time is --since"}}
	cmd := &cobra.Command{
		Use:   "query [flags] PATH…",
		Short: "find the slow ranks and the largest frames in a folder of profiles",
		Long: `query reads the profiles of many ranks and windows, and prints which ranks differ from the median, at which call path,
and which call paths have the most.

PATH is a profile, or a folder, in which all profiles are read, those in its folders included: what proton run writes,
the windows that proton run --push file:///FOLDER leaves there, and those that wait in a spool of --push. An object
store that is mounted is a folder: it is listed, and files are opened and read, nothing else. What cannot be read is
named and left out, and the exit code is 1.

The score of a rank is its distance from the median, in standard deviations that are estimated from the median distance
(MAD). A rank is an outlier if its score is beyond 3.5, or if most ranks are equal, and if it is more than 1 % from the
median. Outliers are read a second time, and compared with the mean of all ranks.

The rank is the one recorded in the profile, else the one in the name of its file. --since and --until compare with the
start of a profile. --label compares with the labels of a window, which --push gave it, and with the facts of a
profile: job, host, service, and gpu, which leaves out the work of other GPUs.

A rank that its launcher has started again has profiles of each attempt, which are added up, and a line names such ranks.
--attempt last takes the last attempt of each rank alone; it reads everything a second time.

A rank that the others wait for inside of kernels that communicate, as those of NCCL, has as much GPU time as they have.
--exclude nccl leaves these kernels out, so that it shows: the names are those of the file, where they may be mangled.

--parquet writes a row for each profile and call path, for DuckDB, pandas, Spark and others; docs/at-scale.md lists the
columns.`,
		Example: `  proton query windows/
  proton query --since 30m --rank 0-7,64 windows/
  proton query --since 2h --until 2026-11-23T10:30:00Z windows/
  proton query --label job=train --label team=vision -m bytes --top 20 windows/
  proton query --exclude '(?i)nccl' windows/
  proton query --since 1d --parquet rows.parquet windows/
  proton query --json windows/ | jq '.ranks[] | select(.outlier)'`,
		Args: between(1, noLimit, "must specify a folder of profiles: proton query FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.StringVar(&f.since, "since", "", "leave out profiles that start before `TIME`: 30m or 2d ago, 2026-11-23T10:00:00Z, or ns since 1970")
	flags.StringVar(&f.until, "until", "", "leave out profiles that start at `TIME` or later")
	flags.StringVar(&f.ranks, "rank", "", "only the ranks in `LIST`: 0-7,64")
	flags.StringArrayVar(&f.labels, "label", nil, "only profiles with the label `NAME=VALUE`, such as job=train, host=node7 or team=vision; several must all hold")
	flags.StringVar(&f.attempt, "attempt", "all", "of ranks that ran more than once, take `WHICH` attempts: all, or of each rank the last")
	flags.StringVar(&f.exclude, "exclude", "", "leave out frames whose names match `REGEXP`, and what is below them")
	flags.StringVarP(&f.metric, "metric", "m", profile.TimeMetric, "the metric `NAME`, one that is recorded and adds up: time, bytes, count, cpu_time")
	flags.IntVar(&f.top, "top", 10, "print `N` ranks and as many call paths")
	flags.StringVar(&f.parquet, "parquet", "", "also write what is asked for as rows of the Parquet `FILE`, one for each profile and call path; - is standard output, without the answer")
	flags.BoolVar(&f.force, "force", false, "replace the file of --parquet if it exists")
	f.from.register(cmd)
	flags.BoolVar(&f.json, "json", false, "print the answer as JSON, with all ranks")
	flags.SetNormalizeFunc(formerQueryFlags)
	amountChoices(cmd, "metric")
	choices(cmd, "attempt", "all", "last")
	registerWidth(flags, &f.width, widthUsage)
	return cmd
}

// formerQueryFlags takes what flags were called first.
func formerQueryFlags(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "to":
		name = "until"
	case "where":
		name = "label"
	}
	return pflag.NormalizedName(name)
}

func (f *queryFlags) run(paths []string, stdout, stderr io.Writer) error {
	query, err := f.query(time.Now())
	if err != nil {
		return usage(err)
	}
	if err := mayWrite(f.parquet, f.force); err != nil {
		return err
	}
	a := answering{from: f.from, query: query, all: fleet.New(query), stderr: stderr, ranks: map[string]string{}, there: merge.Ranks{OneRun: oneRun}}
	files := fleet.Files{Query: &query, Failed: a.fail}
	for _, path := range paths {
		if err := files.Find(path); err != nil {
			return err
		}
	}
	list := files.List()
	if f.attempt == "last" {
		list = a.lastAttempts(list)
	}
	if err := f.read(&a, list, files.Skipped, stdout); err != nil {
		return err
	}
	a.note(len(list))
	if f.parquet != "-" {
		if err := a.all.Unknown(); err != nil {
			return err
		}
		if err := f.print(stdout, a.answer(list)); err != nil {
			return err
		}
	}
	if a.broken > 0 {
		return &exitError{code: 1}
	}
	return nil
}

// read reads the files, and writes their rows if there is a file for them.
func (f *queryFlags) read(a *answering, files []string, skipped int, stdout io.Writer) error {
	all := func() error {
		readQueried(files, f.from, a.add)
		return a.nothing(len(files), skipped)
	}
	if f.parquet == "" {
		return all()
	}
	return writeOutput(f.parquet, term.Raw(stdout), func(w io.Writer) error {
		a.rows = fleet.NewRows(w, a.query)
		if err := all(); err != nil {
			return err
		}
		return a.rows.Close()
	})
}

// answering is a query while files are read.
type answering struct {
	from     fromFlag
	query    fleet.Query
	all      *fleet.Fleet
	stderr   io.Writer
	rows     *fleet.Rows // nil where none are asked for
	who      merge.Identifier
	there    merge.Ranks
	ranks    map[string]string // of the files that are asked for
	repeated []string          // sentences about ranks that ran more than once
	broken   int               // files and folders that cannot be read
	sent     int               // windows of a spool that were sent meanwhile
}

// oneRun is how the user takes one of several runs.
const oneRun = "--label job=NAME takes one"

// lastAttempts leaves out the files of attempts of a rank that others follow. Files that cannot be read stay: reading them again says why.
func (a *answering) lastAttempts(files []string) []string {
	ranks := merge.Ranks{OneRun: oneRun}
	var taken []string
	readQueried(files, a.from, func(file string, p *profile.Profile, err error) {
		if err != nil {
			return
		}
		if s, err := a.source(file, p); err == nil && a.query.Takes(p, s.Rank) {
			ranks.Add(s, p)
			taken = append(taken, file)
		}
	})
	earlier, notes := ranks.Earlier()
	tellEach(a.stderr, notes)
	a.repeated = notes
	left := map[string]bool{}
	for position := range earlier {
		left[taken[position]] = true
	}
	return slices.DeleteFunc(files, func(file string) bool { return left[file] })
}

func (a *answering) fail(err error) {
	a.broken++
	tell(a.stderr, "%v; left out", err)
}

// add adds the profile of a file, if it is asked for.
func (a *answering) add(file string, p *profile.Profile, err error) {
	if errors.Is(err, errSent) {
		a.sent++
		return
	}
	var s merge.Source
	if err == nil {
		warnIncomplete(file, p)
		s, err = a.source(file, p)
	}
	if err != nil {
		a.fail(err)
		return
	}
	if a.query.Takes(p, s.Rank) {
		a.all.Add(p, s.Rank, s.Host)
		a.there.Add(s, p)
		a.ranks[file] = cmp.Or(s.Rank, "?")
		if a.rows != nil {
			a.rows.Add(file, p, s.Rank, s.Host)
		}
	}
}

// source says whose a profile is. A window says it itself, and its name is made of numbers.
func (a *answering) source(file string, p *profile.Profile) (merge.Source, error) {
	if p.Info[profile.InfoWindowEnd] != "" {
		return merge.Source{File: file, Host: p.Info[profile.InfoHost], Rank: p.Info[profile.InfoRank]}, nil
	}
	return a.who.Identify(file, p)
}

// nothing is the error if no file is asked for, or none could be read.
func (a *answering) nothing(files, skipped int) error {
	switch read := max(files-a.broken-a.sent, 0); {
	case len(a.ranks) > 0:
		return nil
	case read+skipped == 0:
		return fmt.Errorf("none of the %d files could be read; see above", files)
	default:
		return fmt.Errorf("no profile is asked for, of %d that were read and %d files and folders that their names rule out: check --since, --until, --rank and --label", read, skipped)
	}
}

// answer reads the outliers again, to find where they differ.
func (a *answering) answer(files []string) *fleet.Report {
	outliers, median := a.all.Outliers()
	again := slices.DeleteFunc(slices.Clone(files), func(file string) bool { return !outliers[a.ranks[file]] })
	readQueried(again, a.from, func(file string, p *profile.Profile, err error) {
		if err == nil {
			a.all.AddAgain(p, a.ranks[file])
		}
	})
	report := a.all.Report(median)
	report.Broken = a.broken
	return report
}

// note says what the answer is not about.
func (a *answering) note(files int) {
	if a.sent > 0 {
		tell(a.stderr, "%s while the spool was read: the server has them", figures.Plural(int64(a.sent), "window was sent", "windows were sent"))
	}
	if a.broken > 0 {
		tell(a.stderr, "left out %s of %d", figures.Count(a.broken, "file"), files)
	}
	for _, text := range []string{a.all.NothingLeft(), a.all.Uneven()} {
		if text != "" {
			tell(a.stderr, "%s", text)
		}
	}
	notes := a.there.Notes
	if a.query.Ranks != nil { // others are missing because they are not asked for
		notes = a.there.Repeated
	}
	for _, text := range notes() {
		if !slices.Contains(a.repeated, text) {
			tell(a.stderr, "%s", text)
		}
	}
}

func (f *queryFlags) print(stdout io.Writer, report *fleet.Report) error {
	if f.json {
		return report.WriteJSON(stdout)
	}
	return report.Write(stdout, f.top, cmp.Or(f.width, term.Width(stdout)))
}

func (f *queryFlags) query(now time.Time) (q fleet.Query, err error) {
	if f.top < 1 {
		return q, fmt.Errorf("read --top %d: give a number of at least 1", f.top)
	}
	if f.attempt != "all" && f.attempt != "last" {
		return q, fmt.Errorf("read --attempt %q: use all or last", f.attempt)
	}
	q = fleet.Query{Metric: f.metric, Top: f.top, Labels: map[string]string{}}
	if f.exclude != "" {
		if q.Exclude, err = regexp.Compile(f.exclude); err != nil {
			return q, fmt.Errorf("read --exclude: %w", err)
		}
	}
	if q.Since, err = fleet.ReadMoment(f.since, now); err != nil {
		return q, fmt.Errorf("read --since: %w", err)
	}
	if q.Until, err = fleet.ReadMoment(f.until, now); err != nil {
		return q, fmt.Errorf("read --until: %w", err)
	}
	if q.Ranks, err = fleet.ReadRanks(f.ranks); err != nil {
		return q, fmt.Errorf("read --rank: %w", err)
	}
	for _, label := range f.labels {
		name, value, ok := strings.Cut(label, "=")
		switch {
		case !ok || name == "":
			return q, fmt.Errorf("read --label %q: write NAME=VALUE, such as job=train", label)
		case name == "gpu":
			q.GPU = value
		default:
			q.Labels[name] = value
		}
	}
	return q, nil
}
