// Package explain says why a program is slow: the few facts that cost the most time, each with its evidence, what removing it
// saves at most, and the next command. It measures and analyses nothing: the rules (rules.go) are data over numbers that the
// roofline, samples, idle times, collectives and traces have (kernels.go, program.go).
package explain

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/collectives"
	"github.com/goproton/goproton/viewer/kernels"
)

// Schema names the layout of the document. Fields may be added. If one is renamed or removed, the number grows.
const Schema = "goproton.explain/1"

// Input is what is explained.
type Input struct {
	File    string // the profile, as it was named
	Profile *profile.Profile
	Ranks   []collectives.Rank // timelines of several ranks, the profile's first; nil of one

	TraceName string
	Trace     *tritonparse.Trace // nil without one

	Files   *kernels.Files   // source texts; nil shows none
	Modules *kernels.Modules // binaries; nil has only those of the trace
	Kernel  string           // only facts about kernels whose names match these patterns, see internal/lookup
	Peaks   []string         // as viewer.Options has them
}

// Document is the answer, and the layout of the JSON.
type Document struct {
	Schema   string                `json:"schema" jsonschema:"layout of this document: goproton.explain/1"`
	Profile  string                `json:"profile" jsonschema:"file that was read"`
	GPU      string                `json:"gpu,omitempty" jsonschema:"name of the GPU"`
	GPUTime  int64                 `json:"gpu_time_ns" jsonschema:"time of all kernels, copies and fills"`
	Wall     int64                 `json:"wall_ns,omitempty" jsonschema:"from the first work of a GPU to its last; of timelines, and of runs with --idle"`
	Findings []Finding             `json:"findings" jsonschema:"facts that cost time, the most that could be saved first"`
	LeftOut  int                   `json:"findings_left_out" jsonschema:"further findings, with less to save"`
	Quiet    float64               `json:"share_without_finding" jsonschema:"share of the GPU time that is in kernels without a finding"`
	Notes    []string              `json:"notes" jsonschema:"what is not known, and the command that records it"`
	Errors   []jsontext.Diagnostic `json:"errors,omitempty" jsonschema:"why there is no answer"`
}

// Finding is one fact.
type Finding struct {
	Rule       string     `json:"rule" jsonschema:"the rule that holds; docs/explain.md lists them"`
	Class      string     `json:"class" jsonschema:"launch, data movement, compute, occupancy, synchronisation, layout, spill, communication or host"`
	Kernel     string     `json:"kernel,omitempty" jsonschema:"kernel that it is about"`
	Path       string     `json:"call_path,omitempty" jsonschema:"call path that has most of it"`
	Line       *Line      `json:"line,omitempty" jsonschema:"source line that has most of it"`
	Says       string     `json:"says" jsonschema:"the cause, as a sentence"`
	Time       int64      `json:"time_ns" jsonschema:"time of what it is about"`
	Share      float64    `json:"share" jsonschema:"that time as a share of the GPU time, or of the wall time for idle GPUs and communication"`
	Saves      int64      `json:"saves_at_most_ns" jsonschema:"time that would be saved if the cause were gone entirely: an upper bound"`
	SavesFrom  string     `json:"saves_from" jsonschema:"what the bound was computed from: stalls, roofline, idle, and so on"`
	Confidence Confidence `json:"confidence" jsonschema:"high, medium or low"`
	Evidence   []Evidence `json:"evidence" jsonschema:"the measurements that the rule saw; units are in the names"`
	Try        string     `json:"try" jsonschema:"what usually helps"`
	Next       string     `json:"next" jsonschema:"command to run next"`
	whole      float64    // ns that the share is of
	Also       int        `json:"also_in_compilations,omitempty" jsonschema:"other compilations of the kernel for which the rule holds too; their times are included"`
}

// Line is a source line.
type Line struct {
	File   string  `json:"file" jsonschema:"as it was called where the program ran"`
	Number int     `json:"number" jsonschema:"of the line in the file"`
	Text   string  `json:"text,omitempty" jsonschema:"what stands there, if it is known"`
	Share  float64 `json:"share_of_samples" jsonschema:"share that the line has of the samples of the kernel that the rule counts"`
}

// Evidence is a measurement.
type Evidence struct {
	Metric string  `json:"metric" jsonschema:"its name, which ends in its unit; _share is a part of 1"`
	Value  float64 `json:"value" jsonschema:"in that unit"`
}

// Confidence says how sure a finding is.
type Confidence int

// Low is a hint, Medium an explanation with a gap, High was measured.
const (
	Low Confidence = iota
	Medium
	High
)

var confidences = [...]string{"low", "medium", "high"}

func (c Confidence) String() string { return confidences[c] }

// MarshalText has programs read the same word.
func (c Confidence) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the word.
func (c *Confidence) UnmarshalText(word []byte) error {
	at := slices.Index(confidences[:], string(word))
	if at < 0 {
		return fmt.Errorf("confidence %q: want low, medium or high", word)
	}
	*c = Confidence(at)
	return nil
}

