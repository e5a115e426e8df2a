// Package vendors has the facts about the makers of GPUs that need none of their libraries: names of backends, files by which a
// driver is detected, options of modes. It has no cgo, so that the command can use it; profiler makes backends from it. What
// needs a vendor's library is in the vendor's room: cupti, roctracer.
//
// It also lists where the tracing libraries of ROCm may be, and finds the libcuptis of a machine and chooses one to profile with. Users have
// several: torch's wheels bring one, Triton bundles another, a CUDA toolkit has a third. In a process with two of them half of CUPTI's
// functions return nothing. The input is a description of the process (environment, memory map, Python's folders); the result are
// candidates in order of preference, and a choice with its reason.
package vendors

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/record"
)

// Vendor describes one maker.
type Vendor struct {
	Name       string    // "NVIDIA"
	Package    string    // of this repository, which binds its libraries and registers its backends: "cupti"
	API        string    // the interface that programs use: "CUDA"
	Backends   []Backend // one for each of its libraries, the preferred one first
	DeviceType string    // the type of its devices in profiles
	Driver     []string  // paths below the root; a machine with a driver has at least one of them
	Injection  string    // the environment variable with the library that the driver loads into programs; "" for none
	Library    string    // the driver's, in programs that use the GPU: "libcuda.so"
	Late       bool      // its libraries take a profiler in a program that uses the GPU already
	Preload    string    // without Injection: the library, of ours, to put into LD_PRELOAD for programs other than Python; "" for none

	Target     string // Triton's name of the backend that compiles for its GPUs
	ArchPrefix string // put before an architecture in texts: "sm_"
	Warp       int    // threads of a warp; 0 if that depends on the GPU

	Code   *gpu.Format // the format of its binaries; List replaces nil
	Stalls *Stalls     // the stall reasons of its GPUs; List replaces nil
}

// Backend is a way to collect on a vendor's GPUs, through one library.
type Backend struct {
	Names []string // in start(backend=…) and --backend; messages use the first
	Class string   // upstream's name of the collector, with which messages that scripts match begin
	// WholeGraphs says that it can time a launch of a graph as a whole.
	WholeGraphs bool
	// Modes has, by the name of a mode that only this backend has, the function that reads its options: the text after the colon in
	// "pcsampling:…". nil for no modes.
	Modes map[string]func(options string) (record.SamplingRequest, error)
}

// NVIDIA's backend is package cupti.
var NVIDIA = &Vendor{
	Name: "NVIDIA", Package: "cupti", API: "CUDA", DeviceType: "CUDA",
	Backends: []Backend{{Names: []string{"cupti"}, Class: "CuptiProfiler", WholeGraphs: true,
		Modes: map[string]func(string) (record.SamplingRequest, error){"pcsampling": parseCUPTISampling, "counters": parseCounters}}},
	Driver:    []string{"dev/nvidiactl", "dev/dxg", "proc/driver/nvidia/version"}, // dxg is the device under WSL
	Injection: "CUDA_INJECTION64_PATH", Library: "libcuda.so", Late: true,
	Target: "cuda", ArchPrefix: "sm_", Warp: WarpSize,
	Code:   &cubins,
	Stalls: &nvidiaStalls,
}

// All are the vendors that have a backend.
var All = List(NVIDIA, AMD)

// List returns the vendors. It sets Code and Stalls of those that lack them to empty ones, so that readers of profiles need not
// check for nil.
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

// Planned are upstream's other backends, with the reason why they are missing.
var Planned = map[string]string{
	"xpupti": "Intel GPUs are not supported yet; on an NVIDIA GPU use the cupti backend",
}

// ByBackend returns the vendor whose backend has that name, and the backend; nil if none does.
func ByBackend(name string) (*Vendor, *Backend) {
	for _, v := range All {
		for i := range v.Backends {
			if slices.Contains(v.Backends[i].Names, name) {
				return v, &v.Backends[i]
			}
		}
	}
	return nil, nil
}

// Has reports whether one of the vendor's backends has that name.
func (v *Vendor) Has(backend string) bool {
	found, _ := ByBackend(backend)
	return found == v
}

// Backends are the names of the vendors' backends.
func Backends() (names []string) {
	for _, v := range All {
		for _, b := range v.Backends {
			names = append(names, b.Names...)
		}
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

// APIs lists the vendors' interfaces for a message: "CUDA", or "CUDA or HIP".
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

// ParseMode reads the options of a mode for a backend, or for the first one that has the mode if the name is not a vendor's.
func ParseMode(backend, mode, options string) (record.SamplingRequest, error) {
	_, named := ByBackend(backend)
	for _, v := range All {
		for i := range v.Backends {
			b := &v.Backends[i]
			if parse := b.Modes[mode]; parse != nil && (named == b || named == nil) {
				return parse(options)
			}
		}
	}
	if mode == "counters" {
		return record.SamplingRequest{}, NoCounters(backend)
	}
	return record.SamplingRequest{}, fmt.Errorf("backend %q has no mode %q", backend, mode)
}

// ByDevice returns the vendor of a type of device in a profile, the first of All for an unknown type.
func ByDevice(deviceType string) *Vendor {
	return firstWith(func(v *Vendor) bool { return v.DeviceType == deviceType })
}

// ByTarget returns the vendor of a backend of Triton's compiler, the first of All for an unknown one.
func ByTarget(backend string) *Vendor {
	return firstWith(func(v *Vendor) bool { return v.Target == backend })
}

func firstWith(is func(*Vendor) bool) *Vendor {
	if i := slices.IndexFunc(All, is); i >= 0 {
		return All[i]
	}
	return All[0]
}

// ArchName is the name of an architecture in texts: "sm_90" for "90" of a device of type CUDA; "" for an unknown one.
func ArchName(deviceType, arch string) string {
	if v := ByDevice(deviceType); v.DeviceType == deviceType && arch != "" {
		return v.ArchPrefix + arch
	}
	return arch
}

// Present reports whether the machine whose files are below root has a driver of the vendor.
func (v *Vendor) Present(root string) bool {
	return slices.ContainsFunc(v.Driver, func(path string) bool {
		_, err := os.Stat(filepath.Join("/", root, path))
		return err == nil
	})
}
