package nearby

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
)

// Resources are what a compiled kernel needs of a GPU. Shared memory and warps are in the trace, registers in the machine code, if that
// is available; gpu/vendors has its reader and the limits of the GPU. Members are nil where nothing is known.
type Resources struct {
	SM      int    `json:"sm,omitempty"`      // compute capability: 90 for 9.0
	Arch    string `json:"arch,omitempty"`    // architecture without a compute capability, as its vendor names it
	Threads int    `json:"threads,omitempty"` // per block
	Shared  *int   `json:"shared,omitempty"`  // bytes per block

	Registers   *int `json:"registers,omitempty"`    // per thread
	Scalars     *int `json:"scalars,omitempty"`      // registers that the threads of a warp share, on GPUs that allocate them
	Frame       *int `json:"frame,omitempty"`        // bytes of local memory per thread
	LocalLoads  *int `json:"local_loads,omitempty"`  // instructions that read local memory: spills, usually
	LocalStores *int `json:"local_stores,omitempty"` // instructions that write it
	CodeBytes   *int `json:"code_bytes,omitempty"`

	Occupancy *gpu.Occupancy `json:"occupancy,omitempty"`
}

// ResourcesOf returns what is known of a compilation. With an error, which says why the machine code could not be read, the rest is set.
func ResourcesOf(c *tritonparse.Compilation) (Resources, error) {
	var r Resources
	v := vendors.ByTarget(c.Backend)
	r.setArchitecture(architecture(c, v))
	if n, ok := c.Int("shared"); ok {
		r.Shared = &n
	}
	if warps, ok := c.Int("num_warps"); ok {
		size, ok := c.Int("warp_size")
		if !ok {
			size = v.Warp
		}
		r.Threads = warps * size
	}
	path := c.Cubin()
	if path == "" || v.Target != c.Backend {
		return r, nil
	}
	return r, r.machineCode(c, v.Code, path)
}

// setArchitecture takes an architecture as a profile's devices have it: "90" is compute capability 9.0.
func (r *Resources) setArchitecture(arch string) {
	var err error
	if r.SM, err = strconv.Atoi(arch); err != nil {
		r.SM, r.Arch = 0, arch
	}
}

func (r *Resources) machineCode(c *tritonparse.Compilation, format *gpu.Format, path string) error {
	image, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	module, err := format.Open(image)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, found := entry(module, c.Name)
	if !found {
		return fmt.Errorf("%s has no kernel %s", path, c.Name)
	}
	frame, size, shared := int(f.Frame), int(f.Size), int(f.Shared)
	r.setArchitecture(module.Arch())
	r.Registers, r.Frame, r.LocalLoads, r.LocalStores, r.CodeBytes = &f.Registers, &frame, &f.LocalLoads, &f.LocalStores, &size
	if f.Scalars > 0 {
		r.Scalars = &f.Scalars
	}
	if r.Shared == nil {
		r.Shared = &shared
	}
	if format.Occupancy != nil {
		if o, ok := format.Occupancy(module, &f, r.Threads, *r.Shared); ok {
			r.Occupancy = &o
		}
	}
	return nil
}

// entry returns the kernel: the function of that name, or the only kernel of the module.
func entry(module gpu.Module, name string) (gpu.Function, bool) {
	f, found := module.Function(0, name)
	if kernels := module.Kernels(); !found && len(kernels) == 1 {
		return module.Function(0, kernels[0])
	}
	return f, found
}

// architecture is what the trace says of the target: a number, or a text such as sm90.
func architecture(c *tritonparse.Compilation, v *vendors.Vendor) string {
	target := jsontext.Get(c.Metadata, "target", "arch")
	if isNumber(string(target)) {
		return string(target)
	}
	arch := jsontext.Text(jsontext.Get(c.Metadata, "arch"))
	if arch == "" {
		arch = jsontext.Text(target)
	}
	if digits := strings.TrimRight(strings.TrimLeft(arch, v.ArchPrefix), "abf"); isNumber(digits) {
		return digits
	}
	return arch
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}
