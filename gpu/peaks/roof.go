package peaks

import "math"

// Roof is the roofline model of one piece of work: the shortest time in which its device can do it. The tables of call paths
// and those of specialisations both compute it with this type, so that a kernel has the same share of the roof in both.
//
// Operations of different types share execution units, so their times add up. Operations and memory traffic overlap, so the
// longer of the two is the shortest time. Work with an unknown peak has no shortest time: the known part alone would give
// a utilisation that is too low.
type Roof struct {
	compute, memory float64 // in seconds
	unknown         bool
}

// Compute adds operations of one type of operands. A peak that is not positive is unknown.
func (r *Roof) Compute(operations, peak float64) { r.add(&r.compute, operations, peak) }

// Move adds traffic of the device's memory, in bytes.
func (r *Roof) Move(bytes, bandwidth float64) { r.add(&r.memory, bytes, bandwidth) }

func (r *Roof) add(sum *float64, amount, peak float64) {
	switch {
	case !(amount > 0):
	case !(peak > 0):
		r.unknown = true
	default:
		*sum += amount / peak
	}
}

// Least is the time that the work needs at least, in seconds; NaN if there is no work or if a peak is unknown.
func (r *Roof) Least() float64 {
	if r.unknown || r.compute == 0 && r.memory == 0 {
		return math.NaN()
	}
	return max(r.compute, r.memory)
}

// Parts are the shortest times of the operations and of the memory traffic, in seconds; 0 without any.
func (r *Roof) Parts() (compute, memory float64) { return r.compute, r.memory }

// Bound is what limits work whose parts add up to these times: "compute" or "memory".
func Bound(compute, memory float64) string {
	if memory > compute {
		return "memory"
	}
	return "compute"
}
