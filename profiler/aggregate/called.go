package aggregate

import (
	"slices"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profiler/callpath"
)

// Samples can fall in functions that are not kernels: those that the compiler did not inline. They are never launched, but
// the module says which of its kernels call them, so their samples belong to the launchers of those.

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

// launchersOf returns who launched a function, or the kernels that call it. Samples may be later than the end of their
// period, and launches earlier than its beginning: another thread goes on while a flush waits. Then those who launched it
// the last time did.
func (s *Sampling) launchersOf(f *function, by byName) []*launcher {
	if now := s.launching(f, by); len(now) > 0 {
		return now
	}
	return s.launchedBefore(f)
}

// launching returns who launched a function, or the kernels that call it, in this period.
func (s *Sampling) launching(f *function, by byName) []*launcher {
	if f.Module == 0 {
		return by.all[f.Name]
	}
	from := append(slices.Clip(f.launchers), by.unknown[f.Name]...)
	if len(from) > 0 {
		return from
	}
	for _, kernel := range s.kernelsThatCall(f) {
		from = append(from, kernel.launchers...)
	}
	for _, name := range s.callersOf(f) {
		from = append(from, by.unknown[name]...)
	}
	return from
}

// launchedBefore returns who did in the period before.
func (s *Sampling) launchedBefore(f *function) []*launcher {
	if len(f.before) > 0 {
		return f.before
	}
	var from []*launcher
	for _, kernel := range s.kernelsThatCall(f) {
		from = append(from, kernel.before...)
	}
	return from
}

func (s *Sampling) kernelsThatCall(f *function) (kernels []*function) {
	for _, name := range s.callersOf(f) {
		if number, known := s.numbers[code{f.Module, name}]; known {
			kernels = append(kernels, s.function(number))
		}
	}
	return kernels
}

// kernelOf is the kernel whose launch a sample names: the function itself, or the one that calls it; 0 if several do.
func (s *Sampling) kernelOf(number uint32, at *callpath.Attribution) uint32 {
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
