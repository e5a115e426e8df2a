package aggregate

import (
	"slices"

	"github.com/goproton/goproton/profiler/record"
)

// Of code that was loaded before it was listened to, the vendor library may know no more than a short checksum, and
// specialisations of a kernel that differ in a constant can have the same: on an H200 a kernel with 1.0 in it and one with
// 4.0 did. A sample then is of one of several functions, and those that were launched share it.

// candidate is a function that samples may be of, and who launched it, one for each place.
type candidate struct {
	function uint32
	from     []*launcher
}

// candidates returns the functions that the samples of one may be of and that were launched: usually itself.
func (s *Sampling) candidates(f *function, by byName) []candidate {
	if len(f.alike) == 0 {
		if from := s.launchersOf(f, by); len(from) > 0 {
			return []candidate{{s.Number(f.Function), merged(from)}}
		}
		return nil
	}
	among := s.amongAlike(f, func(g *function) []*launcher { return s.launching(g, byName{}) })
	if unknown := by.unknown[f.Name]; len(unknown) > 0 {
		among = append(among, candidate{s.Number(f.Function), merged(unknown)})
	}
	if len(among) == 0 {
		among = s.amongAlike(f, s.launchedBefore)
	}
	return among
}

func (s *Sampling) amongAlike(f *function, launchers func(*function) []*launcher) (among []candidate) {
	for _, module := range f.alike {
		number := s.Number(record.Function{Module: module, Name: f.Name, Index: f.Index})
		if from := launchers(s.function(number)); len(from) > 0 {
			among = append(among, candidate{number, merged(from)})
		}
	}
	return among
}

// numberAlike returns the number that samples of one of several modules are kept by.
func (s *Sampling) numberAlike(r *record.Sample) uint32 {
	n := s.number(code{r.Module, r.Function, true}, record.Function{Module: r.Module, Index: r.Index, Name: r.Function})
	if f := s.function(n); !slices.Equal(f.alike, r.Alike) {
		f.alike = slices.Clone(r.Alike)
	}
	return n
}

// toldBy returns the function of a sample whose launch is known: the launch says which of several modules it is of.
func (s *Sampling) toldBy(l *launcher, r *record.Sample, number uint32) uint32 {
	if len(r.Alike) == 0 || l.function == 0 {
		return number
	}
	if module := s.function(l.function).Module; slices.Contains(r.Alike, module) {
		return s.Number(record.Function{Module: module, Index: r.Index, Name: r.Function})
	}
	return number
}

// sums joins the launchers of each candidate.
func sums(among []candidate) (of []*launcher) {
	for _, c := range among {
		sum := &launcher{}
		for _, l := range c.from {
			sum.join(l)
		}
		of = append(of, sum)
	}
	return of
}
