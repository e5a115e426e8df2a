package budget

import (
	"math"
	"slices"
	"time"

	"github.com/goproton/goproton/internal/figures"
)

// Comparison estimates what sampling costs, from what ran while instructions were sampled and what ran while they were not. There
// are two measures, and the larger one counts: how much longer kernels of one name and grid take, and how much rarer the program calls
// the vendor's library in a turn that is sampled than in its neighbours that are not. The first one sees the GPU, and the second also the
// driver's work at each launch.
type Comparison struct {
	kernels map[Kernel]*pair
	wall    float64 // ns of sampling in which the kernels ran
	age     time.Duration
	spans   []span
	Sampled uint64 // kernels that ran while instructions were sampled
	Others  uint64 // kernels that ran while they were not

	before, during pace // turns without and with sampling, the last ones in a row
	losses         []float64
	next           int
}

// Kernel is what has one duration: a kernel, by name and grid.
type Kernel struct {
	Name string
	Grid uint64
}

const (
	mostKernels = 4096
	mostSpans   = 512
	halfLife    = 15 * time.Second
	losses      = 32 // comparisons of which the median is taken
	fewest      = 8  // the fewest comparisons, and durations of a kernel on each side, that count
)

// pair has the durations of one kernel, without and with sampling.
type pair [2]struct{ n, sum, squares float64 }

// span is a time without a switch, in ns since 1970. The last one has no end.
type span struct {
	begin, end uint64
	on         bool
}

// pace is how often the program called the vendor's library in some turns.
type pace struct {
	calls uint64
	wall  time.Duration
}

func (p pace) rate() float64 { return float64(p.calls) / float64(max(p.wall, 1)) }

// Switching reports that sampling is about to be switched, and Switched that it was. Kernels that run between the two calls are
// compared with nothing.
func (c *Comparison) Switching(now uint64) {
	if n := len(c.spans); n > 0 && c.spans[n-1].end == 0 {
		c.spans[n-1].end = now
	}
}

// Switched is described with Switching.
func (c *Comparison) Switched(now uint64, on bool) {
	if len(c.spans) == mostSpans {
		c.spans = slices.Delete(c.spans, 0, mostSpans/2)
	}
	c.spans = append(c.spans, span{begin: now, on: on})
}

// Add adds a kernel. Its record comes late, so the kernel may belong to a span some switches ago.
func (c *Comparison) Add(k Kernel, begin, end uint64) {
	i, found := slices.BinarySearchFunc(c.spans, begin, func(s span, t uint64) int {
		if s.begin <= t {
			return -1
		}
		return 1
	})
	if found || i == 0 {
		return
	}
	s := c.spans[i-1]
	if s.end != 0 && end > s.end {
		return // it ran while sampling was switched
	}
	side := 0
	if s.on {
		side = 1
		c.Sampled++
	} else {
		c.Others++
	}
	if c.kernels == nil {
		c.kernels = map[Kernel]*pair{}
	}
	p := c.kernels[k]
	if p == nil {
		if len(c.kernels) == mostKernels {
			return
		}
		p = &pair{}
		c.kernels[k] = p
	}
	took := float64(end - begin)
	p[side].n++
	p[side].sum += took
	p[side].squares += took * took
}

// turn adds a turn to the comparison of how often the program calls.
func (c *Comparison) turn(s Turn) {
	now := pace{s.Calls, s.Wall}
	if s.Sampled {
		c.wall += float64(s.Wall)
		c.during.calls += now.calls
		c.during.wall += now.wall
	} else {
		if c.during.wall > 0 && c.before.calls > 0 && now.calls > 0 {
			around := (c.before.rate() + now.rate()) / 2
			c.lose(1 - c.during.rate()/around)
		}
		c.before, c.during = now, pace{}
	}
	if c.age += s.Wall; c.age >= halfLife {
		c.fade()
	}
}

func (c *Comparison) lose(share float64) {
	if len(c.losses) < losses {
		c.losses = append(c.losses, share)
		return
	}
	c.losses[c.next%losses] = share
	c.next++
}

// fade halves the weight of earlier kernels, so that the estimate follows the program.
func (c *Comparison) fade() {
	c.age = 0
	c.wall /= 2
	for k, p := range c.kernels {
		if p[0].n+p[1].n < 1 {
			delete(c.kernels, k)
			continue
		}
		for i := range p {
			p[i].n, p[i].sum, p[i].squares = p[i].n/2, p[i].sum/2, p[i].squares/2
		}
	}
}

// Estimate is the share of the time that the program loses while instructions are sampled.
type Estimate struct {
	Known  bool    // there is enough to compare
	Final  bool    // both measures that the program allows are known
	Likely float64 // the estimate itself, by which the next turns are decided
	Sure   float64 // Likely if that is at least twice its uncertainty, else 0; this is what is reported
}

func estimate(share, uncertainty float64) Estimate {
	e := Estimate{Known: true, Likely: min(max(share, 0), 1)}
	if e.Likely >= 2*uncertainty {
		e.Sure = e.Likely
	}
	return e
}

// Cost is the larger estimate of the two.
func (c *Comparison) Cost() Estimate {
	durations, calls := c.durations(), c.calls()
	return Estimate{
		Known:  durations.Known || calls.Known,
		Final:  calls.Known || durations.Known && len(c.losses) == 0,
		Likely: max(durations.Likely, calls.Likely), Sure: max(durations.Sure, calls.Sure),
	}
}

// durations estimates the cost as the time by which kernels took longer, as a share of the time of sampling.
func (c *Comparison) durations() (none Estimate) {
	var longer, variance float64
	known := false
	for _, p := range c.kernels {
		off, on := p[0], p[1]
		if off.n < fewest || on.n < fewest {
			continue
		}
		known = true
		longer += on.sum - on.n*off.sum/off.n
		spread := func(n, sum, squares float64) float64 { return max(squares/n-sum*sum/(n*n), 0) / n }
		variance += on.n * on.n * (spread(on.n, on.sum, on.squares) + spread(off.n, off.sum, off.squares))
	}
	if !known || c.wall <= 0 {
		return none
	}
	return estimate(longer/c.wall, math.Sqrt(variance)/c.wall)
}

// calls estimates the cost by how much more rarely the program called, as the median of the last comparisons. The first
// comparisons only make a guess.
func (c *Comparison) calls() Estimate {
	if len(c.losses) < fewest {
		return Estimate{Likely: c.guess()}
	}
	middle := figures.Median(c.losses)
	far := make([]float64, len(c.losses))
	for i, x := range c.losses {
		far[i] = math.Abs(x - middle)
	}
	// 1.48 median deviations are a standard deviation, and a median varies 1.25 times as much as a mean.
	return estimate(middle, 1.48*1.25*figures.Median(far)/math.Sqrt(float64(len(far))))
}

// guess is the cost on which the first comparisons agree.
func (c *Comparison) guess() float64 {
	switch len(c.losses) {
	case 0:
		return 0
	case 1, 2:
		return max(slices.Min(c.losses), 0)
	}
	return max(figures.Median(c.losses), 0)
}
