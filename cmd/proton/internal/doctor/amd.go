package doctor

import (
	"fmt"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
)

// amd is what is examined for AMD's GPUs.
var amd = checks{
	Vendor:    vendors.AMD,
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
