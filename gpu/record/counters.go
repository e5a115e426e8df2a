package record

import "time"

// CounterRequest is what a mode asks to have measured with hardware counters.
type CounterRequest struct {
	Set     string            // a word of package gpu/counters
	Kernels func(string) bool // whether to measure a kernel, by its linker name; nil: all
	Pattern string            // what Kernels was made of
	First   uint32            // launches of each kernel at each call path
	Most    uint64            // launches in all
}

// Wants reports whether a kernel is to be measured.
func (r *CounterRequest) Wants(kernel string) bool { return r.Kernels == nil || r.Kernels(kernel) }

// Counters are what one launch was measured to do.
type Counters struct {
	Names  []string  // of metrics, as the vendor has them; shared by all launches on one kind of GPU
	Values []float64 // by name
	Nanos  uint64    // how long the kernel ran, 0 if that was not measured
}

// CounterFacts is what is known of all measured launches so far.
type CounterFacts struct {
	Set      string
	Metrics  int // of the set
	Passes   int // runs of a kernel that the set takes
	Measured uint64
	Kernels  uint64        // of which a launch was measured
	Took     time.Duration // of the program's threads
	Copies   bool          // what the library copied between passes counts as memory that kernels wrote
	LeftOut  []LeftOut
	Ran      []string // where kernels have no records: those that were launched and were not asked for
	Problems []string // what did not work, as sentences
}

// LeftOut is a kernel some of whose launches were to be measured and were not.
type LeftOut struct {
	Kernel   string // its linker name
	Why      string // in a few words
	Launches uint64
}
