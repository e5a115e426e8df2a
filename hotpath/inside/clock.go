package inside

import "math"

// Clock measures how many cycles the multiprocessors of one GPU make in a ns, between launches and in them; a Measure has those of one
// kernel while it ran. Every block gives two points of its
// multiprocessor: its first entry is made after the global timer was read, and its last one before. The counters of
// multiprocessors are offset from each other, by 55,685 cycles on an H200, and run at one rate. So the rate is the common slope
// of lines through the first points of each multiprocessor; what passes between the timer and the first entry is the same for
// each launch of a kernel and moves the lines only. As long as launches are too few for that, or too close together, the rate is
// the largest that one block shows: that is too low by the part of its time that lies before its first and behind its last entry.
type Clock struct {
	lines   map[uint32]*line // by multiprocessor
	slope   float64          // common slope of the lines; 0 if it is not known
	inBlock float64          // the largest rate that a block of the last launches showed
	newest  float64          // the same of the launches since then, for the next inBlock
	ended   int              // launches
	blocks  Measure          // of the launch that is being added
	launch  launchClock
}

// line is what is known of a multiprocessor: sums for the slope, since the points last began to make a line.
type line struct {
	n            float64
	meanX, meanY float64 // from the origin
	xx, xy       float64 // sums of products of distances from the means

	originX, originY uint64
	lastX, lastY     uint64 // the newest point

	wave wave // of the launch that is being added
}

// wave are the blocks of a multiprocessor in one launch that began first and last.
type wave struct {
	blocks        int
	beginX, lastX uint64 // their inits
	beginY, lastY uint64 // their first entries
	mask          uint64 // clocks are known up to a wrap
}

func (w *wave) add(b *Block) {
	if w.blocks++; w.blocks == 1 || b.Init < w.beginX {
		w.beginX, w.beginY = b.Init, b.First
	}
	if w.blocks == 1 || b.Init > w.lastX {
		w.lastX, w.lastY = b.Init, b.First
	}
	w.mask = b.mask()
}

// end adds the wave to those of the launch.
func (w *wave) end(m *Measure) {
	if apart := w.lastX - w.beginX; apart >= leastWave && apart < longestGap {
		m.Waves.add(1, (w.lastY-w.beginY)&w.mask, apart)
	}
	*w = wave{}
}

// launchClock holds the rate and the offsets of the multiprocessors in one launch.
type launchClock struct {
	rate    float64
	begin   uint64 // init of the first block
	offsets map[uint32]*bounds
}

// bounds are the largest and the smallest clock that a multiprocessor can have had at the begin of a launch.
type bounds struct{ most, least float64 }

const (
	leastSpread   = 2e5     // ns that the points of a line have to lie apart, as their standard deviation
	leastBlock    = 200     // ns that a block has to run to show a rate: the timer makes steps of 32 ns
	forgetAfter   = 64      // points of a line until older ones count half
	launchesKept  = 64      // for the rate of one block
	longestGap    = 1e9     // ns after which 32 bits have wrapped an unknown number of times
	slackOfLine   = 2e4     // cycles by which a point may be off its line, which has to do with how blocks begin
	relativeSlack = 0.02    // and by which a rate may change
	slowestClock  = 0.1     // cycles per ns
	fastestClock  = maxRate // cycles per ns
)

// Add takes in a block. The blocks of a launch follow each other.
func (c *Clock) Add(b *Block) {
	if b.First == 0 || b.Last-b.First > b.longest() {
		return
	}
	c.blocks.block(b)
	if ran := b.PreFinal - b.Init; ran >= leastBlock {
		// Both readings of the timer are rounded down to a step.
		c.newest = max(c.newest, min(float64(b.Last-b.First)/float64(ran+32), fastestClock))
		c.inBlock = max(c.inBlock, c.newest)
	}
	if c.lines == nil {
		c.lines = map[uint32]*line{}
	}
	l := c.lines[b.SM]
	if l == nil {
		l = &line{}
		c.lines[b.SM] = l
	}
	l.add(b, c.guess())
	l.wave.add(b)
}

// guess is a rate to begin with.
func (c *Clock) guess() float64 {
	if r := c.Rate(); r > 0 {
		return r
	}
	return 1.5
}

// Rate is how many cycles the clocks make in a ns, also while no kernel runs; 0 if that is not known.
func (c *Clock) Rate() float64 {
	if c.slope > 0 {
		return c.slope
	}
	return c.inBlock
}

