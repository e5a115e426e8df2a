// Package fleet answers questions about a folder of profiles of many ranks: which frames took the time, which rank is slow, and where.
//
// It takes one profile after another and keeps two numbers for each source and one for each call path, however many profiles there are.
// The slow ranks are read a second time. Imbalance is the same question about one merged profile.
package fleet

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// Fleet sums profiles up. Use New.
type Fleet struct {
	query    Query
	metric   metric
	profiles int
	ranks    map[string]*Rank
	paths    paths
	sorted   []int32 // the paths that have the metric, once all profiles are there
}

// Rank is what one rank has of the metric.
type Rank struct {
	Rank     string  `json:"rank"` // "?" of profiles without one
	Host     string  `json:"host,omitempty"`
	Profiles int     `json:"profiles"`
	Total    float64 `json:"total"`
	Ratio    float64 `json:"ratio"`             // of the median of all ranks
	Score    float64 `json:"score"`             // robust: distance from the median in standard deviations that the median deviation stands for
	Outlier  bool    `json:"outlier,omitempty"` // Score beyond 3.5, and more than 1 % from the median
	Where    *Frame  `json:"where,omitempty"`   // of an outlier: the call path that differs most from the mean of all ranks
	paths    map[int32]float64
}

// Frame is a call path with its value.
type Frame struct {
	Path  []string `json:"path"` // of the frames of a Report only in files: see PathOf
	Value float64  `json:"value"`
	Mean  float64  `json:"mean,omitempty"` // of all ranks

	path int32
}

// Report is the answer. Keys are only added.
type Report struct {
	Schema   string  `json:"schema"`
	Metric   string  `json:"metric"`
	Profiles int     `json:"profiles"`
	Broken   int     `json:"broken,omitempty"` // files that could not be read
	Ranks    []*Rank `json:"ranks"`            // by distance from the median
	Median   float64 `json:"median"`
	Frames   []Frame `json:"frames"`

	paths *paths
}

// PathOf is the call path of one of the report's frames. Deep paths take more than all the rest, so that each is made when it is asked for.
func (r *Report) PathOf(f Frame) []string { return r.paths.of(f.path) }

// WriteJSON writes the report, one frame after another.
func (r *Report) WriteJSON(w io.Writer) error {
	if err := r.paths.check(r.Frames); err != nil {
		return err
	}
	head := *r
	head.Frames = []Frame{}
	return jsontext.WriteLists(w, &head, "  ", jsontext.List{Key: "frames", Len: len(r.Frames), At: func(i int) any {
		f := r.Frames[i]
		f.Path = r.PathOf(f)
		return f
	}})
}

// New returns an empty Fleet.
func New(q Query) *Fleet {
	q.Metric = cmp.Or(q.Metric, profile.TimeMetric)
	return &Fleet{query: q, metric: metric{recorded: map[string]bool{}}, ranks: map[string]*Rank{}, paths: newPaths()}
}

// Add adds a profile of a rank; the profile is not kept.
func (f *Fleet) Add(p *profile.Profile, rank, host string) {
	f.profiles++
	if f.metric.name == "" {
		f.metric.find(f.query.Metric, p)
	}
	rank = strings.Clone(cmp.Or(rank, "?"))
	r := f.ranks[rank]
	if r == nil {
		r = &Rank{Rank: rank, Host: strings.Clone(host)}
		f.ranks[rank] = r
	}
	r.Profiles++
	f.walk(p, func(path int32, v float64, within bool) {
		f.metric.counted = true
		if !within {
			r.Total += v
		}
		f.paths.frames[path].sum += v
		f.paths.frames[path].counted = true
	})
}

// walk visits the call paths that have the metric. within says that a frame above has the value already, as nested scopes have.
func (f *Fleet) walk(p *profile.Profile, visit func(path int32, v float64, within bool)) {
	path := []int32{0}
	outermost := math.MaxInt // depth of the frame above that has the value already
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		if f.query.leavesOut(n, depth) {
			return false
		}
		if depth > 0 {
			path = append(path[:depth], f.paths.child(path[depth-1], n.Name))
		}
		if depth <= outermost {
			outermost = math.MaxInt
		}
		if v, has := f.metric.value(n, depth); has && f.query.onGPU(n) {
			visit(path[depth], v, depth > outermost)
			if f.metric.spans {
				outermost = min(outermost, depth)
			}
		}
		return true
	})
}

// Outliers finishes the sums of ranks and returns the outliers that the report says more about: their profiles are added with AddAgain.
func (f *Fleet) Outliers() (ranks map[string]bool, median float64) {
	var totals, distances []float64
	for _, r := range f.ranks {
		totals = append(totals, r.Total)
	}
	median = figures.Median(totals)
	for _, total := range totals {
		distances = append(distances, math.Abs(total-median))
	}
	deviation := figures.Median(distances) / 0.6745 // of a normal distribution, the standard deviation
	var found []*Rank
	for _, r := range f.ranks {
		if median != 0 {
			r.Ratio = r.Total / median
		}
		if deviation > 0 {
			r.Score = (r.Total - median) / deviation
		}
		far := math.Abs(r.Total-median) > 0.01*math.Abs(median)
		if r.Outlier = len(f.ranks) > 2 && far && (math.Abs(r.Score) > 3.5 || deviation == 0); r.Outlier {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, f.farther(median))
	ranks = map[string]bool{}
	for _, r := range found[:min(len(found), f.query.Top)] {
		ranks[r.Rank] = true
		r.paths = map[int32]float64{}
	}
	return ranks, median
}

func (f *Fleet) farther(median float64) func(a, b *Rank) int {
	return func(a, b *Rank) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Total-median), math.Abs(a.Total-median)), cmp.Compare(len(a.Rank), len(b.Rank)), strings.Compare(a.Rank, b.Rank))
	}
}

