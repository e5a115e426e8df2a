// Package peaks has the peak rates of GPUs: arithmetic by the width or type of operands, and memory bandwidth. The figures are those of
// datasheets, with the facts of boards that a profile may lack; Peak and Bandwidth turn them into the peak of a device that a profile
// describes, by which util divides.
//
// All figures are for dense matrices: the doubled rates that vendors print for 2:4 sparse matrices are halved. For a GPU that Triton's
// Proton supports, ProtonFlops and ProtonBandwidth give exactly Proton's numbers, which --compat divides by: the 32 and 64 bit peaks of
// those GPUs are fixed fractions of the 8 bit peak.
package peaks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Figures are those of one vendor's GPUs. Architectures are without the features of a full target name (gfx942:sramecc+:xnack-).
type Figures struct {
	// Rates are operations per clock and multiprocessor (SM or CU), by architecture and type of operands. A fused multiply-add is two.
	Rates map[string]Rates
	// As has, by architecture, the types whose operands the units take as those of another type, with that type.
	As map[string]map[string]string
	// Halved reports whether a board runs operands of a type at half of the rate of its architecture; nil: none does.
	Halved func(d profile.Device, dtype string) bool
	// Boards are the names of boards that Complete knows.
	Boards func() []string
	// Complete fills in the facts that a profile lacks of a board that it names.
	Complete func(d *profile.Device)
	// Bandwidth is the peak of the device's memory in byte/s; 0 where the profile lacks a fact, and whether the architecture is known.
	Bandwidth func(d profile.Device) (peak float64, known bool)
	// Units is the number of multiprocessors to which Rates apply; nil: those that the profile counts.
	Units func(d profile.Device) int64

	// Proton's formulas, which --compat divides by: flop/s by width, and byte/s; the results are as Bandwidth's. Rates may lack
	// types that run at the rate of the formula.
	ProtonFlops     func(d profile.Device, width int) (peak float64, known bool)
	ProtonBandwidth func(d profile.Device) (peak float64, known bool)
}

// Rates are operations per clock and multiprocessor by type of operands. 0 says that the units lack the type.
type Rates map[string]float64

// ByType are the figures by the type of a profile's devices.
var ByType = map[string]*Figures{cuda: &nvidia, hip: &amd}

// Architecture is a device's architecture as the tables have it.
func Architecture(d profile.Device) string {
	name, _, _ := strings.Cut(d.Arch, ":")
	return name
}

// Board is the device that has a name, or the only one whose name has all words of it: H200, "A100 SXM4 80GB".
func Board(name string) (profile.Device, error) {
	var all, found []profile.Device
	wordsOf := func(name string) []string {
		return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '-' })
	}
	words := wordsOf(name)
	for kind, figures := range ByType {
		for _, board := range figures.Boards() {
			d := profile.Device{Type: kind, ID: "0", Name: board}
			figures.Complete(&d)
			if strings.EqualFold(board, name) {
				return d, nil
			}
			has := wordsOf(board)
			if all = append(all, d); len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) }) {
				found = append(found, d)
			}
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	what := fmt.Sprintf("%d GPUs are", len(found))
	if len(found) == 0 {
		what, found = "no GPU is", all
	}
	var names []string
	for _, d := range found {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return profile.Device{}, fmt.Errorf("%s called %q: give one of %s", what, name, strings.Join(names, ", "))
}
