package doctor

import (
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
)

// checks are what is examined for one vendor.
type checks struct {
	*vendors.Vendor
	shows     func(m Machine) bool                  // also says that the driver is there, without devices that can be opened; may be nil
	container string                                // what to start a container with
	packages  []string                              // of Python, that have the vendor's library
	driver    []func(r *Report, m Machine)          // what the vendor's driver and GPUs need, before Python is examined
	collector []func(r *Report, m Machine)          // what collecting needs: libraries, which Python may have, other users of them, permissions
	text      func(r *Report, out *strings.Builder) // writes what the report has in addition to its findings
}

// all are the checks of every vendor.
var all = []checks{nvidia, amd}

// present are the checks of the vendors whose driver shows.
func present(m Machine) (shown []checks) {
	for _, c := range all {
		if c.Present(m.Root) || c.shows != nil && c.shows(m) {
			shown = append(shown, c)
		}
	}
	return shown
}

// noGPU is the one finding about a machine on which no vendor's driver shows: what each vendor's library would need does not matter there.
func (r *Report) noGPU(m Machine) {
	fix := "if the machine has one, install its driver and load it; in a container, start it with "
	for i, c := range all {
		if i > 0 {
			fix += ", or "
		}
		fix += c.container + " for " + c.Name
	}
	r.found("GPUs", Problem, "no GPU that can be used here: "+vendors.NoDriver(m.Root), fix)
}

// withoutGPU is what works on such a machine.
var withoutGPU = [][2]string{
	{"  proton viewer, report, explain, diff", "profiles and traces that were recorded elsewhere"},
	{"  proton demo", "a profile that was recorded on a GPU"},
	{"  proton run --backend replay CAPTURE", "a run whose work on a GPU was recorded"},
	{"  proton interpret PROGRAM", "Triton's kernels on the CPU; needs Triton in Python"},
}
