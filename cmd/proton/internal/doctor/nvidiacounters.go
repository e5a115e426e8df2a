package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// firstCounting is the API version of the first libcupti that measures launches inside a process, that of CUDA 12.6.
const firstCounting = 24

// examineCounters says whether the chosen libcupti can measure hardware counters, and who else may use them. The permission is that of sampling.
func (r *Report) examineCounters(m Machine) {
	at := slices.IndexFunc(r.CUPTI, func(l Library) bool { return l.Chosen })
	if at < 0 || r.Driver.Version == "" {
		return // said already
	}
	l := r.CUPTI[at]
	_, hostless := os.Stat(filepath.Join(filepath.Dir(l.Path), "libnvperf_host.so"))
	switch others := countersUsers(m); {
	case l.API != 0 && l.API < firstCounting:
		r.found("counters", Warning, fmt.Sprintf("%s (API %d) does not measure hardware counters: CUDA 12.6 (API %d) and newer do", l.Path, l.API, firstCounting),
			"set PROTON_CUPTI_PATH to a newer libcupti, such as that of pip install nvidia-cuda-cupti-cu12")
	case hostless != nil:
		r.found("counters", Warning, "hardware counters need libnvperf_host.so next to "+l.Path,
			"set PROTON_CUPTI_PATH to a libcupti that has it, such as that of pip install nvidia-cuda-cupti-cu12")
	case len(others) > 0:
		r.found("counters", Note, fmt.Sprintf("%s runs here and may use the hardware counters, which serve one at a time", strings.Join(others, " and ")),
			"if --mode counters is refused: dcgmi profile --pause, and --resume afterwards")
	case r.permitted("sampling"):
		r.found("counters", OK, "proton run --mode counters can measure them", "")
	}
}

// permitted reports whether a finding of that name is good.
func (r *Report) permitted(name string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Name == name && f.State == OK })
}

// countersUsers names running programs that are known to read the counters of GPUs.
func countersUsers(m Machine) (names []string) {
	files, _ := filepath.Glob(m.path("proc/[0-9]*/comm")) //nolint:errcheck // the pattern is right
	for _, file := range files {
		text, err := m.read(strings.TrimPrefix(file, m.path("")))
		if name := strings.TrimSpace(text); err == nil && (name == "nv-hostengine" || name == "dcgm-exporter") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
