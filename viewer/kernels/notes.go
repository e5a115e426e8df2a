package kernels

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// howTo is the command that records a profile with samples and its trace.
const howTo = "proton run --trace DIR --mode pcsampling PROGRAM"

// timelineAlone explains what a timeline lacks that was recorded without a trace.
const timelineAlone = "the timeline knows launches by the kernel's name only, not by their arguments; record both in one run: proton run --data timeline --trace DIR PROGRAM"

// notes adds a line for each thing that is missing, with the way to get it.
func (j *joiner) notes() {
	j.noteSamples()
	if !j.Traced() {
		return
	}
	j.Notes = append(j.Notes, TraceNotes(j.options.Trace, j.options.Profile)...)
	j.noteTimes()
	j.noteCaptured()
	j.noteUnlisted()
	j.noteWork()
}

func (j *joiner) noteUnlisted() {
	for _, k := range j.Kernels {
		for _, s := range k.Specialisations {
			if s.Unlisted > 0 {
				j.note("%s has %s of launches, as kernels have that take a seed; %s of them are distinguished", k.Name, figures.Count(len(s.Groups)+s.Unlisted, "kind"), figures.Grouped(len(s.Groups)))
			}
		}
	}
}

func (j *joiner) note(format string, values ...any) {
	j.Notes = append(j.Notes, fmt.Sprintf(format, values...))
}

func (j *joiner) noteSamples() {
	switch o := j.options; {
	case o.Profile == nil:
		j.note("no profile, so there are no times; record both in one run: %s", howTo)
	case j.untraced:
		j.note("no kernel of the trace has samples; proton viewer --source without --trace shows those that have some")
	case j.Samples == nil:
		j.note("the profile has no instruction samples, so lines have no times; record some: %s", howTo)
	}
}

// noteTimes explains why launches have no times, or times that differ from those without a profiler.
func (j *joiner) noteTimes() {
	p := j.options.Profile
	if p == nil {
		return
	}
	unattributed := false
	var unknown []*Kernel // kernels that the profile lacks
	for _, k := range j.Kernels {
		if k.Times.Count == 0 && k.Traced > 0 {
			unknown = append(unknown, k)
		}
		for _, s := range k.Specialisations {
			unattributed = unattributed || k.Times.Count > 0 && s.Times.Count == 0 && s.Traced > 0
			for _, g := range s.Groups {
				unattributed = unattributed || s.Times.Count > 0 && g.Times.Count == 0 && g.Traced > 0
			}
		}
	}
	switch {
	case j.knowsKinds():
	case p.Timeline != nil && (unattributed || unknown != nil):
		j.note(timelineAlone)
	case unattributed:
		j.note("the profile knows launches by the kernel's name only; one that is recorded with the trace distinguishes them: %s", howTo)
	case unknown != nil:
		j.note("the profile has no frame of %s: hooks gave its launches other names, or it is of another run; a profile that is recorded with the trace knows them: %s", FirstNames(unknown, 3, kernelName), howTo)
	}
	if p.Sampling != nil && (p.Sampling.Mode == "serialized" || p.Sampling.Mode == "mixed") {
		j.note("samples were collected in serialized mode: kernels ran one at a time, so times, rates and shares of the roof are those of kernels that have the GPU to themselves")
	}
}

func (j *joiner) noteCaptured() {
	for _, k := range j.Kernels {
		for _, s := range k.Specialisations {
			if slices.ContainsFunc(s.Groups, isCaptured) {
				j.note("launches that a CUDA graph replays are distinguished by specialisation and grid alone: their arguments are not known while a graph is captured")
				return
			}
		}
	}
}

// noteWork explains what rates are computed from, and what of that is not known.
func (j *joiner) noteWork() {
	estimated := false
	for _, k := range j.Kernels {
		var uncounted []string
		for _, s := range k.Specialisations {
			for _, g := range s.Groups {
				w := &g.Work
				if w.BytesPerSecond == 0 && w.FlopsPerSecond == 0 {
					continue
				}
				estimated = estimated || w.BytesPerSecond > 0 && w.BytesFrom != "profile" && w.BytesFrom != byCounters
				for _, n := range w.Notes {
					if !slices.Contains(uncounted, n) {
						uncounted = append(uncounted, n)
					}
				}
			}
		}
		if len(uncounted) > 0 {
			j.note("rates of %s are less sure: in its TTIR, %s", k.Name, figures.First(uncounted, 3))
		}
	}
	if estimated {
		j.note("GB/s and TFLOP/s are counted in the trace (bytes: what the code moves, or each tensor once, whichever is less; operations: those of tt.dot if there are any); a launch_metadata hook that reports bytes and flops counts instead")
	}
	if j.work.unknown != nil {
		j.note("no share of the roof: %v", j.work.unknown)
	}
}

// TraceNotes reports whether a trace is damaged, and whether it is of the same run as the profile; p is nil if there is none.
func TraceNotes(t *tritonparse.Trace, p *profile.Profile) (notes []string) {
	note := func(format string, values ...any) { notes = append(notes, fmt.Sprintf(format, values...)) }
	if _, n := t.Damages(); n > 0 {
		note("%s", figures.Plural(n, "damaged record of the trace was left out; proton trace validate names it", "damaged records of the trace were left out; proton trace validate names them"))
	}
	if p == nil || len(p.Launches) == 0 {
		return notes
	}
	missing, all := map[string]bool{}, map[string]bool{}
	for _, k := range p.Launches {
		if k.Hash != "" {
			all[k.Hash] = true
			missing[k.Hash] = t.Compilation(k.Hash) == nil
		}
	}
	maps.DeleteFunc(missing, func(_ string, is bool) bool { return !is })
	switch n := len(missing); {
	case n > 0 && n == len(all):
		note("the trace has none of the profile's specialisations: it is of another run; record both in one: %s", howTo)
	case n > 0:
		of := "of the profile's " + figures.Count(len(all), "specialisation")
		note("%s not in the trace: was it recorded in the same run?", figures.Plural(n, of+" is", of+" are"))
	case t.Records["launch"] == 0:
		note("the trace has no launches, so there are numbers instead of arguments; record with --trace DIR:launches=all")
	default:
		notes = append(notes, anotherProcess(t, p)...)
	}
	return notes
}

var pidInName = regexp.MustCompile(`_pid_(\d+)_`)

// anotherProcess reports a trace of the same kernels that none of the profile's processes wrote. The names of parsed traces, and
// of those of older tritonparse, have no process id.
func anotherProcess(t *tritonparse.Trace, p *profile.Profile) []string {
	var theirs []int
	for _, f := range t.Files {
		m := pidInName.FindStringSubmatch(filepath.Base(f))
		if m == nil {
			return nil
		}
		pid, _ := strconv.Atoi(m[1])
		theirs = append(theirs, pid)
	}
	for _, k := range p.Launches {
		if k.PID == 0 || slices.Contains(theirs, k.PID) {
			return nil
		}
	}
	return []string{fmt.Sprintf("the profile is of process %d, the trace of process %d: they are of different runs of the same kernels", p.Launches[0].PID, theirs[0])}
}