// ErrNoTime is the error for a profile in which nothing took time.
var ErrNoTime = errors.New("the profile has no time of a GPU, so that nothing can be explained: check that the program launched GPU work while it was profiled")

// noTime says why a profile has none.
func noTime(p *profile.Profile) error {
	if why := counters.NoTimes(p); why != "" {
		return errors.New("nothing can be explained: " + why)
	}
	return ErrNoTime
}

// Findings below this share of the whole are left out: removing all of such a cause is hardly measurable.
const leastSaving = 0.02

// Of explains a profile.
func Of(in Input) (*Document, error) {
	if in.Modules == nil {
		in.Modules = &kernels.Modules{Env: func(string) (string, bool) { return "", false }}
	}
	label, err := viewer.Labels(viewer.ShortName)
	if err != nil {
		return nil, err
	}
	s := survey{Input: in, label: label, doc: &Document{Schema: Schema, Profile: in.File, Findings: []Finding{}, Notes: []string{}}}
	if err := s.program(); err != nil {
		return nil, err
	}
	s.ranks()
	if err := s.kernels(); err != nil {
		return nil, err
	}
	s.apply()
	return s.doc, nil
}

// survey collects what rules are applied to.
type survey struct {
	Input
	doc      *Document
	label    func(name string) string // shortens the names of frames
	subjects []*subject
	rows     []*row
	total    float64 // ns of the GPU
}

// subject is what a rule is about: a kernel, what a GPU waited for, or the whole program.
type subject struct {
	kind    string
	kernel  string // for people
	pattern string // regular expression that finds the kernel
	path    string
	time    float64 // ns
	of      float64 // ns that the time is a share of
	asked   bool    // for this kernel: its share of the whole does not matter
	numbers map[string]float64
	words   map[string]string
	line    func(reasons []string) *Line // where most samples with one of the reasons are; nil without samples
	lost    map[string]float64           // by stall reason, the share of samples in which it kept the scheduler from issuing
}

func newSubject(kind string, time, of float64) *subject {
	return &subject{kind: kind, time: time, of: of, numbers: map[string]float64{}, words: map[string]string{}}
}

// number is a measurement by its name; NaN if it is not known. A stall reason that no sample has is 0.
func (s *subject) number(name string) float64 {
	if v, known := s.numbers[name]; known {
		return v
	}
	if _, sampled := s.numbers["samples"]; sampled && isStall(name) {
		return 0
	}
	return math.NaN()
}

// apply applies all rules, and keeps what is worth it.
func (s *survey) apply() {
	var found []Finding
	explained := 0.0
	for _, on := range s.subjects {
		of := s.findings(on)
		found = append(found, of...)
		if on.kind == kernelKind && slices.ContainsFunc(of, func(f Finding) bool { return f.Confidence > Low }) {
			explained += on.time
		}
	}
	found = joined(found)
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Saves, a.Saves), cmp.Compare(b.Time, a.Time))
	})
	found = slices.DeleteFunc(found, func(f Finding) bool {
		small := float64(f.Saves) < leastSaving*f.whole
		s.doc.LeftOut += figures.OneIf[int](small)
		return small
	})
	s.doc.Findings = append(s.doc.Findings, found...)
	if s.total > 0 {
		s.doc.Quiet = rounded(1 - explained/s.total)
	}
}

// findings are what the rules say of a subject.
func (s *survey) findings(on *subject) (all []Finding) {
	taken, sure := map[string]bool{}, false
	for i := range rules {
		r := &rules[i]
		if r.Of != on.kind || r.Group != "" && taken[r.Group] || r.Fallback && (sure || len(all) > 0 && on.number("samples") > 0) || !r.holds(on) {
			continue
		}
		taken[r.Group] = true
		f := r.finding(s, on)
		sure = sure || f.Confidence > Low
		all = append(all, f)
	}
	return all
}

// joined makes one finding of those of several compilations of a kernel.
func joined(all []Finding) (list []Finding) {
	type key struct{ rule, kernel string }
	at := map[key]int{}
	for _, f := range all {
		k := key{f.Rule, f.Kernel}
		i, known := at[k]
		if !known || f.Kernel == "" {
			at[k] = len(list)
			list = append(list, f)
			continue
		}
		first := &list[i]
		time, saves, share, also := first.Time+f.Time, first.Saves+f.Saves, first.Share+f.Share, first.Also+1
		if f.Saves > first.Saves {
			*first = f
		}
		first.Time, first.Saves, first.Share, first.Also = time, saves, rounded(share), also
	}
	return list
}

// Cut keeps the first findings.
func (d *Document) Cut(most int) {
	if n := len(d.Findings); n > most {
		d.LeftOut += n - most
		d.Findings = d.Findings[:most]
	}
}

// rounded has three significant digits: further ones say nothing, and cost a reader.
func rounded(v float64) float64 {
	if v == 0 || !figures.Finite(v) {
		return 0
	}
	scale := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	if scale < 1 {
		return math.Round(v)
	}
	return math.Round(v*scale) / scale
}
