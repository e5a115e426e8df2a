package profiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
)

// Backend is a way to collect, described before a session asks for it: nothing in the description loads the vendor's
// library.
type Backend struct {
	vendors.Backend
	DeviceType string   // what profiles call its GPUs
	Own        []string // kernels that the vendor's library runs for itself, which do not count unless the program is known to have launched them
	// Detect reports whether this machine has such a GPU and its driver, and the library, if there are several to choose from.
	Detect func(SourceOptions) bool
	// New returns the source that collects for one session, and those that come while it goes on.
	New func(SourceOptions) Source
}

// SourceOptions is what a session asks of a source.
type SourceOptions struct {
	WholeGraphs  bool
	SitePackages []string
	Replay       string // file name of the capture that is played instead of a program
	Synthetic    bool   // that capture was made with a fake driver
	Sampling     record.SamplingRequest
	Readings     record.ReadingRequest
	Metered      bool // measure how long callbacks take on the program's threads: a session has a budget
}

// VendorBackend is a backend, by number, of a vendor that package vendors describes.
func VendorBackend(v *vendors.Vendor, number int, make func(SourceOptions) Source) Backend {
	return Backend{Backend: v.Backends[number], DeviceType: v.DeviceType, New: make, Detect: func(SourceOptions) bool { return v.Present("/") }}
}

var backends struct {
	sync.Mutex
	list []*Backend
}

// Register makes a backend known; it replaces an earlier one of the same first name. Packages like cupti call
// it from init, in the order of their paths; backends of vendors are kept in the order of vendors.All.
func Register(b Backend) {
	backends.Lock()
	defer backends.Unlock()
	same := func(x *Backend) bool { return x.name() == b.name() }
	if i := slices.IndexFunc(backends.list, same); i >= 0 {
		backends.list[i] = &b
		return
	}
	backends.list = append(backends.list, &b)
	slices.SortStableFunc(backends.list, func(a, b *Backend) int { return cmp.Compare(a.turn(), b.turn()) })
}

// turn is smaller for backends that are tried earlier.
func (b *Backend) turn() int {
	names := vendors.Backends()
	if i := slices.Index(names, b.name()); i >= 0 {
		return i
	}
	return len(names)
}

// backendNamed finds a backend. The type of a device stands for the backends of its vendor. Without a name it is the first whose GPU
// this machine has, or, on a machine without any, the first: its source says what is missing.
func backendNamed(name string, o SourceOptions) (*Backend, error) {
	backends.Lock()
	defer backends.Unlock()
	name = strings.ToLower(name)
	var first *Backend
	for _, b := range backends.list {
		asked := name == "" || name == strings.ToLower(b.DeviceType)
		if slices.Contains(b.Names, name) || asked && b.Detect != nil && b.Detect(o) {
			return b, nil
		}
		if asked && first == nil {
			first = b
		}
	}
	if first != nil {
		return first, nil
	}
	if why, planned := vendors.Planned[name]; planned {
		return nil, &NotImplementedError{fmt.Sprintf("backend %q: %s", name, why)}
	}
	if v, b := vendors.ByBackend(name); v != nil || name == "" {
		if v == nil {
			v = vendors.All[0]
			b = &v.Backends[0]
		}
		return nil, &NotImplementedError{fmt.Sprintf("backend %q is not built into this program; import github.com/goproton/goproton/%s", b.Names[0], v.Package)}
	}
	known := []string{InsideBackend}
	for _, b := range backends.list {
		known = append(known, b.Names...)
	}
	return nil, Unknown("profiler", name, known)
}

// name is what messages call the backend.
func (b *Backend) name() string { return b.Names[0] }

// refusal is the error for a mode, or an option of one, that the backend does not have.
func (b *Backend) refusal(format string, args ...any) error {
	return &ArgumentError{b.Class + ": " + fmt.Sprintf(format, args...)}
}
