// Package vendor describes the makers of GPUs as far as that goes without their libraries: what their collectors are
// called, where a driver shows, which options their modes take. The command uses it without cgo; profiler's backends
// are made from it. What needs a library is in the vendor's room (cupti).
package vendor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/cudaoccupancy"
	"github.com/goproton/goproton/internal/gpucode"
	"github.com/goproton/goproton/profiler/record"
)

// Vendor is what is known of one maker.
type Vendor struct {
	Name       string   // "NVIDIA"
	API        string   // what programs use: "CUDA"
	Backends   []string // names of its collector in start(backend=…) and --backend; messages use the first
	Class      string   // upstream's name of that collector, which begins messages that scripts match
	DeviceType string   // what profiles call its GPUs
	Driver     []string // paths below the root; where a driver is, one of them is there
	Injection  string   // the environment variable that has the driver load a library into programs that use it; "" without one

	Target     string // Triton's name of the backend that compiles for its GPUs
	ArchPrefix string // in front of an architecture where people read it: "sm_"
	Warp       int    // threads of a warp; 0 if that depends on the GPU

	// WholeGraphs says that the collector can time a launch of a graph as one unit.
	WholeGraphs bool
	// Modes read the options of the collector's own modes, by name: what comes after the colon in "pcsampling:…". nil if it
	// has none.
	Modes map[string]func(options string) (record.SamplingRequest, error)

	Code   *gpucode.Format // of its binaries; List replaces nil
	Stalls *Stalls         // what its GPUs report of sampled warps; List replaces nil
}

// NVIDIA is collected on by package cupti.
var NVIDIA = &Vendor{
	Name: "NVIDIA", API: "CUDA", Backends: []string{"cupti"}, Class: "CuptiProfiler", DeviceType: "CUDA",
	Driver:    []string{"dev/nvidiactl", "dev/dxg", "proc/driver/nvidia/version"}, // dxg is the device under WSL
	Injection: "CUDA_INJECTION64_PATH",
	Target:    "cuda", ArchPrefix: "sm_", Warp: cudaoccupancy.WarpSize,
	WholeGraphs: true,
	Modes:       map[string]func(string) (record.SamplingRequest, error){"pcsampling": parseCUPTISampling},
	Code:        &cubins,
	Stalls:      &nvidiaStalls,
}

// All are the vendors that can be collected on.
var All = List(NVIDIA)

// List returns vendors after it has given those that lack Code or Stalls ones that know nothing, so that no reader of a
// profile has to ask whether they are there.
func List(vendors ...*Vendor) []*Vendor {
	for _, v := range vendors {
		if v.Code == nil {
			v.Code = unreadable(v.Name)
		}
		if v.Stalls == nil {
			v.Stalls = &Stalls{}
		}
	}
	return vendors
}

// Planned are upstream's other backends, with the reason why they are not there.
var Planned = map[string]string{
	"instrumentation": "instrumentation inside kernels is not supported yet; use the cupti backend for kernel times",
	"rocprofiler":     "AMD GPUs are not supported yet",
	"roctracer":       "AMD GPUs are not supported yet",
	"xpupti":          "Intel GPUs are not supported yet",
}

// ByBackend returns the vendor that has a backend of that name, nil if there is none.
func ByBackend(name string) *Vendor {
	for _, v := range All {
		if slices.Contains(v.Backends, name) {
			return v
		}
	}
	return nil
}

// Backends are the names of the vendors' backends.
func Backends() (names []string) {
	for _, v := range All {
		names = append(names, v.Backends...)
	}
	return names
}

// Injections are the environment variables that have drivers load a library.
func Injections() (names []string) {
	for _, v := range All {
		if v.Injection != "" {
			names = append(names, v.Injection)
		}
	}
	return names
}

// APIs names what programs use to reach a GPU: "CUDA", with more vendors "CUDA or HIP".
func APIs() string {
	var names []string
	for _, v := range All {
		names = append(names, v.API)
	}
	return strings.Join(names, " or ")
}

// NoDriver says which drivers a machine does not have: "no NVIDIA driver (no /dev/nvidiactl)"; "" if it has one.
func NoDriver(root string) string {
	var missing []string
	for _, v := range All {
		if v.Present(root) {
			return ""
		}
		missing = append(missing, fmt.Sprintf("no %s driver (no /%s)", v.Name, v.Driver[0]))
	}
	return strings.Join(missing, " and ")
}

// CheckMode checks the options of a mode for the vendor of a backend, or, where the backend is none of theirs, for the first vendor
// that has the mode.
func CheckMode(backend, mode, options string) error {
	for _, v := range All {
		if parse := v.Modes[mode]; parse != nil && (ByBackend(backend) == v || ByBackend(backend) == nil) {
			_, err := parse(options)
			return err
		}
	}
	return fmt.Errorf("backend %q has no mode %q", backend, mode)
}

// ByDevice returns the vendor of a type of device that a profile has, and of an unknown one the first of All.
func ByDevice(deviceType string) *Vendor {
	return firstWith(func(v *Vendor) bool { return v.DeviceType == deviceType })
}

// ByTarget returns the vendor of a backend of Triton's compiler, and of an unknown one the first of All.
func ByTarget(backend string) *Vendor {
	return firstWith(func(v *Vendor) bool { return v.Target == backend })
}

func firstWith(is func(*Vendor) bool) *Vendor {
	if i := slices.IndexFunc(All, is); i >= 0 {
		return All[i]
	}
	return All[0]
}

// ArchName is an architecture as people read it: "sm_90" for "90" of a device of type CUDA.
func ArchName(deviceType, arch string) string {
	if v := ByDevice(deviceType); v.DeviceType == deviceType {
		return v.ArchPrefix + arch
	}
	return arch
}

// Present reports whether a machine, whose files are below root, has a driver of the vendor that could run a kernel.
func (v *Vendor) Present(root string) bool {
	for _, path := range v.Driver {
		if _, err := os.Stat(filepath.Join("/", root, path)); err == nil {
			return true
		}
	}
	return false
}
