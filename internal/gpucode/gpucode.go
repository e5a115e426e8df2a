// Package gpucode is what the profiler asks of a binary for the GPU, whatever its vendor's format: which functions are in
// it, which source lines their instructions come from, and who calls whom. A vendor's room reads the format.
package gpucode

// Module is a binary that was loaded. What cannot be read of it is answered as if it were not there.
type Module interface {
	// Arch is the architecture that it was made for, as a number: 90 for compute capability 9.0; 0 if it does not say.
	Arch() int
	// Function finds a function by its place in the symbol table, or, should another be there, by its name.
	Function(index uint32, name string) (Function, bool)
	// Callers returns, for the functions that are not kernels, the names of the kernels that call them.
	Callers() map[string][]string
}

// Function is one function of a module.
type Function struct {
	Size        uint64 // of the code in bytes
	Registers   int    // per thread
	Shared      uint64 // bytes of static shared memory per block
	Frame       uint64 // bytes of private memory per thread
	LocalLoads  int    // instructions that read private memory
	LocalStores int    // instructions that write it

	// Frames returns the places in the source of the instruction at an offset, innermost first; nil if they are not known.
	Frames func(offset uint64) []Frame
}

// Frame is a place in the source.
type Frame struct {
	File string
	Line int
	Func string // the function that the place is in; "" if the compiler did not say
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
