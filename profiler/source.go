package profiler

import (
	"time"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profile"
)

// Source is a vendor's collector: it reports launches to the hot path, and fills its buffers with activity records. An
// error is one sentence that says what to do. cupti.Collector is one, and so is the synthetic one of the tests.
type Source interface {
	Attach(early bool) error // take the vendor library; early: the program has not used its GPU yet
	Attached() bool
	Listen(activities, calls record.Kinds) error   // record these activities, and calls that make work of these kinds; no activities: stop
	Synchronize(done func()) bool                  // wait for everything that was launched, and report each part of it; false where waiting would do harm
	Flush(forced bool)                             // have the vendor library hand over its buffers; forced: unfinished ones too
	Dropped() uint64                               // records that the vendor library itself lost since the last call
	Detach(ending bool)                            // leave the vendor library to others; ending: the process ends, and threads may still use the GPU
	Ready() bool                                   // whether attaching now finds the library that the program itself will use
	AttachLater() bool                             // arrange for the program's own GPU initialisation to call Manager.GPUStarts; false where that cannot be done
	APIName(call uint32) (name string, waits bool) // of a function that the room recorded by number; waits: it waits for the GPU
	ClockAhead() int64                             // how far the clock of records is ahead of hotpath.Now, in ns
	Device(ordinal uint32) profile.Device
	DeviceName(ordinal uint32) string
}

// Watcher is a Source that reports marks of the program whether or not it listens.
type Watcher interface {
	Watch(record.Marks) error
}

// Leaver is a Source that can leave its library while nothing is listened to, so that launches cost what they cost without a profiler.
// stalled is how long threads of the program waited for that.
type Leaver interface {
	Leave() (left bool, stalled time.Duration) // where that is safe
	Return() (stalled time.Duration, err error)
}

// Marker is a Source that can divide the correlation ids of its calls into those before a moment and those after it.
type Marker interface {
	// Mark returns an id. Calls of the program that began before Mark was called have lower ids, and calls that begin after Mark
	// has returned have greater ones. 0: not known.
	Mark() uint64
}

// ValueSource is a Source in whose graphs nodes read tensors (read_tensor of struct hp_vendor).
type ValueSource interface {
	// Values passes on what nodes have read since the last call, context by context and in the order in which they stored it. When an
	// activity has arrived, the values of its node are ready, or lost.
	Values(func(device uint32, values []record.Value))
}

// Sampler is a Source that can sample instructions, if SourceOptions.Sampling asked for it. Samples begin and end with
// Listen; Synchronize and then Flush make Samples complete. Its methods are called in Go, one at a time where commands of the drainer
// call them, and never inside a scope or a launch.
type Sampler interface {
	// Samples passes on the samples since the last call.
	Samples(func(*record.Sample))
	// Function returns the function behind the handle of a launch; false if it is not known for sure.
	Function(handle uint64) (record.Function, bool)
	// Loaded reports a function that was loaded before the source could see it, with the binary that contains it.
	Loaded(handle uint64, name string, image []byte)
	// Image is the binary that a module was loaded from, nil if it was not seen or not kept; ImageSuffix is what files of
	// such binaries end in, without a dot.
	Image(module uint64) []byte
	ImageSuffix() string
	// Module is a module to ask about its functions, nil as long as its image was not seen.
	Module(module uint64) gpu.Module
	SamplingFacts() record.SamplingFacts
}

// ReadingSource is a Source that can read whole GPUs, if SourceOptions.Readings asked for it. It reads while it listens, and once
// more at the end of Synchronize.
type ReadingSource interface {
	// Readings has what was read, in order of time for each GPU and kind; nil if nothing was asked for.
	Readings() *record.Readings
}

// SampleSwitch is a Sampler that can rest while kernels are recorded.
type SampleSwitch interface {
	Sampler
	Sample(on bool) // returns when it samples, or does not any more; until the first call it does
}
