package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
)

// amd is what is examined for AMD's GPUs.
var amd = checks{
	Vendor:    vendors.AMD,
	shows:     Machine.hasKFD,
	container: kfdDevices,
	packages:  []string{"pytorch-triton-rocm", "rocm-sdk-core", "rocm"},
	driver:    []func(*Report, Machine){(*Report).examineKFD, (*Report).examineRenderNodes, (*Report).examineKFDGPUs, (*Report).examineVisible},
	collector: []func(*Report, Machine){(*Report).examineProviders, (*Report).examineOtherClients},
	text:      (*Report).writeProviders,
}

// ROCm is what was found for AMD's GPUs.
type ROCm struct {
	Driver    string     `json:"driver,omitempty"`  // version of the kernel module amdgpu
	Version   string     `json:"version,omitempty"` // of the installation in /opt/rocm
	Libraries []Provider `json:"libraries"`
}

// rocm returns the part of the report for AMD's GPUs, which machines without have not.
func (r *Report) rocm() *ROCm {
	if r.ROCm == nil {
		r.ROCm = &ROCm{Libraries: []Provider{}}
	}
	return r.ROCm
}

// writeProviders lists every library that was found.
func (r *Report) writeProviders(out *strings.Builder) {
	if r.ROCm == nil || len(r.ROCm.Libraries) == 0 {
		return
	}
	out.WriteString("\nlibraries of ROCm, in the order of the search:\n")
	for _, l := range r.ROCm.Libraries {
		mark, version := " ", ""
		if l.Chosen {
			mark = "*"
		}
		if l.Version != "" {
			version = " (" + l.Version + ")"
		}
		fmt.Fprintf(out, "%s %-18s %s%s\n", mark, l.Origin, l.Path, version)
	}
}

// rocmTools are variables by which other tools are loaded into programs, with what to do.
var rocmTools = []struct{ variable, says, fix string }{
	{"ROCP_TOOL_LIBRARIES", "loads another tool into programs; if its librocprofiler-sdk is another copy than ours, the program hangs, and if it cannot be loaded, the program aborts",
		"unset it, or run without that tool (rocprofv3 sets it)"},
	{"HSA_TOOLS_LIB", "has HSA load another tool (the old rocprof), whose queues GoProton does not see", "unset it"},
	{"ROCPROFILER_REGISTER_LIBRARY", "names the library that HIP hands its functions to, which may be another copy than ours", "unset it"},
}

// rocmPreloads are parts of names of such tools' libraries in LD_PRELOAD.
var rocmPreloads = []string{"librocprofiler-sdk-tool", "librocprof-sys", "libomnitrace", "librocprofiler64"}

// examineOtherClients looks for other users of ROCm's libraries, and for the switch that turns them off.
func (r *Report) examineOtherClients(m Machine) {
	clean := true
	for _, t := range rocmTools {
		if value := m.Env(t.variable); value != "" {
			r.found("other tools", Warning, t.variable+"="+value+" "+t.says, t.fix)
			clean = false
		}
	}
	if preloaded := m.Env("LD_PRELOAD"); slices.ContainsFunc(rocmPreloads, func(part string) bool { return strings.Contains(preloaded, part) }) {
		r.found("other tools", Warning, "LD_PRELOAD="+preloaded+" loads another tool of ROCm", "run outside that tool")
		clean = false
	}
	if m.Env("ROCPROFILER_REGISTER_ENABLED") == "0" {
		r.found("other tools", Problem, "ROCPROFILER_REGISTER_ENABLED=0 keeps HIP from handing its functions to librocprofiler-sdk: nothing is recorded", "unset it, or use --backend roctracer")
		clean = false
	}
	if clean {
		r.found("other tools", OK, "no other tool of ROCm in the environment; with roctracer, a torch.profiler that is active in the program would be one", "")
	}
}
