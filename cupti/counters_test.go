package cupti

import "testing"

// TestCountersOfABusyProgram: threads launch, copy and capture while launches are measured. Each wanted kernel is measured as often at each of its
// two call paths as was asked for, alone on the GPU; the others are left out by name, under each sanitizer.
func TestCountersOfABusyProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for -short: it compiles C with sanitizers")
	}
	for _, sanitizers := range sanitized() {
		t.Run(sanitizers, func(t *testing.T) {
			program := buildWith(t, sanitizers, "counters.c", "counters_measure.c", "lines.c", "callback_counted.c", "sampling_gate.c", "code.c", "testdata/counters.c")
			if got, want := play(t, program), "measured 6 6 6 0 0, left out: nccl 2 often refused 5 often\nby line 6 6 6 0 0 6\nby line 6 6 6 0 0 6\n"; got != want {
				t.Errorf("got %swant %s", got, want)
			}
		})
	}
}
