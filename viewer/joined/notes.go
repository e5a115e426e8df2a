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
)

// howTo records everything that a join needs.
const howTo = "proton run --trace DIR -m pcsampling PROGRAM"

// timelineAlone is what a timeline cannot tell, also one that was recorded with the trace.
const timelineAlone = "a timeline knows launches by the kernel's name only, not by their arguments; record the run as a tree, with its trace: proton run --trace DIR PROGRAM"

// notes says in a line each what is missing, and how to get it.
func (b *builder) notes() {
	note := func(format string, values ...any) { b.Notes = append(b.Notes, fmt.Sprintf(format, values...)) }
	switch o := b.options; {
	case o.Profile == nil:
		note("no profile, so there are no times; record both in one run: %s", howTo)
	case b.untraced:
		note("no kernel of the trace has samples; proton viewer --source without --trace shows those that have some")
	case o.Samples == nil:
		note("the profile has no instruction samples, so lines have no times; record some: %s", howTo)
	}
	if b.options.Trace == nil {
		note("no trace, so launches have numbers instead of arguments; give the folder of the run's with --trace DIR")
		return
	}
	b.Notes = append(b.Notes, OfTrace(b.options.Trace, b.options.Profile)...)
	untold, estimated, captured := false, false, false
	for _, k := range b.Kernels {
		for _, s := range k.Specialisations {
			untold = untold || k.Times.Count > 0 && s.Times.Count == 0 && s.Traced > 0
			for _, g := range s.Groups {
				untold = untold || s.Times.Count > 0 && g.Times.Count == 0 && g.Traced > 0
				captured = captured || isCaptured(g)
				estimated = estimated || g.Work.BytesPerSecond > 0 && g.Work.BytesFrom != "profile"
			}
		}
	}
	switch p := b.options.Profile; {
	case !untold || b.told():
	case p.Timeline != nil:
		note(timelineAlone)
	default:
		note("the profile knows launches by the kernel's name only; one that is recorded with the trace tells them apart: %s", howTo)
	}
	if captured {
		note("launches that a CUDA graph replays are told apart by specialisation and grid alone: their arguments are not known while a graph is captured")
	}
	if estimated {
		note("GB/s and TFLOP/s are counted in the trace (bytes: what the code moves, or each tensor once, whichever is less; operations: those of tt.dot if there are any); a launch_metadata hook that tells bytes and flops counts instead")
	}
}

// OfTrace says what a trace lacks of a profile that it is shown beside, nil if there is none: whether it is damaged, and
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

// anotherProcess tells of a trace of the same kernels that none of the profile's processes wrote. Parsed traces and those
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
