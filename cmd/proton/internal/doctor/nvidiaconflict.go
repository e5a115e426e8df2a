package doctor

import (
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
)

// otherTools are marks that other users of CUPTI leave in the environment of what they start.
var otherTools = []struct{ variable, tool string }{
	{"NSYS_PROFILING_SESSION_ID", "Nsight Systems"},
	{"QUADD_INJECTION_PROXY", "Nsight Systems"},
	{"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"},
	{"NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "Nsight Compute"},
	{"KINETO_USE_DAEMON", "torch.profiler on demand (dynolog)"},
}

// preloads are libraries of such tools in LD_PRELOAD.
var preloads = []struct{ part, tool string }{
	{"ToolsInjectionProxy", "Nsight Systems"},
	{"libTreeLauncherTargetInjection", "Nsight Compute"},
	{"libTreeLauncherPlaceholder", "Nsight Compute"},
	{"libsanitizer-collection", "compute-sanitizer"},
	{"libscorep", "Score-P"},
	{"libhpcrun", "HPCToolkit"},
}

// examineConflicts looks for other users of CUPTI: before 13.3 only one can subscribe in a process.
func (r *Report) examineConflicts(m Machine) {
	var tools []string
	add := func(tool, where string) { tools = append(tools, tool+" ("+where+")") }
	for _, t := range otherTools {
		if v := m.Env(t.variable); v != "" && v != "0" {
			add(t.tool, t.variable)
		}
	}
	for _, p := range preloads {
		if strings.Contains(m.Env("LD_PRELOAD"), p.part) {
			add(p.tool, "LD_PRELOAD")
		}
	}
	if injected := m.Env(vendors.NVIDIA.Injection); injected != "" && filepath.Base(injected) != "libproton.so" {
		add(injected, vendors.NVIDIA.Injection)
	}
	if len(tools) == 0 {
		r.found("subscriber", OK, "no other profiler in the environment; a torch.profiler that is active in the program would still be one", "")
		return
	}
	r.found("subscriber", Warning, "CUPTI has one subscriber per process and this environment brings another: "+strings.Join(tools, ", "), "run outside that tool, and do not run torch.profiler at the same time")
}
