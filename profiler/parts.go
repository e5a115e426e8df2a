package profiler

import "os"

// parts are the files of phases that are no longer kept. Phases that follow each other are one entry: a session may have
// any number of them.
type parts []partRun

type partRun struct {
	first, last  int // phases
	stem, format string
}

func (p *parts) add(phase int, stem, format string) {
	if n := len(*p); n > 0 {
		if run := &(*p)[n-1]; run.last == phase-1 && run.stem == stem && run.format == format {
			run.last = phase
			return
		}
	}
	*p = append(*p, partRun{phase, phase, stem, format})
}

// each calls f with every phase and the path of its file.
func (p parts) each(f func(phase int, path string)) {
	for _, run := range p {
		for phase := run.first; phase <= run.last; phase++ {
			f(phase, partPath(run.stem, phase, run.format))
		}
	}
}

// path returns the file of a phase, "" if there is none.
func (p parts) path(phase int) string {
	for _, run := range p {
		if run.first <= phase && phase <= run.last {
			return partPath(run.stem, phase, run.format)
		}
	}
	return ""
}

// remove removes the files of some phases.
func (p *parts) remove(of func(phase int) bool) {
	var left parts
	for _, run := range *p {
		for phase := run.first; phase <= run.last; phase++ {
			if of(phase) {
				os.Remove(partPath(run.stem, phase, run.format))
			} else {
				left.add(phase, run.stem, run.format)
			}
		}
	}
	*p = left
}
