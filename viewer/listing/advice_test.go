package listing

import (
	"testing"

	"github.com/goproton/goproton/viewer/kernels"
)

// TestAdviceOnFew: what is sampled too seldom gets no hint, and is counted rightly.
func TestAdviceOnFew(t *testing.T) {
	for samples, want := range map[uint64]string{
		0: "",
		1: "1 sample is too few to say where the time goes; run longer, or sample more often (interval=)",
		2: "2 samples are too few to say where the time goes; run longer, or sample more often (interval=)",
	} {
		k := &kernels.Function{}
		k.Samples = samples
		if got := (&view{}).advice(k); got != want {
			t.Errorf("of %d: %q, want %q", samples, got, want)
		}
	}
}