// Measured reports whether the rate is that of lines over several launches, and not that of one block.
func (c *Clock) Measured() bool { return c.slope > 0 }

func (l *line) restart(b *Block) {
	*l = line{n: 1, originX: b.Init, originY: b.First, lastX: b.Init, lastY: b.First, wave: l.wave}
}

func (l *line) add(b *Block, rate float64) {
	gap := int64(b.Init - l.lastX)
	if l.n == 0 || gap < -longestGap || gap > 60*longestGap || b.Clock32 && gap > longestGap {
		l.restart(b)
		return
	}
	// The clock is known up to a wrap: it is where the line is expected to be, or near it.
	mask := b.mask()
	expected := l.lastY + uint64(int64(rate*float64(gap)))
	off := (b.First - expected) & mask
	if off > mask>>1 {
		off -= mask + 1
	}
	if math.Abs(float64(int64(off))) > slackOfLine+relativeSlack*math.Abs(float64(gap))*rate && l.n > 1 {
		l.restart(b)
		return
	}
	y := expected + off
	x, dy := float64(int64(b.Init-l.originX)), float64(int64(y-l.originY))
	if gap > 0 {
		l.lastX, l.lastY = b.Init, y
	}
	if l.n >= forgetAfter {
		l.n, l.xx, l.xy = l.n/2, l.xx/2, l.xy/2
	}
	l.n++
	d := x - l.meanX
	l.meanX += d / l.n
	l.xx += d * (x - l.meanX)
	l.meanY += (dy - l.meanY) / l.n
	l.xy += d * (dy - l.meanY)
}

// mask has the bits of a clock that are known.
func (b *Block) mask() uint64 {
	if b.Clock32 {
		return 1<<32 - 1
	}
	return clockMask
}

// EndLaunch draws the lines anew, with the points of a launch that has been added, and returns what its blocks said.
func (c *Clock) EndLaunch() (m Measure) {
	m, c.blocks = c.blocks, Measure{}
	for _, l := range c.lines {
		l.wave.end(&m)
	}
	c.draw()
	return m
}

func (c *Clock) draw() {
	if c.ended++; c.ended%launchesKept == 0 {
		c.inBlock, c.newest = c.newest, 0
	}
	var n, xx, xy float64
	for _, l := range c.lines {
		if l.n >= 2 {
			n, xx, xy = n+l.n, xx+l.xx, xy+l.xy
		}
	}
	if n == 0 || math.Sqrt(xx/n) < leastSpread {
		return
	}
	slope := xy / xx
	if slope < max(slowestClock, c.inBlock*(1-relativeSlack)) || slope > fastestClock {
		return // the clocks stood still between launches, or the points are of something else
	}
	c.slope = slope
}

// Place learns where the clocks of a launch's multiprocessors stand. It takes blocks that have been added.
func (c *Clock) Place(b *Block) {
	if b.First == 0 || b.Last-b.First > b.longest() {
		return
	}
	p := &c.launch
	if p.offsets == nil {
		p.offsets, p.begin = map[uint32]*bounds{}, b.Init
	}
	rate := p.rate
	most := float64(b.First) - rate*float64(int64(b.Init-p.begin))
	least := float64(b.Last) - rate*float64(int64(b.PreFinal-p.begin))
	s := p.offsets[b.SM]
	if s == nil {
		p.offsets[b.SM] = &bounds{most, least}
		return
	}
	s.most, s.least = min(s.most, most), max(s.least, least)
}

// Nanos converts a clock of a block of the launch that was placed into ns of the global timer. The result lies within the block.
func (c *Clock) Nanos(b *Block, cycles uint64) uint64 {
	s := c.launch.offsets[b.SM]
	if s == nil {
		return b.Init
	}
	offset := s.most
	if s.least < s.most {
		offset = (s.most + s.least) / 2
	}
	at := c.launch.begin + uint64(int64((float64(cycles)-offset)/c.launch.rate))
	return min(max(at, b.Init), max(b.PreFinal, b.Init))
}

// BeginLaunch forgets where the clocks stood. rate is that of the launch; 0 if it is not known.
func (c *Clock) BeginLaunch(rate float64) {
	if rate <= 0 {
		rate = c.guess()
	}
	c.launch = launchClock{rate: rate}
}
