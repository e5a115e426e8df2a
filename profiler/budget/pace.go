package budget

import "math"

// Span is a time in which the program launched kernels: how many, and how long it took.
type Span struct{ Launches, Nanos float64 }

func (s Span) pace() float64 { return s.Launches / s.Nanos }

// Pace compares how fast the program launches while its kernels are timed with how fast it does while nothing is attached, window by
// window: each window with the times before and after it, because programs have phases, and the machine's speed drifts. The ratio of the
// sums, and not the mean of ratios, is unbiased where one window has other work than the next.
type Pace struct {
	before      Span // the last time without
	all, recent sums
}

// sums of windows: launches, and what they would have been at the pace without. n is how many.
type sums struct{ n, got, fair, gotGot, gotFair, fairFair float64 }

const (
	fewestWindows = 8
	fading        = 1.0 / 64 // of what is recent, with each window
)

// Add adds a time in which nothing was attached, and the window that ended with its beginning.
func (p *Pace) Add(window, without Span) {
	if window.Nanos > 0 && without.Nanos > 0 && p.before.Nanos > 0 {
		around := Span{p.before.Launches + without.Launches, p.before.Nanos + without.Nanos}
		p.all.add(window.Launches, around.pace()*window.Nanos, 0)
		p.recent.add(window.Launches, around.pace()*window.Nanos, fading)
	}
	p.before = without
}

func (s *sums) add(got, fair, fade float64) {
	for _, x := range []*float64{&s.n, &s.got, &s.fair, &s.gotGot, &s.gotFair, &s.fairFair} {
		*x *= 1 - fade
	}
	s.n++
	s.got += got
	s.fair += fair
	s.gotGot += got * got
	s.gotFair += got * fair
	s.fairFair += fair * fair
}

// loss is the share of its pace that the program loses, with its standard error.
func (s *sums) loss() Loss {
	if s.n < fewestWindows-1 || s.fair <= 0 {
		return Loss{}
	}
	ratio := s.got / s.fair
	squares := max(s.gotGot-2*ratio*s.gotFair+ratio*ratio*s.fairFair, 0)
	return Loss{Known: true, Share: 1 - ratio, Error: math.Sqrt(squares*s.n/(s.n-1)) / s.fair}
}

// Loss is the share of its pace that the program loses while kernels are timed. It may be below 0, by chance.
type Loss struct {
	Known        bool
	Share, Error float64
}

// planned is what is reckoned with: a bit more than what is known, while it is not known well.
func (l Loss) planned() float64 { return min(max(l.Share+l.Error, 0), 0.9) }

// perLaunch is what the record of a kernel and the callback of its launch take at most, in ns of the launching thread: 500 to 1,100, as
// measured on an H200. What the GPU loses is not part of it.
const perLaunch = 1100

// with returns the loss together with what is known of every program that launches so often in a ns. Where the comparison is exact, it
// decides; where windows differ much, because the program has phases, or where there were few, what is known of every program does.
func (l Loss) with(launches float64) Loss {
	known := min(launches*perLaunch, 0.5) / 2
	doubt := max(known, 0.03)
	if !l.Known {
		return Loss{Share: known, Error: doubt}
	}
	of := doubt * doubt / (doubt*doubt + l.Error*l.Error)
	return Loss{Known: true, Share: of*l.Share + (1-of)*known, Error: math.Sqrt(of) * l.Error}
}

// Loss returns that of the whole run, and that of the last windows, of a program that launches so often in a ns.
func (p *Pace) Loss(launches float64) (all, recent Loss) {
	return p.all.loss().with(launches), p.recent.loss().with(launches)
}
