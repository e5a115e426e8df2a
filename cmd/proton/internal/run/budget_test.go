package run

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/runinfo"
)

func TestBudgetLines(t *testing.T) {
	small := runinfo.Budget{Share: 0.01, Achieved: 0.002, Nanos: 1e9, Callbacks: 0.002}
	most := runinfo.Budget{Share: 0.01, Achieved: 0.004, Nanos: 1e9, Hooks: 0.001, Paths: 0.003, Drainer: 0.015}
	if got := budgetLines(nil); got != nil {
		t.Errorf("without a budget: %q", got)
	}
	got := strings.Join(budgetLines([]runinfo.Budget{small, most, small}), "\n")
	want := "overhead: 0.40% of the time of the program in the process of 3 in which it was most, of a budget of 1.00% (hooks 0.10%, Python call paths 0.30%); " +
		"not in it: callbacks, which are not measured with this backend, the work of the GPU's library, and 1.50% of another core"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := budgetLines([]runinfo.Budget{small}); len(got) != 1 || strings.Contains(got[0], "process") || strings.Contains(got[0], "backend") {
		t.Errorf("one process: %q", got)
	}
	windows := runinfo.Budget{Share: 0.01, Achieved: 0.0095, Error: 0.001, Nanos: 1e9, Timed: 0.069, Windows: 21, Compared: true, Drainer: 0.005, Callbacks: 0.0004}
	want = "overhead: 0.95% of the time of the program, of a budget of 1.00% (± 0.10%, as its pace with and without the GPU's library says); not in it: 0.50% of another core\n" +
		"kernels were timed for 6.9% of the time, in 21 windows: times, counts and metrics are estimates"
	if got := strings.Join(budgetLines([]runinfo.Budget{windows}), "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	short := windows
	short.Compared, short.PathsLeft, short.PathsTaken = false, 3, 1
	want = strings.Replace(want, "as its pace with and without the GPU's library says", "as its launches say: it ran for too short a time to compare its pace", 1) +
		"\n75.0% of 4 launches without a Python call path: their kernels stand below (path not taken)"
	if got := strings.Join(budgetLines([]runinfo.Budget{short}), "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	windows.Achieved = 0.013
	if got := budgetLines([]runinfo.Budget{windows}); len(got) != 3 || !strings.Contains(got[2], "exceeded") {
		t.Errorf("beyond the budget: %q", got)
	}
}
