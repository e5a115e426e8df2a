package runinfo

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseBudget reads a share of the program's time that the profiler may take, such as "1%" or "0.5 %". The empty text is 0, no limit.
func ParseBudget(text string) (share float64, err error) {
	if text == "" {
		return 0, nil
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !percent || !(share > 0 && share < 100) { // also for NaN
		return 0, fmt.Errorf("read the budget %q: give a share of the program's time above 0%% and below 100%%, such as 1%%", text)
	}
	return share / 100, nil
}

// Budget is what became of the budget of a process so far. Shares are of the time in which something was recorded, and 0.01 is a percent.
type Budget struct {
	Share    float64 `json:"share"`    // that was asked for
	Achieved float64 `json:"achieved"` // the sum of the next five, as measured in the process
	Nanos    int64   `json:"ns"`       // how long was measured

	Callbacks float64 `json:"callbacks"` // our code in callbacks of the vendor's library, on the program's threads
	Hooks     float64 `json:"hooks"`     // the same in hooks of Python and PyTorch
	Paths     float64 `json:"paths"`     // taking Python call paths
	Switching float64 `json:"switching"` // calls that begin and end sampling
	Sampling  float64 `json:"sampling"`  // how much slower the program was while instructions were sampled, by comparison
	Compared  bool    `json:"compared"`  // there was something to compare; else sampling and pace are not known

	SetupNanos int64   `json:"setup_ns"` // that the program waited for the sampler, once; not in achieved
	Drainer    float64 `json:"drainer"`  // CPU time of GoProton's threads that drain and write, on other cores; not in achieved
	Sampler    float64 `json:"sampler"`  // the same of the thread that reads samples

	Timing  bool    `json:"timing"`            // kernels are timed now
	Timed   float64 `json:"timed,omitempty"`   // the share of the time in which kernels were timed, where that was in windows; achieved is then by comparison, if there was one
	Pace    float64 `json:"pace,omitempty"`    // the share of its pace that the program lost in windows
	Error   float64 `json:"error,omitempty"`   // the standard error of achieved
	Windows int     `json:"windows,omitempty"` // how many there were

	PathsTaken   int64   `json:"paths_taken"`    // launches whose Python call path was taken
	PathsLeft    int64   `json:"paths_left_out"` // and those whose was not
	SampledShare float64 `json:"sampled"`        // of the time
	KernelsOn    int64   `json:"kernels_sampled"`
	KernelsOff   int64   `json:"kernels_not_sampled"`
	Summary      string  `json:"summary"` // a sentence
}
