// Package inside reads what scopes inside of kernels leave in GPU memory: the profile scratch buffer that the code of Triton's
// instrumentation passes fills at each launch. A Launch with its buffer goes in; out come the intervals of each scope, by block
// and warp, and what was lost. It knows neither sessions nor call paths, makes no call of a vendor's library and runs on the
// drainer's side only.
package inside

import (
	"slices"
	"strconv"
)

// Scope is one pair of records in a kernel's code: a start and its end. A name can own several scopes, as that of a helper that
// was inlined twice.
type Scope struct {
	ID     int    `json:"id"` // as in the entries, 0 to 255
	Name   string `json:"name"`
	Parent int    `json:"parent"` // the ID of the innermost scope around it; -1: the kernel itself
	File   string `json:"file"`   // of the start, from the kept TTGIR; "" if it is not known
	Line   int    `json:"line"`
}

// Kernel is one compiled kernel with scopes. It is made once, when the kernel is loaded, and is not changed after that: launches
// share it, and it outlives the session in which the kernel was loaded. Its JSON is that of the control call which makes it.
type Kernel struct {
	Name       string  `json:"name"`        // as compiled
	Mode       string  `json:"mode"`        // of the instrumentation, as the user gave it
	Triton     string  `json:"triton"`      // version of the compiler
	SlotSize   int     `json:"slot_size"`   // profile_scratch_size: bytes that one block (CTA) has in the buffer
	Warps      int     `json:"warps"`       // of a block, in total: num_warps of the kernel's metadata
	Units      []int   `json:"units"`       // the warps that write, ascending; nil: all of them
	BufferSize int     `json:"buffer_size"` // bytes of a block's rings as they were asked for; 0: as the compiler chose. The slots themselves are right
	Clock32    bool    `json:"clock32"`     // entries have the low word of the clock only
	Scopes     []Scope `json:"scopes"`
	Arch       string  `json:"arch"`    // "90", "gfx942"
	Backend    string  `json:"backend"` // "cuda" or "hip"
}

// Launch is one finished launch of a Kernel, with the bytes that it left.
type Launch struct {
	Kernel         *Kernel
	Grid           [3]uint32 // in blocks, or in clusters if CTAsPerCluster is more than 1. Of a live launch all are in x: its kernel's record has the true grid
	CTAsPerCluster uint32    // num_ctas; 0 counts as 1
	Device         int       // ordinal within the process
	Stream         uint64
	Correlation    uint64 // id of the launch, which finds the record of its kernel; 0 if there is none
	Set            uint32 // the launch set: the sessions that were active at the launch, each in its phase
	Node           uint32 // call path of the launch, below which the kernel's frame stands
	PyNode         uint32 // the same for sessions in python context; 0 while there is none
	IsOp           bool   // Node is that of an op, which stands for the kernel: no frame of its own is added
	Replayed       bool   // by a graph: Correlation and the call paths are those of the launch that was captured
	Buffer         []byte // all slots, one after another; read during the call only
}

// Blocks is how many slots the buffer of a launch has by its grid.
func (l *Launch) Blocks() uint64 {
	return uint64(l.Grid[0]) * uint64(l.Grid[1]) * uint64(l.Grid[2]) * uint64(max(l.CTAsPerCluster, 1))
}

// Recorded is how many warps of each block write records.
func (k *Kernel) Recorded() int {
	if k.Units != nil {
		return len(k.Units)
	}
	return k.Warps
}

// wholeKernel is the name of the scope that is put around all of a kernel by machine. It has no line.
const wholeKernel = "kernel"

// whole is the ID of that scope; -1 if there is none.
func (k *Kernel) whole() int {
	for i := range k.Scopes {
		if s := &k.Scopes[i]; s.Parent < 0 && s.Name == wholeKernel && s.File == "" {
			return s.ID
		}
	}
	return -1
}

// scope returns the scope of an ID, nil if the table has none.
func (k *Kernel) scope(id uint8) *Scope {
	for i := range k.Scopes {
		if k.Scopes[i].ID == int(id) {
			return &k.Scopes[i]
		}
	}
	return nil
}

// Path returns the names of the scopes around a scope and its own, the outermost first. One that the table does not have is
// called scope_<id>, as Triton's Proton does.
func (k *Kernel) Path(id uint8) (names []string) {
	s := k.scope(id)
	if s == nil {
		return []string{"scope_" + strconv.Itoa(int(id))}
	}
	for range maxDepth { // a table may go round in circles
		names = append(names, s.Name)
		if s.Parent < 0 || s.Parent > 255 {
			break
		}
		if s = k.scope(uint8(s.Parent)); s == nil {
			break
		}
	}
	slices.Reverse(names)
	return names
}

// maxDepth is how many scopes a kernel can have inside of each other.
const maxDepth = 256
