package aggregate

import (
	"github.com/goproton/goproton/profiler/callpath"
	"github.com/goproton/goproton/profiler/record"
)

// Samples can fall in functions that are no kernels: those that the compiler did not inline. Nobody launches them, but
// the module says which of its kernels call them, so their samples belong to whoever launched those.

// callersOf returns the kernels of its module that call a function; nil for a kernel, and if that is not known.
func (s *Sampling) callersOf(f *function) []string {
	if f.Module == 0 || f.launched || s.Callers == nil {
		return nil
	}
	all, known := s.callers[f.Module]
	if !known {
		if all, known = s.Callers(f.Module); known {
			s.callers[f.Module] = all
		}
	}
	return all[f.Name]
}

// isCalled says whether a function is one that kernels call.
func (s *Sampling) isCalled(number uint32) bool { return len(s.callersOf(s.function(number))) > 0 }

// launchersOf returns who launched a function, or the kernels that call it.
func (s *Sampling) launchersOf(f *function, by byName) []*launcher {
	if from := f.from(by); len(from) > 0 {
		return from
	}
	var now, before []*launcher
	for _, name := range s.callersOf(f) {
		now = append(now, by.unknown[name]...)
		if number, known := s.numbers[code{f.Module, name}]; known {
			kernel := s.function(number)
			now, before = append(now, kernel.launchers...), append(before, kernel.before...)
		}
	}
	if len(now) > 0 {
		return now
	}
	return before
}

// kernelOf is the kernel whose launch a sample names: the function itself, or the one that calls it; 0 if several do.
func (s *Sampling) kernelOf(number uint32, at *callpath.Answer) uint32 {
	if at.Function != 0 {
		return at.Function
	}
	f := s.function(number)
	switch callers := s.callersOf(f); len(callers) {
	case 0:
		return number
	case 1:
		return s.Number(record.Function{Module: f.Module, Name: callers[0]})
	}
	return 0
}
