package viewer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/lookup"
)

// errNotHere is the error where a caller only tries whether a metric can be computed, and does not print why not.
var errNotHere = errors.New("not in this profile")

// ErrUnknownMetric is wrapped by the error for a name that is neither a metric of the profile nor computed from its metrics.
var ErrUnknownMetric = errors.New("there is no metric")

// recordedWith says with which flag of proton run metrics are recorded that most profiles lack.
var recordedWith = map[string]string{
	"energy": "--energy", "power": "--energy", "gpu_active": "--pm 1ms", "tensor_active": "--pm 1ms", "dram_reading": "--pm 1ms", "dram_writing": "--pm 1ms",
	"measured": "--mode counters", "traffic_ratio": "--mode counters", "declared_util": "--mode counters", "idle": "--idle", "busy": "--idle",
}

// unknown is the error for an unknown name: it suggests similar names and lists the profile's metrics.
func (b *builder) unknown(name string) error {
	if b.trying {
		return errNotHere
	}
	base, unit, divided := strings.Cut(name, "/")
	_, has := b.find(base)
	if flag := recordedWith[strings.ToLower(base)]; flag != "" && !has {
		return fmt.Errorf("%w %s in this profile; run the program with %s", ErrUnknownMetric, base, flag)
	}
	if has && divided {
		return fmt.Errorf("%s: unknown unit %q of %s; write s, ms, us or ns for times, a prefix for amounts (flops16/gflop, bytes/mb), %% for metrics that add up", name, unit, base)
	}
	var recorded, computed, close []string
	vendors := 0
	for _, m := range b.metrics() {
		if counters.IsMetric(m.Name) {
			vendors++
		} else if m.Derived {
			computed = append(computed, m.Name)
		} else {
			recorded = append(recorded, m.Name)
		}
		if lookup.Similar(name, strings.ToLower(m.Name)) || divided && lookup.Similar(base, m.Name) {
			close = append(close, m.Name)
		}
	}
	if prefix, ok := strings.CutSuffix(name, "b/s"); ok && slices.Contains(computed, "byte/s") {
		close = append(close, prefix+"byte/s") // GB/s is what people write
	}
	if prefix, ok := strings.CutSuffix(name, "flops"); ok && len(prefix) == 1 && slices.Contains(computed, "flop/s") {
		close = []string{prefix + "flop/s"} // TFLOPS is what people write
	}
	if vendors > 0 && len(close) > 0 {
		return fmt.Errorf("%w %s in this profile; did you mean %s? (proton viewer --list shows all)", ErrUnknownMetric, name, lookup.Or(close))
	}
	meant := ":"
	if len(close) > 0 {
		meant = "; did you mean " + lookup.Or(close) + "?"
	}
	list := "recorded are " + strings.Join(recorded, ", ")
	if vendors > 0 {
		list += " and " + figures.Count(vendors, "hardware counter")
	}
	if len(computed) > 0 {
		list += "; computed are " + strings.Join(computed, ", ")
	}
	return fmt.Errorf("%w %s in this profile%s %s (proton viewer --list shows them all)", ErrUnknownMetric, name, meant, list)
}

// noAmount is the error for a rate of something that was not recorded.
func (b *builder) noAmount(name, label string) error {
	of := strings.TrimSuffix(label, "/s")
	var have []string
	for _, f := range b.flops() {
		have = append(have, figures.MetricName(f.metric.name))
	}
	switch {
	case of == "byte":
		return fmt.Errorf("%s: the profile has no bytes; give kernels a launch_metadata function that returns bytes, and profile with the triton hook", name)
	case len(have) > 0:
		return fmt.Errorf("%s: the profile has no flops%s, it has %s; flop/s takes all of them", name, strings.TrimPrefix(of, "flop"), strings.Join(have, ", "))
	}
	return fmt.Errorf("%s: the profile has no flops; give kernels a launch_metadata function that returns flops16 or the like, and profile with the triton hook", name)
}
