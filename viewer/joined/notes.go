package joined

import "fmt"

// howTo records everything that a join needs.
const howTo = "proton run --trace DIR -m pcsampling PROGRAM"

// notes says in a line each what is missing, and how to get it.
func (b *builder) notes() {
	note := func(format string, values ...any) { b.Notes = append(b.Notes, fmt.Sprintf(format, values...)) }
	switch o := b.options; {
	case o.Profile == nil:
		note("no profile, so there are no times; record both in one run: %s", howTo)
	case o.Samples == nil:
		note("the profile has no instruction samples, so lines have no times; record some: %s", howTo)
	}
	if b.options.Trace == nil {
		note("no trace, so launches have numbers instead of arguments; give the folder of the run's with --trace DIR")
		return
	}
	if _, n := b.options.Trace.Damages(); n > 0 {
		note("%d damaged records of the trace were left out; proton trace validate names them", n)
	}
	untold, foreign, estimated := false, 0, false
	for _, k := range b.Kernels {
		for _, s := range k.Specialisations {
			untold = untold || k.Times.Count > 0 && s.Times.Count == 0 && s.Traced > 0
			if s.Compilation == nil && s.Hash != "" {
				foreign++
			}
			for _, g := range s.Groups {
				untold = untold || s.Times.Count > 0 && g.Times.Count == 0 && g.Traced > 0
				estimated = estimated || g.Work.BytesPerSecond > 0 && g.Work.BytesFrom != "profile"
			}
		}
	}
	if untold && !b.told() {
		note("the profile knows launches by the kernel's name only; one that is recorded with the trace tells them apart: %s", howTo)
	}
	if foreign > 0 {
		note("%s of the profile not in the trace: was it recorded in the same run?", areOrIs(foreign, "specialisation"))
	}
	if estimated {
		note("GB/s and TFLOP/s are counted in the trace (bytes: what the code moves, or each tensor once, whichever is less; operations: those of tt.dot if there are any); a launch_metadata hook that tells bytes and flops counts instead")
	}
}

func areOrIs(n int, what string) string {
	if n == 1 {
		return count(n, what) + " is"
	}
	return count(n, what) + " are"
}
