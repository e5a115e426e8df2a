// Package resources says what a compiled kernel takes of a GPU: registers, shared memory, what it spills, and how many of
// its warps fit at a time. Shared memory and warps are in the trace; registers are in the machine code, if that is there.
package resources

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/gpucode"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/occupancy"
	"github.com/goproton/goproton/internal/vendor"
	"github.com/goproton/goproton/tritonparse"
)

// Resources are those of one compilation. Members are nil where nothing is known.
type Resources struct {
	SM      int  `json:"sm,omitempty"`      // compute capability: 90 for 9.0; 0 for architectures without one
	Threads int  `json:"threads,omitempty"` // per block
	Shared  *int `json:"shared,omitempty"`  // bytes per block

	Registers   *int `json:"registers,omitempty"`    // per thread
	Frame       *int `json:"frame,omitempty"`        // bytes of local memory per thread
	LocalLoads  *int `json:"local_loads,omitempty"`  // instructions that read local memory: spills, usually
	LocalStores *int `json:"local_stores,omitempty"` // instructions that write it
	CodeBytes   *int `json:"code_bytes,omitempty"`

	Occupancy *occupancy.Occupancy `json:"occupancy,omitempty"`
}

// Of reads what can be known of a compilation. An error says why the machine code could not be read; the rest is filled in.
func Of(c *tritonparse.Compilation) (Resources, error) {
	r := Resources{SM: architecture(c)}
	if n, ok := c.Int("shared"); ok {
		r.Shared = &n
	}
	if warps, ok := c.Int("num_warps"); ok {
		size, ok := c.Int("warp_size")
		if !ok {
			size = occupancy.WarpSize
		}
		r.Threads = warps * size
	}
	path := c.Cubin()
	if path == "" || vendor.ByTarget(c.Backend).Target != c.Backend {
		return r, nil
	}
	if err := r.machineCode(c, path); err != nil {
		return r, err
	}
	kernel := occupancy.Kernel{SM: r.SM, Threads: r.Threads, Registers: *r.Registers}
	if r.Shared != nil {
		kernel.Shared = *r.Shared
	}
	if o, ok := occupancy.Of(kernel); ok {
		r.Occupancy = &o
	}
	return r, nil
}

func (r *Resources) machineCode(c *tritonparse.Compilation, path string) error {
	image, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	module, err := vendor.OpenModule(image)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, found := entry(module, c.Name)
	if !found {
		return fmt.Errorf("%s has no kernel %s", path, c.Name)
	}
	frame, size := int(f.Frame), int(f.Size)
	r.SM, _ = strconv.Atoi(module.Arch()) //nolint:errcheck // an architecture of another vendor has no compute capability
	r.Registers, r.Frame, r.LocalLoads, r.LocalStores, r.CodeBytes = &f.Registers, &frame, &f.LocalLoads, &f.LocalStores, &size
	if shared := int(f.Shared); r.Shared == nil {
		r.Shared = &shared
	}
	return nil
}

// entry is the kernel: the function of that name, or the only one there is.
func entry(module gpucode.Module, name string) (gpucode.Function, bool) {
	f, found := module.Function(0, name)
	if kernels := module.Kernels(); !found && len(kernels) == 1 {
		return module.Function(0, kernels[0])
	}
	return f, found
}

// architecture is what the trace says of the target: 90, or sm90.
func architecture(c *tritonparse.Compilation) int {
	target := jsontext.Get(c.Metadata, "target", "arch")
	if n, err := strconv.Atoi(string(target)); err == nil {
		return n
	}
	digits := strings.TrimRight(strings.TrimLeft(jsontext.Text(jsontext.Get(c.Metadata, "arch")), "sm_"), "abf")
	n, _ := strconv.Atoi(digits)
	return n
}
