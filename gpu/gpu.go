// Package gpu is what the profiler and its viewers ask of a binary for the GPU, whatever its vendor's format: which functions
// are in it, which source lines their instructions come from, who calls whom, and the text of instructions. A Format reads the
// binaries of one vendor; gpu/vendors has the list.
package gpu

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Format is a file format of binaries, with the vendor's tools for it.
type Format struct {
	Suffix      string // of names of files, without a dot: "cubin". The folder next to a profile is NAME.cubins. "" if none can be read
	Instruction uint64 // size of every instruction in bytes; 0 if they differ

	Is         func(image []byte) bool // whether an image is of this format, by its first bytes
	Open       func(image []byte) (Module, error)
	SourceName func(symbol string) string // what the source calls a function

	// Disassemble gets the text of a function's instructions. If the vendor's disassembler is missing or fails, what is known
	// without it comes with the error.
	Disassemble func(d Disassembler, file string, f *Function) (*Code, error)
	// List makes the listing of a whole binary that a TritonParse trace has as the text of its machine code, with the disassembler at
	// the path tool. A failure is text in its place, as TritonParse writes it. nil if such traces have no listing.
	List        func(tool, file string) string
	ListingName string // the stage of TritonParse that the listing is: "sass"
	// Recorded reads a function of such a listing; nil if it is not there.
	Recorded func(listing, function string) *Recorded

	// Assembled finds a function in the text that its module was assembled from, which a trace may have where a binary has not: the number
	// of the line of each instruction, counted from 1, by offset. nil if it is not there or has other instructions. The field is nil if an
	// instruction is not a line of such a text.
	Assembled func(text string, f *Function) map[uint64]int

	// Significant matches the instructions that explain a line of the source, in assembly and in machine code: accesses of memory and
	// multiplications of matrices. nil if none are known.
	Significant *regexp.Regexp

	// Occupancy is a function's on its module's architecture, for blocks of a number of threads with a number of bytes of shared memory,
	// static and dynamic. ok is false if the limits of the architecture are not known, and the field nil if no architecture's are.
	Occupancy func(m Module, f *Function, threads, shared int) (o Occupancy, ok bool)
}

// Occupancy is how many of a kernel's blocks are on one multiprocessor at a time.
type Occupancy struct {
	Blocks   int      `json:"blocks"`    // per multiprocessor
	Warps    int      `json:"warps"`     // per multiprocessor
	MaxWarps int      `json:"max_warps"` // that it can hold of any kernel
	Limits   []string `json:"limits"`    // the resources that one more block would exceed: registers, shared memory, warps, blocks
}

// Room is how many blocks one resource of a multiprocessor has room for.
type Room struct {
	Resource string
	Blocks   int
}

// Fitting is the occupancy of blocks of some warps on a multiprocessor that can hold maxWarps: as many as each resource has room for.
func Fitting(rooms []Room, warps, maxWarps int) (o Occupancy) {
	o.Blocks = slices.MinFunc(rooms, func(a, b Room) int { return a.Blocks - b.Blocks }).Blocks
	for _, r := range rooms {
		if r.Blocks == o.Blocks {
			o.Limits = append(o.Limits, r.Resource)
		}
	}
	o.Warps, o.MaxWarps = o.Blocks*warps, maxWarps
	return o
}

// Share is the part of the warps that a multiprocessor can hold, from 0 to 1.
func (o Occupancy) Share() float64 { return float64(o.Warps) / float64(o.MaxWarps) }

// Disassembler says how to find and run the program that a vendor has for that.
type Disassembler struct {
	Env func(string) (string, bool)                        // the environment
	Run func(tool, file string, index int) ([]byte, error) // nil runs the program
}

// Module is a binary. What cannot be read of it is answered as if it were not there.
type Module interface {
	// Arch is the architecture that it was made for, as a profile's devices have it: "90" for compute capability 9.0; "" if it
	// does not say.
	Arch() string
	// Function finds a function by its place in the symbol table, or, should another be there, by its name.
	Function(index uint32, name string) (Function, bool)
	// Kernels are the names of the functions that programs launch.
	Kernels() []string
	// Callers returns, for the functions that are not kernels, the names of the kernels that call them.
	Callers() map[string][]string
}

// Function is one function of a module.
type Function struct {
	Name        string
	Index       int    // in the symbol table
	Size        uint64 // of the code in bytes
	Code        []byte // the instructions
	Registers   int    // per thread
	Scalars     int    // registers that the threads of a warp share; 0 on GPUs without
	Shared      uint64 // bytes of static shared memory per block
	Frame       uint64 // bytes of private memory per thread
	LocalLoads  int    // instructions that read private memory
	LocalStores int    // instructions that write it

	Offsets iter.Seq[uint64] // of the instructions
	// Frames returns the places in the source of the instruction at an offset, innermost first; nil if they are not known.
	Frames func(offset uint64) []profile.SourceFrame

	Assembly     []string                // text that the module was assembled from, by line; nil if the module does not have it
	AssemblyLine func(offset uint64) int // of an instruction, counted from 1; 0 if it is not known
}

// AssembledFrom takes the text that a function's module was assembled from, if the module lacks it and the text has the function.
func (f *Function) AssembledFrom(text string, format *Format) {
	if f.Assembly != nil || format.Assembled == nil {
		return
	}
	if lines := format.Assembled(text, f); lines != nil {
		f.Assembly, f.AssemblyLine = strings.Split(text, "\n"), func(offset uint64) int { return lines[offset] }
	}
}

// Code is the text of a function's instructions, by offset in bytes within the function.
type Code struct {
	Tool   string // where the text is from: path of the disassembler; "" if there is none, and Text has operations without operands
	Text   map[uint64]string
	Labels map[uint64]string // of the instructions that are targets of branches
}

// Add adds an instruction; label is "" for most.
func (c *Code) Add(offset uint64, text, label string) {
	c.Text[offset] = text
	if label != "" {
		c.Labels[offset] = label
	}
}

// Recorded is a function's code in a listing of a trace.
type Recorded struct {
	*Code
	Lines    map[uint64]int     // numbers of the lines of instructions in the listing, counted from 1, by offset
	Assembly func() map[int]int // the line of assembly that each line of the listing was made of; 0 if it is not known
}
