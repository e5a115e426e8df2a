package joined

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/source"
)

// howTo records everything that a join needs.
const howTo = "proton run --trace DIR -m pcsampling PROGRAM"

// timelineAlone is what a timeline cannot say that was recorded without its trace.
const timelineAlone = "the timeline knows launches by the kernel's name only, not by their arguments; record both in one run: proton run -d trace --trace DIR PROGRAM"

// notes says in a line each what is missing, and how to get it.
func (b *builder) notes() {
	b.noteSamples()
	if b.options.Trace == nil {
		b.note("no trace, so launches have numbers instead of arguments; give the folder of the run's with --trace DIR")
		return
	}
	b.Notes = append(b.Notes, OfTrace(b.options.Trace, b.options.Profile)...)
	b.noteTimes()
	b.noteCaptured()
	b.noteUnlisted()
	b.noteWork()
}

func (b *builder) noteUnlisted() {
	for _, k := range b.Kernels {
		for _, s := range k.Specialisations {
			if s.Unlisted > 0 {
				b.note("%s has %d kinds of launches, as kernels have that take a seed; %d of them are distinguished", k.Name, len(s.Groups)+s.Unlisted, len(s.Groups))
			}
		}
	}
}

func (b *builder) note(format string, values ...any) {
	b.Notes = append(b.Notes, fmt.Sprintf(format, values...))
}

func (b *builder) noteSamples() {
	switch o := b.options; {
	case o.Profile == nil:
		b.note("no profile, so there are no times; record both in one run: %s", howTo)
	case b.untraced:
		b.note("no kernel of the trace has samples; proton viewer --source without --trace shows those that have some")
	case o.Samples == nil:
		b.note("the profile has no instruction samples, so lines have no times; record some: %s", howTo)
	}
}

// noteTimes says why launches have no times, or others than they have without a profiler.
func (b *builder) noteTimes() {
	p := b.options.Profile
	if p == nil {
		return
	}
	unattributed := false
	var unknown []*Kernel // that the profile does not have at all
	for _, k := range b.Kernels {
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
	case b.told():
	case p.Timeline != nil && (unattributed || unknown != nil):
		b.note(timelineAlone)
	case unattributed:
		b.note("the profile knows launches by the kernel's name only; one that is recorded with the trace tells them apart: %s", howTo)
	case unknown != nil:
		b.note("the profile has no frame of %s: hooks gave its launches other names, or it is of another run; a profile that is recorded with the trace knows them: %s", source.FirstNames(unknown, 3, kernelName), howTo)
	}
	if p.Sampling != nil && (p.Sampling.Mode == "serialized" || p.Sampling.Mode == "mixed") {
		b.note("samples were collected in serialized mode: kernels ran one at a time, so times, rates and shares of the roof are those of kernels that have the GPU to themselves")
	}
}

func (b *builder) noteCaptured() {
	for _, k := range b.Kernels {
		for _, s := range k.Specialisations {
			if slices.ContainsFunc(s.Groups, isCaptured) {
				b.note("launches that a CUDA graph replays are distinguished by specialisation and grid alone: their arguments are not known while a graph is captured")
				return
			}
		}
	}
}

// noteWork says what rates are made of, and what of that is not known.
func (b *builder) noteWork() {
	estimated := false
	for _, k := range b.Kernels {
		var uncounted []string
		for _, s := range k.Specialisations {
			for _, g := range s.Groups {
				w := &g.Work
				if w.BytesPerSecond == 0 && w.FlopsPerSecond == 0 {
					continue
				}
				estimated = estimated || w.BytesPerSecond > 0 && w.BytesFrom != "profile"
				for _, n := range w.Notes {
					if !slices.Contains(uncounted, n) {
						uncounted = append(uncounted, n)
					}
				}
			}
		}
		if len(uncounted) > 0 {
			b.note("rates of %s are less sure: in its TTIR, %s", k.Name, source.FirstNames(uncounted, 3, func(n string) string { return n }))
		}
	}
	if estimated {
		b.note("GB/s and TFLOP/s are counted in the trace (bytes: what the code moves, or each tensor once, whichever is less; operations: those of tt.dot if there are any); a launch_metadata hook that tells bytes and flops counts instead")
	}
	if b.work.unknown != nil {
		b.note("no share of the roof: %v", b.work.unknown)
	}
}

func kernelName(k *Kernel) string { return k.Name }

// OfTrace says what a trace lacks of the profile that it is joined with, nil if there is none: whether it is damaged, and
// whether it is of the same run.
func OfTrace(t *tritonparse.Trace, p *profile.Profile) (notes []string) {
	note := func(format string, values ...any) { notes = append(notes, fmt.Sprintf(format, values...)) }
	switch _, n := t.Damages(); {
	case n == 1:
		note("1 damaged record of the trace was left out; proton trace validate names it")
	case n > 1:
		note("%d damaged records of the trace were left out; proton trace validate names them", n)
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
	case n == 1:
		note("1 of the profile's %s is not in the trace: was it recorded in the same run?", count(len(all), "specialisation"))
	case n > 1:
		note("%d of the profile's %s are not in the trace: was it recorded in the same run?", n, count(len(all), "specialisation"))
	case t.Records["launch"] == 0:
		note("the trace has no launches, so there are numbers instead of arguments; record with --trace-launches all")
	default:
		notes = append(notes, anotherProcess(t, p)...)
	}
	return notes
}

var pidInName = regexp.MustCompile(`_pid_(\d+)_`)

// anotherProcess reports a trace of the same kernels that none of the profile's processes wrote. Parsed traces and those
// of older tritonparse do not say in their names whose they are.
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
