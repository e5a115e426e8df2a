package specs

import "math"

// Roof is the roofline model of one piece of work: the time that it needs at least on its device. Both the tables of call
// paths and those of specialisations add their work to one, so that a kernel has one share of the roof wherever it is shown.
//
// Operations of several types take turns on the units that do them, so their times add up. Operations and memory traffic
// overlap, so the longer of both is what the work needs. Work of which a peak is unknown has no least time: the half that is
// known would pass for a low utilisation.
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

// Parts are the times that the operations and the traffic need, in seconds; 0 where there is none.
func (r *Roof) Parts() (compute, memory float64) { return r.compute, r.memory }

// Bound is what limits work whose parts add up to these times: "compute" or "memory".
func Bound(compute, memory float64) string {
	if memory > compute {
		return "memory"
	}
	return "compute"
}