// Uneven is a sentence about ranks with different numbers of profiles, such as windows that are missing; "" if there are none.
func (f *Fleet) Uneven() string {
	least, most := (*Rank)(nil), (*Rank)(nil)
	for _, r := range f.ranks {
		if least == nil || cmp.Or(cmp.Compare(r.Profiles, least.Profiles), figures.Natural(r.Rank, least.Rank)) < 0 {
			least = r
		}
		if most == nil || cmp.Or(cmp.Compare(most.Profiles, r.Profiles), figures.Natural(r.Rank, most.Rank)) < 0 {
			most = r
		}
	}
	if least == nil || least.Profiles == most.Profiles {
		return ""
	}
	return fmt.Sprintf("rank %s has %s and rank %s %d: totals of different times are compared", least.Rank, figures.Count(least.Profiles, "profile"), most.Rank, most.Profiles)
}

// AddAgain adds a profile of a rank that Outliers has returned.
func (f *Fleet) AddAgain(p *profile.Profile, rank string) {
	if r := f.ranks[cmp.Or(rank, "?")]; r != nil && r.paths != nil {
		f.walk(p, func(path int32, v float64, _ bool) { r.paths[path] += v })
	}
}

// Report returns the answer.
func (f *Fleet) Report(median float64) *Report {
	report := &Report{Schema: "goproton.query/1", Metric: cmp.Or(f.metric.name, f.query.Metric), Profiles: f.profiles, Median: median, Ranks: []*Rank{}, Frames: []Frame{}, paths: &f.paths}
	f.sorted = f.paths.counted()
	for _, r := range f.ranks {
		r.Where = f.where(r)
		report.Ranks = append(report.Ranks, r)
	}
	slices.SortFunc(report.Ranks, f.farther(median))
	largest := slices.Clone(f.sorted)
	slices.SortStableFunc(largest, func(a, b int32) int { return cmp.Compare(f.paths.frames[b].sum, f.paths.frames[a].sum) })
	for _, path := range largest[:min(len(largest), f.query.Top)] {
		report.Frames = append(report.Frames, Frame{path: path, Value: f.paths.frames[path].sum})
	}
	return report
}

// where finds the call path of a rank that differs most from the mean of all ranks.
func (f *Fleet) where(r *Rank) (most *Frame) {
	if r.paths == nil {
		return nil
	}
	far, found := math.Inf(-1), int32(0)
	for _, path := range f.sorted {
		if apart := math.Abs(r.paths[path] - f.mean(path)); apart > far {
			far, found = apart, path
		}
	}
	if math.IsInf(far, -1) {
		return nil
	}
	return &Frame{Path: f.paths.of(found), Value: r.paths[found], Mean: f.mean(found)}
}

// mean is that of all ranks.
func (f *Fleet) mean(path int32) float64 { return f.paths.frames[path].sum / float64(len(f.ranks)) }

// Write prints a report for people: the ranks that are farthest from the median, and the frames with the largest values.
func (r *Report) Write(w io.Writer, top, width int) error {
	base, unit, _ := strings.Cut(strings.TrimSuffix(r.Metric, ")"), " (")
	label, err := viewer.Labels(viewer.ShortName)
	if err != nil {
		return err
	}
	var lines []string
	say := func(format string, a ...any) { lines = append(lines, fmt.Sprintf(format, a...)) }
	say("%s of %s, %s: median of a rank %s", figures.Count(r.Profiles, "profile"), figures.Count(len(r.Ranks), "rank"), base, amount(r.Median, unit))
	say("")
	say("%5s  %12s  %7s  %7s  %s", "rank", base, "median", "score", "the call path that differs most")
	for _, one := range r.Ranks[:min(len(r.Ranks), top)] {
		change, where := "", ""
		if r.Median != 0 {
			change = figures.Change(one.Ratio - 1)
		}
		if one.Where != nil {
			where = fmt.Sprintf("%s here, mean %s: %s", amount(one.Where.Value, unit), amount(one.Where.Mean, unit), name(one.Where.Path, label))
		}
		say("%5s  %12s  %7s  %7s  %s", one.Rank, amount(one.Total, unit), change, figures.Places(one.Score, 1), where)
	}
	say("")
	say("%12s  %s", base, "call path")
	for _, frame := range r.Frames {
		say("%12s  %s", amount(frame.Value, unit), name(r.PathOf(frame), label))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, term.Fit(strings.TrimRight(line, " "), width)); err != nil {
			return err
		}
	}
	return nil
}

func amount(v float64, unit string) string {
	if unit == "ns" {
		return figures.Time(v)
	}
	return strings.TrimSpace(figures.Number(v) + " " + unit)
}

// name is a call path with the innermost frame first, which the width of the terminal cuts last. Of very deep ones it has the innermost frames.
func name(path []string, label func(string) string) string {
	const most = 100
	if len(path) == 0 {
		return "the whole program"
	}
	var inner []string
	for _, frame := range slices.Backward(path[max(len(path)-most, 0):]) {
		inner = append(inner, label(frame))
	}
	if left := len(path) - most; left > 0 {
		inner = append(inner, "… "+figures.Count(left, "frame"))
	}
	return strings.Join(inner, " < ")
}
