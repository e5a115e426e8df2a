package profiler

import (
	"fmt"
	"os"
)

// parts are the files of phases that are no longer kept. Phases that follow each other are one entry: a session may have
// any number of them.
type parts []partRun

type partRun struct {
	first, last  int // phases
	stem, format string
	windows      bool // each phase is a recording window
}

// path is the file of a phase. Windows are counted from 1, as everywhere where people see them.
func (r partRun) path(phase int) string {
	if r.windows {
		return fmt.Sprintf("%s.window%d.%s", r.stem, phase+1, r.format)
	}
	return fmt.Sprintf("%s.part_%d.%s", r.stem, phase, r.format)
}

// add adds a phase, whose file is one of files.
func (p *parts) add(phase int, files partRun) {
	if n := len(*p); n > 0 {
		if run := &(*p)[n-1]; run.last == phase-1 && run.stem == files.stem && run.format == files.format {
			run.last = phase
			return
		}
	}
	files.first, files.last = phase, phase
	*p = append(*p, files)
}

// each calls f with every phase and the path of its file.
func (p parts) each(f func(phase int, path string)) {
	for _, run := range p {
		for phase := run.first; phase <= run.last; phase++ {
			f(phase, run.path(phase))
		}
	}
}

// path returns the file of a phase, "" if there is none.
func (p parts) path(phase int) string {
	for _, run := range p {
		if run.first <= phase && phase <= run.last {
			return run.path(phase)
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
				os.Remove(run.path(phase))
			} else {
				left.add(phase, run)
			}
		}
	}
	*p = left
}
