package callpath

// drift is how fast the GPU's clock runs ahead of that of activities. Two crystals tell the time, so it differs from machine to
// machine and hardly changes on one: 2.5 µs in a second on one H200, -22.9 on one H100, there within 0.1 for 50 s.
type drift struct {
	rate float64 // ns in a ns
	err  float64 // by how much rate may be wrong; 0 means that nothing is known
	from point   // where the time that is measured began
}

// point is how far the GPU's clock was ahead at a time of activities.
type point struct {
	at    uint64
	ahead int64
}

const (
	mostDrift  = 200e-6         // of two crystals of 100 ppm
	leastError = 2e-6           // crystals change with the temperature
	showsWrong = 3000           // ns: what two activities may show wrongly
	longSpan   = 10_000_000_000 // ns: long enough for leastError; what was measured before is forgotten
)

// saw takes how far the clock was ahead.
func (d *drift) saw(p point) {
	if d.from.at == 0 {
		d.from = p
	}
	if p.at <= d.from.at {
		return
	}
	span := float64(p.at - d.from.at)
	if err := max(showsWrong/span, leastError); err < d.doubt() || span > longSpan {
		d.rate, d.err = float64(p.ahead-d.from.ahead)/span, err
	}
	if span > longSpan {
		d.from = p
	}
}

func (d *drift) doubt() float64 {
	if d.err == 0 {
		return mostDrift
	}
	return d.err
}

// over returns how much the clock gains in so many ns, and by how much that may be wrong.
func (d *drift) over(ns int64) (gain, wrong int64) {
	return int64(d.rate * float64(ns)), int64(d.doubt() * float64(max(ns, -ns)))
}
