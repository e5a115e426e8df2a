package record

import (
	"encoding/binary"
	"time"
)

// Sample counts how often an instruction was found to be next, by the reason why its warp did not go on. Source
// reuses one for all that it hands over: keep no part of it.
type Sample struct {
	Module      uint64 // hash of the image that the function is in, see HashImage
	Function    string // as the linker knows it
	Index       uint32 // in the module's symbol table
	Offset      uint64 // of the instruction in the function, in bytes
	Correlation uint64 // joins it to its launch where samples know theirs, else 0
	Device      uint32 // of a launch that is counted by line
	Stalls      []Stall
}

// Stall is a part of a Sample. Of a launch that is counted by line it is a count: Reason is then the metric.
type Stall struct {
	Reason    uint16 // position in SamplingFacts.Reasons
	Samples   uint64
	NotIssued uint32 // of them, those in which the scheduler issued nothing at all
}

// Function is what a launched function is, whatever its handle.
type Function struct {
	Module uint64
	Index  uint32
	Name   string
}

// SamplingMode says how kernels are sampled.
type SamplingMode uint8

const (
	NoSampling SamplingMode = iota
	Continuous              // kernels run as they would
	Serialized              // one kernel at a time
	ByLine                  // nothing is sampled: instructions of chosen launches count what they do
)

func (m SamplingMode) String() string {
	return [...]string{"none", "continuous", "serialized", "lines"}[m]
}

// SamplingRequest is what a mode asks of a backend: what the profiler has to know of it, and the backend's own options,
// which only its source reads.
type SamplingRequest struct {
	Mode        SamplingMode
	OfLaunches  bool // samples know their launch
	Some        bool // only some kernels are sampled
	KeepImages  bool // the binaries of sampled functions are to lie next to the profile
	KeepSources bool // the profile is to hold the text of the sampled lines
	Options     any

	Counters *CounterRequest // launches are measured instead; nil: none
}

// SamplingFacts is what is known of all samples so far.
type SamplingFacts struct {
	Mode       SamplingMode
	Period     uint64   // cycles between two samples of one multiprocessor
	Reasons    []string // short names: "long_scoreboard"
	Total      uint64   // samples that the hardware took, those below included
	Dropped    uint64   // lost by the hardware
	NonUser    uint64   // in functions of the driver's own
	BufferFull bool     // an unknown number is missing
	Ambiguous  uint64   // launched functions that could not be distinguished from others of the same name
	Problems   []string // what did not work, as sentences

	Waited    time.Duration // of the program's threads for the sampler: at its set-up, and when code is unloaded
	Switching time.Duration // calls of the vendor's library that begin and end sampling
	Thread    time.Duration // CPU time of the sampler's own thread
}

// HashImage names an image by its content: 64 bits of FNV-1a, over words of eight bytes, little-endian, and the rest
// padded with zeros. Collectors compute the same in C.
func HashImage(image []byte) uint64 {
	h := uint64(len(image)) ^ 14695981039346656037
	for ; len(image) >= 8; image = image[8:] {
		h = mix(h, binary.LittleEndian.Uint64(image))
	}
	if len(image) > 0 {
		var rest [8]byte
		copy(rest[:], image)
		h = mix(h, binary.LittleEndian.Uint64(rest[:]))
	}
	return h
}

// mix is FNV's step, and a shift that lets high bits of the word reach the low ones of the sum.
func mix(h, word uint64) uint64 {
	h = (h ^ word) * 1099511628211
	return h ^ h>>32
}
