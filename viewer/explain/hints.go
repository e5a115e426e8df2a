package explain

import (
	"fmt"
	"path"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/kernels"
)

// Hints returns a function for sentences on where the time of sampled functions goes: of each what Of says of it that saves most; "" if no rule holds.
func Hints(run *kernels.Run) func(*kernels.Function) string {
	label, err := viewer.Labels(viewer.ShortName)
	if err != nil {
		return func(*kernels.Function) string { return "" }
	}
	s := survey{Input: Input{Profile: run.Profile(), Files: run.Files}, label: label, doc: &Document{}}
	sums := map[*profile.SampledFunction]*kernelSum{}
	if s.readRows() == nil {
		for _, k := range s.sums(run) {
			if k.function != nil {
				sums[k.function.Symbol] = k
			}
		}
	}
	s.total = max(s.total, 1e9)
	return func(f *kernels.Function) string {
		k := sums[f.Symbol]
		if k == nil { // without a time samples say where it went
			k = &kernelSum{name: f.Name, nanos: s.total, samples: map[string][2]float64{}}
			k.sampledIn(f, run.Samples.Reasons)
		}
		on := s.kernel(k, run)
		on.asked = true
		most := Finding{}
		for _, f := range s.findings(on) {
			if f.Saves > most.Saves {
				most = f
			}
		}
		if most.Saves == 0 {
			return ""
		}
		return most.hint()
	}
}

// hint is a finding in a sentence.
func (f *Finding) hint() string {
	at := ""
	if f.Line != nil {
		at = fmt.Sprintf(", most at %s:%d", path.Base(f.Line.File), f.Line.Number)
	}
	return fmt.Sprintf("%s (%s%s); often: %s", f.Says, f.evidenceText(), at, f.Try)
}
