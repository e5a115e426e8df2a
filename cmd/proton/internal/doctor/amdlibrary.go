package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/settings"
)

// Provider is a library of ROCm that can be collected through.
type Provider struct {
	Backend string `json:"backend"`
	Path    string `json:"path"`
	Origin  string `json:"origin"`
	Version string `json:"version,omitempty"` // from the file's name
	Chosen  bool   `json:"chosen"`            // it is the first one of its backend
}

// providers are the backends with the names of their libraries, in the order in which they are tried.
var providers = []struct {
	backend   string
	library   vendors.ROCmLibrary
	otherwise string // what is the matter without it, where the other backend is there
}{
	{"rocprofiler", vendors.SDK,
		"there is no librocprofiler-sdk (ROCm 6.2 or newer has it): roctracer times kernels, and neither samples instructions nor counts"},
	{"roctracer", vendors.ROCtracer, "there is no libroctracer64; rocprofiler does not need it"},
}

// examineProviders looks for both libraries where the runtime does. The runtime prefers one that the program has loaded by then.
func (r *Report) examineProviders(m Machine) {
	if !m.hasKFD() {
		return // said already: there is no driver
	}
	found := map[string]bool{}
	for _, p := range providers {
		places := (vendors.ROCmSearch{Env: m.Env, SitePackages: r.Python.SitePackages}).Places(p.library)
		for _, folder := range m.glob("/opt/rocm-*/lib") {
			places = append(places, vendors.ROCmPlace{Origin: "system", Folder: folder})
		}
		for _, place := range places {
			if l, there := m.provider(place.Folder, p.library.Names); there {
				l.Backend, l.Origin, l.Chosen = p.backend, place.Origin, !found[p.backend]
				if !slices.ContainsFunc(r.rocm().Libraries, func(o Provider) bool { return o.Path == l.Path }) {
					r.ROCm.Libraries = append(r.ROCm.Libraries, l)
				}
				found[p.backend] = true
			}
		}
	}
	if len(found) == 0 {
		r.found("rocprofiler", Problem, "there is neither librocprofiler-sdk nor libroctracer64",
			fmt.Sprintf("install rocprofiler-sdk of ROCm 6.2 or newer, or roctracer of an older one; if it is elsewhere, set %s to its folder", settings.TritonROCSDK.Name))
		return
	}
	for _, p := range providers {
		i := slices.IndexFunc(r.ROCm.Libraries, func(l Provider) bool { return l.Backend == p.backend && l.Chosen })
		if i < 0 {
			r.found(p.backend, Note, p.otherwise, "")
			continue
		}
		l := r.ROCm.Libraries[i]
		r.found(p.backend, OK, fmt.Sprintf("%s (%s, version %s)", l.Path, l.Origin, orUnknown(l.Version)), "")
		switch {
		case p.backend != providers[0].backend:
		case strings.HasPrefix(l.Version, "0"):
			r.found("counters", Note, l.Path+" does not count, which librocprofiler-sdk of ROCm 7.0 and newer does", "update ROCm for proton run --mode counters and --pm")
		default:
			r.found("counters", OK, "proton run --mode counters and --pm can count; so far they were tried on fake libraries only", "")
		}
	}
}

// provider finds a library in a folder by one of its names.
func (m Machine) provider(folder string, names []string) (Provider, bool) {
	for _, name := range names {
		path := filepath.Join(folder, name)
		if !m.exists(path) {
			continue
		}
		return Provider{Path: path, Version: fileVersion(m.path(path))}, true
	}
	return Provider{}, false
}

// fileVersion is the version in the name of the file that a library's name leads to: libroctracer64.so.4.1.70200.
func fileVersion(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	_, version, _ := strings.Cut(filepath.Base(path), ".so.")
	return version
}
