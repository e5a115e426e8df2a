package profiler

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/record"
)

// Source is a vendor's collector: it makes launches reach the hot path and fills hotpath's buffers with
// kernel records. cupti.Collector is one. Errors are one sentence with the way out.
type Source interface {
	Attach(early bool) error // take the vendor library; early: the program has not used its GPU yet
	Attached() bool
	Listen(activities, calls record.Kinds) error // record these, and calls that ask for those; no activities: stop
	Synchronize(done func()) bool                // wait for everything that was launched, and tell of each part of it; false where waiting would do harm
	Flush(forced bool)                           // have the vendor library hand over its buffers; forced: unfinished ones too
	Dropped() uint64                             // records that the vendor library itself lost since the last call
	Detach(ending bool)                          // leave the vendor library to others; ending: the process ends, and threads may still use the GPU
	Ready() bool                                 // whether attaching now finds the library that the program itself will use
	AttachLater() error                          // arrange for the program's own GPU initialisation to call Manager.GPUStarts
	Decode(hotpath.Buffer, func(*record.Activity))
	Call(function uint32) (name string, waits bool) // of a function that the hot path recorded by number
	ClockAhead() int64                              // how far the clock of records is ahead of hotpath.Now, in ns
	ModuleUnloaded()
	DeviceType() string
	Device(ordinal uint32) profile.Device
	DeviceName(ordinal uint32) string
}

// Sampler is a Source that can sample instructions, if SourceOptions.Sampling asked for it. Samples begin and end with
// Listen; Synchronize and then Flush make Samples complete. None of its methods is called on a thread of the program.
type Sampler interface {
	// Samples hands over what was collected since the last call.
	Samples(func(*record.Sample))
	// Function tells which function a launch named by its handle; false if it is not known, or not for sure.
	Function(handle uint64) (record.Function, bool)
	// Loaded tells of a function that was loaded before the source could see it, and of the binary that it is in.
	Loaded(handle uint64, name string, image []byte)
	// Image is the binary that a module was loaded from, nil if it was not seen or not kept.
	Image(module uint64) []byte
	SamplingFacts() record.SamplingFacts
}

// SourceOptions is what a session asks of a source.
type SourceOptions struct {
	WholeGraphs  bool
	SitePackages []string
	Sampling     record.SamplingOptions
}

var backends = struct {
	sync.Mutex
	make map[string]func(SourceOptions) Source
}{make: map[string]func(SourceOptions) Source{}}

// Register makes a backend known by name. Packages like profiler/nvidia call it from init.
func Register(name string, make func(SourceOptions) Source) {
	backends.Lock()
	defer backends.Unlock()
	backends.make[name] = make
}

// plannedBackends are upstream's that are not there yet, with the reason.
var plannedBackends = map[string]string{
	"instrumentation": "instrumentation inside kernels is not there yet; use the cupti backend for kernel times",
	"rocprofiler":     "AMD GPUs are not supported yet",
	"roctracer":       "AMD GPUs are not supported yet",
	"xpupti":          "Intel GPUs are not supported yet",
}

func newSource(name string, o SourceOptions) (Source, error) {
	name = strings.ToLower(name)
	if name == "" {
		name = "cupti"
	}
	if why, ok := plannedBackends[name]; ok {
		return nil, &NotImplementedError{fmt.Sprintf("backend %q: %s", name, why)}
	}
	backends.Lock()
	defer backends.Unlock()
	f, ok := backends.make[name]
	if !ok && slices.Contains([]string{"cupti"}, name) {
		return nil, &NotImplementedError{"backend \"cupti\" is not built into this program; import github.com/goproton/goproton/profiler/nvidia"}
	}
	if !ok {
		return nil, &ArgumentError{"Unknown profiler: " + name}
	}
	return f(o), nil
}
