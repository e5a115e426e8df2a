package inside

// Measure is what the blocks of one kernel say about the clock of the multiprocessors while it ran. That is not the clock between launches:
// tensor cores that start to work slow it down, from 1.98 to 1.70 cycles per ns on an H200, in kernels of 7 µs and on 8 of 132
// multiprocessors too. The sums of several launches add up.
type Measure struct {
	All, Enclosed Passed // blocks; those whose entries enclose what the kernel does

	// Between the first entries of the first and of the last block of a multiprocessor, where a launch had several.
	Waves Passed
}

// Passed is how many cycles passed in some spans of time.
type Passed struct{ Spans, Cycles, Nanos uint64 }

func (p *Passed) add(spans, cycles, nanos uint64) {
	p.Spans, p.Cycles, p.Nanos = p.Spans+spans, p.Cycles+cycles, p.Nanos+nanos
}

// What passes outside of the entries that enclose a block, in ns. It was 41 to 52 in blocks of 0.25 to 71 µs of a simple kernel on an H200, and
// at most 290 in those of a matmul.
const (
	leastOutside = 30
	usualOutside = 50
	mostOutside  = 300
)

const (
	leastWave = 4000 // ns between the first and the last block of a multiprocessor
	waveNoise = 150  // ns by which blocks may differ in how long they take to their first entry, with the steps of the timer
)

// Add adds other blocks.
func (m *Measure) Add(o *Measure) {
	m.All.add(o.All.Spans, o.All.Cycles, o.All.Nanos)
	m.Enclosed.add(o.Enclosed.Spans, o.Enclosed.Cycles, o.Enclosed.Nanos)
	m.Waves.add(o.Waves.Spans, o.Waves.Cycles, o.Waves.Nanos)
}

// block adds one.
func (m *Measure) block(b *Block) {
	m.All.add(1, b.Last-b.First, b.PreFinal-b.Init)
	if b.Enclosed {
		m.Enclosed.add(1, b.Last-b.First, b.PreFinal-b.Init)
	}
}

// Rate is how many cycles the clock made in a ns while the kernel ran, and by how much that may be off; as much as the rate itself if it has
// no upper bound. The rate of the device's clock counts where nothing contradicts it.
func (m *Measure) Rate(c *Clock) (rate, off float64) {
	if m.All.Nanos == 0 {
		return c.Rate(), c.Rate()
	}
	rate, off = m.inBlocks(c)
	if m.Waves.Spans > 0 {
		waves := m.Waves.without(0)
		if noise := waves * waveNoise * float64(m.Waves.Spans) / float64(m.Waves.Nanos); noise < off {
			return waves, noise
		}
	}
	return rate, off
}

// inBlocks is the rate by what single blocks ran.
func (m *Measure) inBlocks(c *Clock) (rate, off float64) {
	if m.Enclosed.Nanos == 0 {
		least := m.All.without(0)
		if !c.Measured() || c.slope < least {
			rate = max(least, c.inBlock)
			return rate, rate
		}
		return c.slope, c.slope - least
	}
	least, most := m.Enclosed.without(leastOutside), m.Enclosed.without(mostOutside)
	switch {
	case !c.Measured():
		rate = m.Enclosed.without(usualOutside)
	case c.slope > most:
		rate = (least + most) / 2
	default:
		rate = max(c.slope, least)
		most = rate
	}
	return rate, max(rate-least, most-rate)
}

// without is the rate if so many ns of each span passed before or after its cycles.
func (p *Passed) without(outside float64) float64 {
	ran := float64(p.Nanos)
	return float64(p.Cycles) / (ran - min(outside*float64(p.Spans), ran/2))
}
