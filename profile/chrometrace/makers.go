package chrometrace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// maker says how PyTorch's traces name one maker's devices, which have no type there.
type maker struct {
	deviceType string
	marks      []string                         // what names of its devices contain, one of them each
	arch       func(major, minor uint64) string // nil if the compute capability does not say the architecture
}

var makers = []maker{
	{"CUDA", []string{"NVIDIA", "Tesla", "GeForce", "Quadro", "TITAN", "GRID"},
		func(major, minor uint64) string { return strconv.FormatUint(major*10+minor, 10) }},
	{"HIP", []string{"AMD", "Radeon", "Instinct"}, nil},
}

// setMaker sets a device's type and architecture by its name and compute capability. Both stay empty for a maker that is not known.
func setMaker(d *profile.Device, major, minor uint64) {
	for _, m := range makers {
		if !slices.ContainsFunc(m.marks, func(mark string) bool { return strings.Contains(d.Name, mark) }) {
			continue
		}
		d.Type = m.deviceType
		if m.arch != nil && major > 0 {
			d.Arch = m.arch(major, minor)
		}
		return
	}
}
