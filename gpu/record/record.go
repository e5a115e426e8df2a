// Package record has the data types of collection: what a vendor's room reports, in units and names that belong to no vendor. It
// imports no other package of this repository.
package record

// Kind says what an Activity was.
type Kind uint8

const (
	Kernel Kind = iota
	Graph       // a whole graph that was timed as a unit
	Memcpy
	Memset
	Sync // the program waited for the GPU: no GPU time
)

// Kinds is a set of kinds.
type Kinds uint8

// KindsOf returns the set of some kinds.
func KindsOf(kinds ...Kind) (set Kinds) {
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

// Has reports whether a kind is in the set.
func (s Kinds) Has(k Kind) bool { return s>>k&1 != 0 }

// Marks are what a program does about profiling that is reported also while nothing is recorded.
type Marks struct {
	Ranges    bool // it marks ranges through the vendor's library
	Profilers bool // it calls the driver's functions that start and stop profilers
}

// Activity is one thing that took time on the GPU, or that made the program wait for it.
// Times are nanoseconds since 1970; Start == End == 0 means that no time could be taken.
type Activity struct {
	Kind        Kind
	Name        string // of a kernel as the compiler mangled it, of others what to call them: "<memcpy HtoD>"; "" for a whole graph
	Start, End  uint64
	Correlation uint64 // joins it to the call that asked for it
	Device      uint32 // ordinal within the process
	Context     uint32
	Stream      uint32
	GraphID     uint64 // executable graph it belongs to; 0 = launched on its own
	GraphNode   uint64
	Bytes       uint64 // of a memcpy or memset
	Grid        Grid   // of a kernel
	Number      uint64 // of a kernel: how many were launched in its context until then, whether or not they were recorded; 0: not known
}

// Grid is how many blocks a kernel has in each direction: x in bits 0 to 30, y in 31 to 46, z from 47 on; 0 if that is not known.
type Grid uint64

// Place returns the coordinates of a block by its number, in which x counts fastest; false if the grid has one direction or is unknown.
func (g Grid) Place(block uint32) (at [3]uint32, is bool) {
	x, y, z := uint32(g&(1<<31-1)), uint32(g>>31&0xffff), uint32(g>>47)
	if x == 0 || y == 0 || z == 0 || y == 1 && z == 1 {
		return at, false
	}
	return [3]uint32{block % x, block / x % y, block / x / y}, true
}

// Timed reports whether the record carries a usable time.
func (a *Activity) Timed() bool { return a.End > a.Start }

// Duration returns the time it took, in nanoseconds.
func (a *Activity) Duration() uint64 { return a.End - a.Start }

// Value is one element of a tensor that a graph node has read at one replay.
type Value struct {
	Check  uint64 // of no use outside the source
	Number uint32 // of the tensor metric
	Index  uint32 // of the element
	Stamp  uint64 // when the node began, in ns of the GPU's clock
	Bits   uint64 // an int64, or a float64, as the metric has it
}
