// Package rocmpath lists where the tracing libraries of ROCm may be. Package roctracer opens one, and `proton doctor` prints all.
package rocmpath

import (
	"path/filepath"
	"runtime"

	"github.com/goproton/goproton/internal/settings"
)

// Library is one of them: the variable that names its folder, and its file names, best first.
type Library struct {
	Setting *settings.Setting
	Names   []string
}

// The libraries.
var (
	SDK       = Library{settings.TritonROCSDK, []string{"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0", "librocprofiler-sdk.so"}}
	ROCtracer = Library{settings.TritonROCtracer, []string{"libroctracer64.so.4", "libroctracer64.so"}}
)

// Place is a folder, and how it was found.
type Place struct{ Origin, Folder string }

// Search describes the process: its environment, Python's package folders, and the folder of the HIP that it has loaded ("": none).
type Search struct {
	Env          func(string) string
	SitePackages []string
	HIP          string
}

// triplets name Debian's folder of libraries.
var triplets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// Places are the folders in which a library may be, best first. One of the ROCm of the program's HIP comes before those of others.
func (s Search) Places(l Library) (places []Place) {
	add := func(origin string, folders ...string) {
		for _, folder := range folders {
			if folder != "" {
				places = append(places, Place{origin, folder})
			}
		}
	}
	add(l.Setting.Name, l.Setting.Get(s.Env))
	add("next to libamdhip64", s.HIP)
	add("LD_LIBRARY_PATH", filepath.SplitList(s.Env("LD_LIBRARY_PATH"))...)
	for _, site := range s.SitePackages {
		add("Python package", filepath.Join(site, "torch", "lib"), filepath.Join(site, "_rocm_sdk_core", "lib"))
	}
	add("system", "/opt/rocm/lib")
	if triplet := triplets[runtime.GOARCH]; triplet != "" {
		add("system", filepath.Join("/usr/lib", triplet))
	}
	add("system", "/usr/lib64")
	return places
}
