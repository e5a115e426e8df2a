package profile

import (
	"cmp"
	"slices"
	"strings"
)

// Sampling is what instruction sampling recorded in addition to the tree: the tables that nodes' Samples refer to, and how
// many samples were lost.
type Sampling struct {
	Mode    string   // "continuous" or "serialized"; CountedByLine: nothing was sampled, instructions were counted
	Period  uint64   // cycles between two samples of one multiprocessor
	Reasons []string // why a warp did not go on, by number: "long_scoreboard". "selected" means that it did, "" that the sampler does not say. See IsCount

	Total       uint64 // samples taken in kernels of the program, whether they found a node or not
	Dropped     uint64 // samples that the hardware lost
	NonUser     uint64 // samples in kernels of the driver's own
	Apportioned uint64 // samples of functions launched from several call paths, apportioned by kernel time
	BufferFull  bool   // the hardware's buffer was full at times: an unknown number of samples is missing

	Functions []SampledFunction
	Sources   []SourceText // what the sampled lines said when the profile was recorded, by file
}

// CountedByLine is the mode of a profile without samples, whose instructions were counted.
const CountedByLine = "lines"

// IsCount reports whether a reason is none, but the vendor's name of a counter, as smsp__sass_inst_executed: Stall.Samples then is not a number of
// samples, but what the instruction counted.
func IsCount(reason string) bool { return strings.Contains(reason, "__") }

// SampledFunction is a function of the GPU that samples fell in.
type SampledFunction struct {
	Name   string // as the linker knows it
	Module string // hash of the module that it is in, in hexadecimal; "" when it is not known
	Index  int    // in the module's symbol table

	Arch        string // as of a Device: "90", "gfx942"; "" and zeros below when the module was not seen
	Size        uint64 // of the code in bytes
	Registers   int    // per thread
	Shared      uint64 // bytes of static shared memory per block
	Frame       uint64 // bytes of local memory per thread
	LocalLoads  int    // instructions that read local memory; spills are the usual cause
	LocalStores int

	Places []Place // of every sampled instruction that has line information, in order of offset
}

// Place says where an instruction comes from.
type Place struct {
	Offset uint64
	Frames []SourceFrame // innermost first; the function's own line is the last
}

// SourceFrame is a line of the source, in a chain of inlined calls.
type SourceFrame struct {
	File string
	Line int
	Func string // "" if the compiler did not say
}

// SourceText holds lines of a source file as they were when the profile was recorded: those with samples, and a few around
// them. A reader on another machine, or after the file was edited, shows these.
type SourceText struct {
	File   string       // as in SourceFrame
	SHA256 string       // of the whole file, in hexadecimal
	Lines  []SourceLine // in order
}

// SourceLine is a line of a source file, counted from 1, without its end.
type SourceLine struct {
	Number int
	Text   string
}

// FunctionSamples are the samples of one function at one call path.
type FunctionSamples struct {
	Function int         // position in Sampling.Functions
	PCs      []PCSamples // in order of offset
}

// PCSamples are the samples of one instruction.
type PCSamples struct {
	Offset uint64 // in bytes from the start of the function
	Stalls []Stall
}

// Stall counts samples of one reason.
type Stall struct {
	Reason    uint16 // position in Sampling.Reasons
	Samples   uint64
	NotIssued uint64 // of them, those in which the scheduler issued nothing at all: they cost time
}

// In is the number of samples of a function's instructions, without what these counted.
func (s *Sampling) In(f *FunctionSamples) (n uint64) {
	for _, pc := range f.PCs {
		for _, stall := range pc.Stalls {
			if int(stall.Reason) >= len(s.Reasons) || !IsCount(s.Reasons[stall.Reason]) {
				n += stall.Samples
			}
		}
	}
	return n
}

// At returns the frames of an instruction; nil if there is no line information.
func (f *SampledFunction) At(offset uint64) []SourceFrame {
	i, found := slices.BinarySearchFunc(f.Places, offset, func(p Place, offset uint64) int { return cmp.Compare(p.Offset, offset) })
	if !found {
		return nil
	}
	return f.Places[i].Frames
}
