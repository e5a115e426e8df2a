// Package kernels collects the facts about kernels in a profile and in the TritonParse trace of the same run: how long each
// specialisation took for which arguments and what it reached of the GPU's roof, on which lines and instructions the samples
// are, and what the compiler made of each line.
//
// Collect returns data and prints nothing. Package viewer/listing prints it as text, as JSON and as rows of a page;
// viewer/report puts it on a page. If an input is missing, only the facts that it alone has are missing, and a note names them. The passes:
//
//  1. samples  the samples of each function are added up over the call paths that pass the filters (samples.go); profiles
//     such as Triton's, which have frames for lines instead of instruction samples, are converted first (fromtree.go)
//  2. lines    samples of instructions are added to lines, through the chain of inlined calls (lines.go)
//  3. kinds    launches of the trace by specialisation and arguments (trace.go)
//  4. times    the launches that the profile measured, by the same keys (times.go)
//  5. code     which function of the profile is which compilation (code.go); when they are requested, its lines in each
//     representation (ir.go) and what its instructions were compiled from (instructions.go)
//  6. lines    once more, for functions whose binary has wrong lines, as the trace shows (code.go)
//  7. work     bytes and operations of each kind of launch, and the device's peaks (work.go)
//
// Kernels of one run have exact keys: launches their kind, functions the hash of their binary. CompareSamples pairs two runs by
// line of the source, CompareLaunches by arguments. Split gives the tree of a profile a frame for each kind of launch.
package kernels

import (
	"errors"
	"fmt"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// Options say what is collected. A profile, a trace or both are needed.
type Options struct {
	Profile *profile.Profile
	Trace   *tritonparse.Trace
	Files   *Files   // source texts; the trace's are added to them. nil shows none
	Modules *Modules // binaries; those of the trace are added to them. nil has only those of the trace

	Kernel  string // patterns of internal/lookup for the name; "" is the one kernel with most samples, or with most time
	Include string // only call paths through a frame that matches
	Exclude string // no call path through a frame that matches
	ByPath  bool   // functions that were launched from several call paths are listed once for each

	Measured bool // kernels of the trace that the profile does not name are not described: how they were launched, and their work

	namesOnly bool // only the names of kernels, specialisations and kinds of launches are needed
}

// Run is what is known of the kernels of one run.
type Run struct {
	Samples *Samples  // nil if there are none
	Kernels []*Kernel // the requested ones, most time first; nil without a trace
	Others  []*Kernel
	Nanos   uint64   // GPU time of the call paths that pass the filters; only collected with a trace
	Notes   []string // what is missing, and how to get it
	Files   *Files
	Modules *Modules

	options Options
	code    *code
}

// TraceError says that a trace cannot be joined with the profile.
type TraceError struct {
	Source string // the trace, as it was named
	Err    error
}

func (e *TraceError) Error() string { return fmt.Sprintf("join %s: %v", e.Source, e.Err) }
func (e *TraceError) Unwrap() error { return e.Err }

// Collect gathers what the profile and the trace have. Without a trace the profile must have samples; otherwise the error
// is ErrNoSamples, or a NoMatchError.
func Collect(o Options) (*Run, error) {
	if o.Files == nil {
		o.Files = NoFiles()
	}
	r := &Run{options: o, Files: o.Files, Modules: o.Modules}
	err := ErrNoSamples
	if o.Profile != nil {
		r.Samples, err = collectSamples(o)
	}
	if o.Trace == nil {
		return r, err
	}
	var unmatched *NoMatchError // the times and the IR of such a kernel are still shown
	if err != nil && !errors.Is(err, ErrNoSamples) && !errors.As(err, &unmatched) {
		return nil, err
	}
	if err := r.join(); err != nil {
		return nil, &TraceError{o.Trace.Source, err}
	}
	if unmatched != nil {
		r.Notes = append(r.Notes, unmatched.Error())
	}
	return r, nil
}

// Traced reports whether the run has a trace.
func (r *Run) Traced() bool { return r.options.Trace != nil }

// Profile is the profile of the run.
func (r *Run) Profile() *profile.Profile { return r.options.Profile }

// Filtered reports whether filters leave out call paths.
func (r *Run) Filtered() bool { return r.options.Include != "" || r.options.Exclude != "" }
