package doctor

import (
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
)

// checks are what is examined for one vendor.
type checks struct {
	*vendors.Vendor
	packages  []string                              // of Python, that have the vendor's library
	driver    []func(r *Report, m Machine)          // what the vendor's driver and GPUs need, before Python is examined
	collector []func(r *Report, m Machine)          // what collecting needs: libraries, which Python may have, other users of them, permissions
	text      func(r *Report, out *strings.Builder) // writes what the report has in addition to its findings
}

// all are the checks of every vendor.
var all = []checks{nvidia, amd}

// present are the checks of the vendors whose driver shows. Where none does, each vendor says what is missing.
func present(m Machine) []checks {
	var shown []checks
	for _, c := range all {
		if c.Present(m.Root) {
			shown = append(shown, c)
		}
	}
	if shown == nil {
		return all
	}
	return shown
}
