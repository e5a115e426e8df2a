package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/natural"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profile/merge"
	"github.com/goproton/goproton/viewer/fleet"
)

// queryFlags are the flags of `proton query` as they were given.
type queryFlags struct {
	from, to string
	ranks    string
	where    []string
	metric   string
	top      int
	json     bool
	width    int
}

func newQueryCommand() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use:   "query [flags] PATH…",
		Short: "find the slow ranks and the largest frames in a folder of profiles",
		Long: `query reads the profiles of many ranks and windows, one after another, and prints which ranks differ from the median,
at which call path, and which call paths have the most.

PATH is a profile, or a folder, in which all profiles are read, those in its folders included. An object store that is
mounted is a folder. The score of a rank is its distance from the median, in standard deviations that are estimated
from the median distance (MAD). A rank is an outlier if its score is beyond 3.5, or if most ranks are equal, and if it
is more than 1 % from the median. Outliers are read a second time, and compared with the mean of all ranks.

The rank is the one recorded in the profile, else the one in the name of its file. --from and --to compare with the
start of a profile.`,
		Example: `  proton query windows/
  proton query --from 2026-11-23T10:00:00Z --to 2026-11-23T10:30:00Z --rank 0-7,64 windows/
  proton query --where job=train --where host=node7 -m bytes --top 20 windows/
  proton query --json windows/ | jq '.ranks[] | select(.outlier)'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &exitError{code: 2, err: fmt.Errorf("must specify a folder of profiles: proton query FOLDER")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.from, "from", "", "leave out profiles that start before `TIME`: 2026-11-23T10:00:00Z, or ns since 1970")
	flags.StringVar(&f.to, "to", "", "leave out profiles that start at `TIME` or later")
	flags.StringVar(&f.ranks, "rank", "", "only the ranks in `LIST`: 0-7,64")
	flags.StringArrayVar(&f.where, "where", nil, "only profiles with the fact `KEY=VALUE`, such as job=train; several must all hold")
	flags.StringVarP(&f.metric, "metric", "m", "time (ns)", "the metric `NAME`")
	flags.IntVar(&f.top, "top", 10, "print `N` ranks and `N` call paths")
	flags.BoolVar(&f.json, "json", false, "print the answer as JSON, with all ranks")
	metricChoices(cmd, "metric")
	registerWidth(flags, &f.width, widthUsage)
	return cmd
}

func (f *queryFlags) run(paths []string, stdout, stderr io.Writer) error {
	query, err := f.query()
	if err != nil {
		return &exitError{code: 2, err: err}
	}
	files, err := profilesIn(paths)
	if err != nil {
		return err
	}
	all := fleet.New(query)
	taken := map[string]string{} // file → rank
	broken := 0
	f.each(files, func(file string, p *profile.Profile, s merge.Source) {
		if query.Takes(p, s.Rank) {
			all.Add(p, s.Rank, s.Host)
			taken[file] = cmp.Or(s.Rank, "?")
		}
	}, func(err error) {
		broken++
		tell(stderr, "%v; left out", err)
	})
	if len(taken) == 0 {
		return fmt.Errorf("none of the %d profiles is asked for: check --from, --to, --rank and --where", len(files)-broken)
	}
	outliers, median := all.Outliers()
	again := slices.DeleteFunc(files, func(file string) bool { return !outliers[taken[file]] })
	f.each(again, func(_ string, p *profile.Profile, s merge.Source) { all.AddAgain(p, s.Rank) }, func(error) {})
	if err := f.print(stdout, all.Report(median)); err != nil {
		return err
	}
	if broken > 0 {
		return &exitError{code: 1}
	}
	return nil
}

// each reads one profile after another.
func (f *queryFlags) each(files []string, visit func(file string, p *profile.Profile, s merge.Source), failed func(error)) {
	var who merge.Identifier
	for _, file := range files {
		p, err := readProfile(file, nil)
		if err != nil {
			failed(err)
			continue
		}
		s, err := who.Identify(file, p)
		if err != nil {
			failed(err)
			continue
		}
		visit(file, p, s)
	}
}

func (f *queryFlags) print(stdout io.Writer, report *fleet.Report) error {
	if f.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(report)
	}
	width := f.width
	if width == 0 {
		width = term.Width(stdout)
	}
	return report.Write(stdout, f.top, width)
}

func (f *queryFlags) query() (q fleet.Query, err error) {
	if f.top < 1 {
		return q, fmt.Errorf("read --top %d: give a number of at least 1", f.top)
	}
	q = fleet.Query{Metric: f.metric, Top: f.top, Facts: map[string]string{}}
	if f.metric == "time" {
		q.Metric = profile.TimeMetric
	}
	if q.From, err = readMoment(f.from); err != nil {
		return q, fmt.Errorf("read --from: %w", err)
	}
	if q.To, err = readMoment(f.to); err != nil {
		return q, fmt.Errorf("read --to: %w", err)
	}
	if q.Ranks, err = readRanks(f.ranks); err != nil {
		return q, fmt.Errorf("read --rank: %w", err)
	}
	for _, fact := range f.where {
		key, value, ok := strings.Cut(fact, "=")
		if !ok || key == "" {
			return q, fmt.Errorf("read --where %q: write KEY=VALUE, such as job=train", fact)
		}
		q.Facts[key] = value
	}
	return q, nil
}

func readMoment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ns, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(0, ns), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%q is not a time; write 2026-11-23T10:00:00Z, or ns since 1970", text)
	}
	return t, nil
}

// readRanks reads "0-7,64"; nil of "".
func readRanks(text string) (map[int]bool, error) {
	if text == "" {
		return nil, nil
	}
	const most = 1 << 20
	ranks := map[int]bool{}
	for _, part := range strings.Split(text, ",") {
		low, high, span := strings.Cut(part, "-")
		if !span {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 31)
		last, other := strconv.ParseUint(high, 10, 31)
		if err != nil || other != nil || last < first || last-first > most {
			return nil, fmt.Errorf("%q is not a list of ranks; write 0-7,64", text)
		}
		for rank := first; rank <= last; rank++ {
			ranks[int(rank)] = true
		}
	}
	return ranks, nil
}

// profilesIn finds the profiles in folders, by the suffixes of their names.
func profilesIn(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			files = append(files, path) // whose reading says what is wrong
			continue
		}
		before := len(files)
		err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && formats.ByPath(at) != nil {
				files = append(files, at)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list the profiles of %s: %w", path, err)
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s has no profile: give a folder with the files that proton run writes", path)
		}
	}
	slices.SortFunc(files, natural.Compare)
	return slices.Compact(files), nil
}
