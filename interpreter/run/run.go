package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/interpreter/counts"
)

// Run has what was asked, and collects what launches did.
type Run struct {
	Settings
	checks check.Set
	mu     sync.Mutex
	found  found
	report Report
	byKind map[[3]string]*KernelReport // name, kind and path

	debugger *debugger
	writing  sync.Mutex
}

// Report is what a run did, in JSON.
type Report struct {
	PID       int                    `json:"pid,omitempty"`
	Finished  bool                   `json:"finished"`
	Asked     bool                   `json:"asked,omitempty"` // it is what was done when the command asked
	Launches  int                    `json:"launches"`
	Kernels   []*KernelReport        `json:"kernels"`
	Findings  []*interpreter.Finding `json:"findings"`
	LeftOut   int64                  `json:"findings_left_out,omitempty"` // beyond MaxFindings
	Warnings  []string               `json:"warnings,omitempty"`
	Unmatched []string               `json:"unmatched,omitempty"` // patterns that match the name of none of the kernels
	Others    []string               `json:"others,omitempty"`    // kernels that were launched and not chosen
	Nowhere   []string               `json:"nowhere,omitempty"`   // places to stop and to print that no launch had
	Outputs   map[string]Output      `json:"outputs,omitempty"`   // of a saved launch
}

// KernelReport sums the launches of a kernel.
type KernelReport struct {
	counts.Kernel
	Seconds float64 `json:"seconds"`
}

// found collects findings of launches: those of one kind in one line of a kernel are one.
type found struct {
	list check.List
	more int64 // that launches did not keep
}

func (f *found) add(to *Report, list []*interpreter.Finding, more int64) {
	f.list.Max = MaxFindings
	for _, one := range list {
		own := *one // of which the count changes
		f.list.Add(&own)
	}
	f.more += more
	kept, left := f.list.All()
	if to.LeftOut = left + f.more; len(kept) > 0 {
		to.Findings = kept
	}
}

// MaxFindings bounds how many findings a run keeps.
const MaxFindings = 1000

// Outcome is what one launch did.
type Outcome struct {
	Number   int // of the launch in the run, from 1
	Programs int64
	Of       int64 // program instances in the grid
	Seconds  float64
	Findings []*interpreter.Finding
	More     int64               // findings that were not kept
	Result   *interpreter.Result // nil of a launch that a finding ended
	Saved    string              // its folder
}

// New begins a run.
func New(s Settings) (*Run, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	d, err := s.newDebugger()
	if err != nil {
		return nil, err
	}
	checks, err := s.checked()
	if err != nil {
		return nil, err
	}
	return &Run{Settings: s, checks: checks, debugger: d, byKind: map[[3]string]*KernelReport{}, report: Report{Kernels: []*KernelReport{}, Findings: []*interpreter.Finding{}}}, nil
}

// OtherScopes stands for call paths that are too many.
const OtherScopes = "<other scopes>"

// Counts are the counts of the kernels of a report.
func (r *Report) Counts() (list []*counts.Kernel) {
	for _, k := range r.Kernels {
		list = append(list, &k.Kernel)
	}
	return list
}

// Launch runs a kernel. What the kernel did wrong is in the outcome's findings; an error is why it did not run, or not to its end. What the
// kernel prints is written to output; begun counts the program instances that have begun. Both may be nil.
func (r *Run) Launch(ctx context.Context, l *Launch, output io.Writer, begun *atomic.Int64) (*Outcome, error) {
	o, all, err := r.options(l)
	if err != nil {
		return nil, err
	}
	if begun == nil {
		begun = new(atomic.Int64)
	}
	if r.MaxSeconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.MaxSeconds*float64(time.Second)))
		defer cancel()
	}
	o.Context, o.Output, o.Begun, o.KeepGoing = ctx, output, begun, r.KeepGoing
	r.mu.Lock()
	r.report.Launches++
	out := &Outcome{Number: r.report.Launches, Of: all}
	r.mu.Unlock()
	if r.Save != "" {
		if out.Saved, err = r.save(l, out.Number); err != nil {
			return nil, err
		}
	}
	for _, b := range l.List {
		if !l.uses(b) {
			o.Others = append(o.Others, b.memory)
		}
	}
	began := time.Now()
	result, err := r.run(l, o, output)
	out.Seconds = time.Since(began).Seconds()
	var finding *interpreter.Finding
	switch {
	case errors.As(err, &finding):
		out.Findings, out.Programs, err = append(out.Findings, finding), begun.Load(), nil
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%s was stopped after --max-seconds %g, when %d of %d program instances had begun: raise the limit, or run some of them with --sample", l.Kernel.Name, r.MaxSeconds, begun.Load(), chosen(o, all))
	case err != nil:
		return nil, err
	default:
		out.Programs, out.Result, out.Findings, out.More = result.Programs, result, result.Findings, result.More
		if out.Saved != "" {
			err = l.saveAfter(out.Saved)
		}
	}
	r.add(l, out)
	return out, err
}

