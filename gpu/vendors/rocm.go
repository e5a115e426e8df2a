package vendors

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/goproton/goproton/internal/settings"
)

// ROCmLibrary is one of them: the variable that names its folder, and its file names, best first.
type ROCmLibrary struct {
	Setting *settings.Setting
	Names   []string
}

// The libraries.
var (
	SDK       = ROCmLibrary{settings.TritonROCSDK, []string{"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0", "librocprofiler-sdk.so"}}
	ROCtracer = ROCmLibrary{settings.TritonROCtracer, []string{"libroctracer64.so.4", "libroctracer64.so"}}
	SMI       = ROCmLibrary{settings.TritonROCSDK, []string{"libamd_smi.so", "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24"}}
)

// ROCmPlace is a folder, and how it was found.
type ROCmPlace struct{ Origin, Folder string }

// ROCmSearch describes the process: its environment, Python's package folders, and the folder of the HIP that it has loaded ("": none).
type ROCmSearch struct {
	Env          func(string) string
	SitePackages []string
	HIP          string
}

// triplets name Debian's folder of libraries.
var triplets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// Places are the folders in which a library may be, best first. One of the ROCm of the program's HIP comes before those of others.
func (s ROCmSearch) Places(l ROCmLibrary) (places []ROCmPlace) {
	add := func(origin string, folders ...string) {
		for _, folder := range folders {
			if folder != "" {
				places = append(places, ROCmPlace{origin, folder})
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

// Files are the paths that a library may have, best first.
func (s ROCmSearch) Files(l ROCmLibrary) (paths []string) {
	for _, place := range s.Places(l) {
		for _, name := range l.Names {
			paths = append(paths, filepath.Join(place.Folder, name))
		}
	}
	return paths
}

// File is the first of Files that is there, "" for none.
func (s ROCmSearch) File(l ROCmLibrary) string {
	for _, path := range s.Files(l) {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
