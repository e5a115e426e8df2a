package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/runinfo"
)

// budgetLines say what the profiler took from the program, in the process in which that was most, and what is not in the figure.
func budgetLines(of []runinfo.Budget) (lines []string) {
	if len(of) == 0 {
		return nil
	}
	most := slices.MaxFunc(of, func(a, b runinfo.Budget) int { return cmp.Compare(a.Achieved, b.Achieved) })
	if most.Nanos == 0 {
		return []string{"the budget was not measured: the program recorded for less than a quarter of a second"}
	}
	where := ""
	if len(of) > 1 {
		where = fmt.Sprintf(" in the process of %d in which it was most", len(of))
	}
	line := fmt.Sprintf("overhead: %s of the time of the program%s, of a budget of %s", percent(most.Achieved), where, percent(most.Share))
	if most.Timed > 0 {
		return append(windowLines(line, most), thinnedLines(most)...)
	}
	var parts []string
	for _, part := range []struct {
		what  string
		share float64
	}{{"callbacks", most.Callbacks}, {"hooks", most.Hooks}, {"Python call paths", most.Paths}, {"sampling", most.Sampling + most.Switching}} {
		if part.share > 0 {
			parts = append(parts, part.what+" "+percent(part.share))
		}
	}
	if parts != nil {
		line += " (" + strings.Join(parts, ", ") + ")"
	}
	missing := ""
	if most.Callbacks == 0 { // of AMD's libraries
		missing = "callbacks, which are not measured with this backend, "
	}
	line += fmt.Sprintf("; not in it: %sthe work of the GPU's library, and %s of another core", missing, percent(most.Drainer+most.Sampler))
	if most.SetupNanos > 0 {
		line += fmt.Sprintf(", and %s once for the sampler", figures.Time(most.SetupNanos))
	}
	lines = append(lines, line)
	if most.Achieved > most.Share {
		lines = append(lines, "the budget was exceeded"+why(most))
	}
	lines = append(lines, thinnedLines(most)...)
	if most.SampledShare > 0 && most.SampledShare < 1 {
		lines = append(lines, fmt.Sprintf("instructions were sampled for %s of the time", figures.Share(most.SampledShare)))
	}
	return lines
}

// thinnedLines say which launches have no Python call path.
func thinnedLines(b runinfo.Budget) []string {
	if b.PathsLeft == 0 {
		return nil
	}
	all := b.PathsLeft + b.PathsTaken
	return []string{fmt.Sprintf("%s of %s without a Python call path: their kernels stand below (path not taken)",
		figures.Share(float64(b.PathsLeft)/float64(all)), figures.Count(all, "launch"))}
}

// windowLines say it of a process in which kernels were timed in windows.
func windowLines(line string, b runinfo.Budget) []string {
	if b.Achieved > 0 {
		how := "as its pace with and without the GPU's library says"
		if !b.Compared {
			how = "as its launches say: it ran for too short a time to compare its pace"
		}
		line += fmt.Sprintf(" (± %s, %s)", percent(b.Error), how)
	}
	lines := []string{
		line + fmt.Sprintf("; not in it: %s of another core", percent(b.Drainer)),
		fmt.Sprintf("kernels were timed for %s of the time, in %s: times, counts and metrics are estimates", figures.Share(b.Timed), figures.Count(b.Windows, "window")),
	}
	if b.Achieved-2*b.Error > b.Share {
		lines = append(lines, "the budget was exceeded: most of it before it was known what windows cost")
	}
	return lines
}

const learning = 10e9 // ns

// why says what the reason is for a budget that was exceeded.
func why(b runinfo.Budget) string {
	switch {
	case b.Nanos < learning:
		return ": the program recorded for less than 10 s, in which it is learnt what things cost"
	case b.Callbacks+b.Hooks > b.Share:
		return ": the callbacks that time kernels, and hooks, take more alone and are not reduced"
	}
	return ", most of it before it was known what things cost"
}

func percent(share float64) string { return fmt.Sprintf("%.2f%%", 100*share) }