// options are the interpreter's, for one launch; all is how many program instances its grid has.
func (r *Run) options(l *Launch) (o interpreter.Options, all int64, err error) {
	all = int64(l.Grid[0]) * int64(l.Grid[1]) * int64(l.Grid[2])
	o = interpreter.Options{Seed: r.Seed, MaxSteps: r.MaxSteps, Checks: r.checks, Touched: r.Unique}
	switch r.Order {
	case "reverse":
		o.Order = interpreter.Reverse
	case "shuffle":
		o.Order = interpreter.Shuffled
	case "cooperative":
		o.Order = interpreter.Cooperative
	case "parallel":
		if o.Workers = r.Workers; o.Workers == 0 {
			o.Workers = runtime.GOMAXPROCS(0)
		}
	}
	switch {
	case r.Programs != nil:
		o.Programs = slices.DeleteFunc(slices.Clone(r.Programs), func(at [3]int32) bool {
			return at[0] >= l.Grid[0] || at[1] >= l.Grid[1] || at[2] >= l.Grid[2]
		})
		if len(o.Programs) == 0 {
			return o, all, fmt.Errorf("none of --programs is in the grid %v of %s", l.Grid, l.Kernel.Name)
		}
	case r.Sample > 0 && int64(r.Sample) < all:
		o.Programs = sample(r.Sample, all, l.Grid, r.Seed)
	}
	return o, all, nil
}

func chosen(o interpreter.Options, all int64) int64 {
	if o.Programs != nil {
		return int64(len(o.Programs))
	}
	return all
}

// sample chooses n of all program instances, in their order.
func sample(n int, all int64, grid [3]int32, seed uint64) [][3]int32 {
	random := rand.New(rand.NewPCG(seed, 2))
	have := make(map[int64]bool, n)
	numbers := make([]int64, 0, n)
	for at := all - int64(n); at < all; at++ { // Floyd: each of all is as likely, without a list of them
		k := random.Int64N(at + 1)
		if have[k] {
			k = at
		}
		have[k] = true
		numbers = append(numbers, k)
	}
	slices.Sort(numbers)
	list := make([][3]int32, n)
	x, y := int64(grid[0]), int64(grid[1])
	for i, k := range numbers {
		list[i] = [3]int32{int32(k % x), int32(k / x % y), int32(k / x / y)}
	}
	return list
}

// warn adds a warning to the report, once.
func (r *Run) warn(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Warnings = appendNew(r.report.Warnings, []string{text})
}

// add sums a launch into the report.
func (r *Run) add(l *Launch, out *Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.Of.Name = l.Kernel.Name
	k := r.kernel(&l.Of)
	k.Seconds += out.Seconds
	k.CTAs = max(k.CTAs, l.Kernel.CTAs)
	result := out.Result
	if result == nil {
		result = &interpreter.Result{Programs: out.Programs}
	}
	k.AddTimes(result, out.Of, max(l.Times, 1))
	if result.Warning != "" {
		r.report.Warnings = appendNew(r.report.Warnings, []string{l.Kernel.Name + ": " + result.Warning})
	}
	r.found.add(&r.report, out.Findings, out.More)
}

// maxPaths bounds for how many call paths counts are apart: a program may name a scope after each of its steps.
const maxPaths = 2048

// kernel is the sum for a kernel.
func (r *Run) kernel(of *counts.Kernel) *KernelReport {
	key := [3]string{of.Name, of.Kind, strings.Join(of.Path, "\x00")}
	k := r.byKind[key]
	if k == nil && len(of.Path) > 0 && len(r.byKind) >= maxPaths {
		other := *of
		other.Path = []string{OtherScopes}
		r.report.Warnings = appendNew(r.report.Warnings, []string{fmt.Sprintf("counts are apart for %d kernels in scopes; those of all others are below %s", maxPaths, OtherScopes)})
		if key[2] = OtherScopes; r.byKind[key] != nil {
			return r.byKind[key]
		}
		of = &other
	}
	if k == nil {
		k = &KernelReport{Kernel: of.Same()}
		r.byKind[key] = k
		r.report.Kernels = append(r.report.Kernels, k)
	}
	return k
}

// Report is what the run has done until now.
func (r *Run) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.report
	report.Findings = slices.Clone(report.Findings)
	report.Kernels = make([]*KernelReport, len(r.report.Kernels))
	for i, k := range r.report.Kernels {
		report.Kernels[i] = &KernelReport{Kernel: k.Same(), Seconds: k.Seconds}
		report.Kernels[i].Join(&k.Kernel)
	}
	return report
}
