package explain

import (
	"cmp"
	"fmt"
	"path"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/kernels"
)

// Hints are sentences on where the time of sampled functions goes: of each what Of says of it that saves most. A function for which no rule holds has none.
func Hints(run *kernels.Run) map[*profile.SampledFunction]string {
	label, err := viewer.Labels(viewer.ShortName)
	s := survey{Input: Input{Profile: run.Profile(), Files: run.Files}, label: label, doc: &Document{}}
	if err != nil || run.Samples == nil {
		return nil
	}
	sums := map[*profile.SampledFunction]*kernelSum{}
	if s.readRows() == nil {
		for _, k := range s.sums(run) {
			if k.function != nil {
				sums[k.function.Symbol] = k
			}
		}
	}
	s.total = max(s.total, 1e9)
	hints := map[*profile.SampledFunction]string{}
	for _, f := range run.Samples.AllFunctions() {
		k := sums[f.Symbol]
		if k == nil { // without a time samples say where it went
			k = &kernelSum{name: f.Name, nanos: s.total, samples: map[string][2]float64{}}
			k.sampledIn(f, run.Samples.Reasons)
		}
		on := s.kernel(k, run)
		on.asked = true
		var most *Finding
		for _, f := range s.findings(on) {
			if most == nil || cmp.Compare(f.Saves, most.Saves) > 0 {
				most = &f
			}
		}
		if most != nil && most.Saves > 0 {
			hints[f.Symbol] = most.hint()
		}
	}
	return hints
}

// hint is a finding in a sentence.
func (f *Finding) hint() string {
	at := ""
	if f.Line != nil {
		at = fmt.Sprintf(", most at %s:%d", path.Base(f.Line.File), f.Line.Number)
	}
	return fmt.Sprintf("%s (%s%s); often: %s", f.Says, f.evidenceText(), at, f.Try)
}
