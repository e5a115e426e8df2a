package launchtext

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// Tuning is what a stack says about the autotuner.
type Tuning struct {
	Session   string   // "" outside of the autotuner
	Benchmark bool     // a configuration is being timed
	User      []*Frame // the frames before the autotuner's
	Inductor  bool     // the autotuner is Inductor's, which tritonparse does not know
}

// autotuner is Triton's, inductorTuner torch.compile's.
const (
	autotuner     = "triton/runtime/autotuner.py"
	inductorTuner = "torch/_inductor/runtime/triton_heuristics.py"
)

// benchmarks are Inductor's functions that time configurations, some of which call the launcher through others.
var benchmarks = []string{"bench", "benchmark_all_configs", "autotune_to_one_config", "coordinate_descent_tuning", "_coordinate_descent_tuning"}

// TimesConfiguration says whether a function is one by which an autotuner times a configuration.
func TimesConfiguration(file, name string) bool {
	return name == "_bench" && strings.Contains(file, autotuner) || strings.Contains(file, inductorTuner) && slices.Contains(benchmarks, name)
}

// ReadTuning finds the autotuner in a stack.
func ReadTuning(stack []byte) Tuning {
	elements := jsontext.Elements(stack)
	frames := make([]*Frame, len(elements))
	for i, e := range elements {
		members, _ := jsontext.Members(e)
		frames[i] = readFrame(e, members)
	}
	return tuningOf(frames)
}

// tuningOf finds the autotuner in the frames of a stack. The frames before the autotuner's identify a session.
func tuningOf(frames []*Frame) Tuning {
	t := Tuning{Benchmark: slices.ContainsFunc(frames, func(f *Frame) bool { return f.benchmark })}
	first := slices.IndexFunc(frames, func(f *Frame) bool { return f.tunes })
	if first <= 0 {
		return t
	}
	t.Inductor, t.User = frames[first].inductor, frames[:first]
	var room [2048]byte
	site := room[:0]
	for i, f := range t.User {
		if i > 0 {
			site = append(site, '|')
		}
		site = append(site, f.place...)
	}
	sum := sha256.Sum256(site)
	t.Session = hex.EncodeToString(sum[:8])
	return t
}

// SeenBy is the tuning without Inductor's autotuner where the quirks leave it out.
func (t Tuning) SeenBy(q quirks.Set) Tuning {
	if q.Has(quirks.TritonsTunerOnly) && (t.Inductor || t.Session == "") {
		return Tuning{}
	}
	return t
}
