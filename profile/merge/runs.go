package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// attempt is one run of a rank, with the files of its processes: a rank may start children, which run at the same time.
type attempt struct {
	job        string
	number     attemptNumber
	start, end int64 // in ns since 1970; 0 if the file does not say so
	positions  []int // of its files, in the order of Ranks.Add
}

func newAttempt(i profile.Info, position int) attempt {
	nanos := func(key string) int64 {
		n, _ := strconv.ParseInt(i[key], 10, 64) //nolint:errcheck // 0: it is not known
		return n
	}
	return attempt{strings.Clone(i[profile.InfoJob]), numberOf(i), nanos(profile.InfoStart), nanos(profile.InfoEnd), []int{position}}
}

// add adds a window of the same process.
func (t *attempt) add(i profile.Info, position int) {
	o := newAttempt(i, position)
	t.start, t.end = min(t.start, o.start), max(t.end, o.end)
	t.positions = append(t.positions, position)
}

// runsOf sorts the files of a rank by run and attempt. The launcher numbers the attempts of a job, but not all do: Ray and Kubernetes
// start a process again without saying so. Then a file that begins after all the others have ended is another attempt. Processes
// without a rank come and go, so of them the numbers alone count. Files of different jobs are different runs; a job that is
// requeued is one run, although launchers within it have jobs of their own.
func runsOf(files []attempt, rank int) (runs [][]attempt) {
	files = slices.Clone(files)
	job := func(t attempt) string { return t.job }
	if slices.ContainsFunc(files, func(t attempt) bool { return t.number.requeue > 0 }) {
		job = func(attempt) string { return "" }
	}
	slices.SortStableFunc(files, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(job(a), job(b)), a.number.compare(b.number), cmp.Compare(a.start, b.start))
	})
	for i, f := range files {
		if i == 0 || job(f) != job(files[i-1]) {
			runs = append(runs, []attempt{f})
			continue
		}
		run := &runs[len(runs)-1]
		last := &(*run)[len(*run)-1]
		later := rank != noRank && last.end > 0 && f.start > last.end
		if f.number != last.number || later {
			*run = append(*run, f)
			continue
		}
		last.end = max(last.end, f.end)
		last.positions = append(slices.Clip(last.positions), f.positions...)
	}
	slices.SortStableFunc(runs, func(a, b []attempt) int { return cmp.Compare(a[0].start, b[0].start) })
	return runs
}

// added says that the attempts of a rank are added up.
func added(run []attempt) string {
	how := "both"
	if len(run) > 2 {
		how = "all"
	}
	last := "the last one"
	what, numbered := attemptsOf(run)
	if numbered {
		last = "attempt " + run[len(run)-1].number.String()
	}
	return fmt.Sprintf("ran %s, %s: %s are added up; --attempt last takes %s alone", times(len(run)), what, how, last)
}

// leftOut says that only the last attempt of a rank counts.
func leftOut(run []attempt) string {
	what, numbered := attemptsOf(run)
	if numbered {
		return fmt.Sprintf("ran %s, %s: attempt %s alone counts", times(len(run)), what, run[len(run)-1].number)
	}
	return fmt.Sprintf("ran %s, %s: the last one alone counts", times(len(run)), what)
}

func times(n int) string {
	if n == 2 {
		return "twice"
	}
	return figures.Count(int64(n), "time")
}

// attemptsOf is "attempts 0 and 1", or how attempts without numbers are distinguished.
func attemptsOf(run []attempt) (text string, numbered bool) {
	var names []string
	for i, t := range run {
		if i > 0 && t.number == run[i-1].number {
			return "one after another", false
		}
		names = append(names, t.number.String())
	}
	last := max(len(names)-1, 0)
	return "attempts " + strings.Join(names[:last], ", ") + " and " + names[last], true
}

// jobsOf names the jobs of runs, as far as they are known.
func jobsOf(runs [][]attempt) string {
	var names []string
	for i, run := range runs {
		if i == 4 {
			names = append(names, "…")
			break
		}
		names = append(names, cmp.Or(run[0].job, "a job without a name"))
	}
	return "of " + strings.Join(names, ", ")
}
