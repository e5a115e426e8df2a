package record

import "time"

// ReadingRequest says what is read of whole GPUs while kernels are recorded.
type ReadingRequest struct {
	Energy   bool          // energy, power and clocks, about every tenth of a second
	Counters time.Duration // device-wide hardware counters, each so often; 0: none
}

// Any reports whether anything is to be read.
func (r ReadingRequest) Any() bool { return r != ReadingRequest{} }

// Gauge is something that is read of a whole GPU.
type Gauge struct {
	Metric string  // the metric that its amounts add up to: "energy (J)"; "" for one that is only shown over time
	Lane   string  // what its amount per second is called over time: "power (W)"
	Factor float64 // from amount per second to what the lane shows
	OfWork bool    // amounts are those of work: while nothing ran, nothing was done. All gauges of a reading agree
}

// Reading is what several gauges of one GPU said of an interval. Amounts add up: joules, bytes, and for a share of the time seconds.
type Reading struct {
	Device     uint32
	Gauges     []Gauge // the same slice in each reading of a kind
	Start, End uint64  // ns since 1970, on the clock of activities
	Amounts    []float64
}
