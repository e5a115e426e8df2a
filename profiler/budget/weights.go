package budget

import (
	"math"
	"slices"
)

// Weights are those of the windows in which kernels were timed. The time between two windows is shared by them, half and half: a window
// of 100 ms with 400 ms before and after it stands for 500 ms, and what was recorded in it counts five times. Windows begin at random
// moments, so sums of what was recorded, times the weights, are unbiased. In a window the program is slower, so the time between windows
// counts for more than it is long: see Slower.
//
// A window is known by the numbers of launch sets: its own from first on, up to that of the next window.
type Weights struct {
	Slower float64 // the share of its pace that the program loses while kernels are timed, as it is known now

	windows []window
	until   float64 // ns; up to where the last window stands for the time after it; 0: not known
}

type window struct {
	first      uint32
	begin, end float64 // ns; end is 0 while the window is open
	stalled    float64 // ns of the time after it in which the program did nothing, because of changes
	paused     float64 // and in which no session recorded
}

// Begin begins a window: launch sets from first on are part of it.
func (w *Weights) Begin(first uint32, now uint64) {
	w.windows, w.until = append(w.windows, window{first: first, begin: float64(now)}), 0
}

// Began says when the window that has begun records everything. It does not stand for the time until then.
func (w *Weights) Began(now uint64) {
	last := w.last()
	if last == nil || last.end != 0 {
		return
	}
	if n := len(w.windows); n > 1 {
		w.windows[n-2].stalled += float64(now) - last.begin
	}
	last.begin = float64(now)
}

// End ends it.
func (w *Weights) End(now uint64) {
	if last := w.last(); last != nil && last.end == 0 {
		last.end = max(float64(now), last.begin+1)
	}
}

// Stall says that the program did nothing for so many ns after the last window, because it waited for the profiler.
func (w *Weights) Stall(nanos float64) {
	if last := w.last(); last != nil {
		last.stalled += nanos
	}
}

// Pause says that no session recorded for so many ns after the last window.
func (w *Weights) Pause(nanos float64) {
	if last := w.last(); last != nil {
		last.paused += nanos
	}
}

// Until says how far the time reaches for which the last window stands, if none follows.
func (w *Weights) Until(now uint64) { w.until = float64(now) }

func (w *Weights) last() *window {
	if len(w.windows) == 0 {
		return nil
	}
	return &w.windows[len(w.windows)-1]
}

// Resting reports whether the last window has ended, and its weight is not known yet.
func (w *Weights) Resting() bool { last := w.last(); return last != nil && last.end != 0 }

// Windows is how many windows began.
func (w *Weights) Windows() int { return len(w.windows) }

// of returns the number of the window that a launch set is part of.
func (w *Weights) of(set uint32) int {
	if last := len(w.windows) - 1; last >= 0 && set >= w.windows[last].first {
		return last
	}
	at, found := slices.BinarySearchFunc(w.windows, set, func(w window, set uint32) int { return int(int64(w.first) - int64(set)) })
	if !found {
		at--
	}
	return max(at, 0)
}

// Of returns the weight of what a launch set recorded.
func (w *Weights) Of(set uint32) float64 {
	if len(w.windows) == 0 {
		return 1
	}
	return 1 + w.others(w.of(set))*w.faster()
}

// faster is how much more the program does while nothing is attached.
func (w *Weights) faster() float64 { return 1 / (1 - min(max(w.Slower, 0), 0.9)) }

// length is that of a window, in ns.
func (w *Weights) length(i int) float64 {
	x := &w.windows[i]
	if x.end == 0 {
		return max(w.until-x.begin, 1)
	}
	return x.end - x.begin
}

// Latest is the length of the last window, in ns; 0: there was none.
func (w *Weights) Latest() float64 {
	if len(w.windows) == 0 {
		return 0
	}
	return w.length(len(w.windows) - 1)
}

// gap is the time between a window and the next one; of the last window, the time that follows it as far as that is known.
func (w *Weights) gap(i int) float64 {
	if i < 0 || w.windows[i].end == 0 {
		return 0
	}
	end := w.until
	if i+1 < len(w.windows) {
		end = w.windows[i+1].begin
	}
	return max(end-w.windows[i].end-w.windows[i].stalled-w.windows[i].paused, 0)
}

// others is for how many others of its length a window stands; 0 until it is known how long the time after it is.
func (w *Weights) others(i int) float64 {
	after := w.gap(i)
	switch {
	case i+1 < len(w.windows):
		after /= 2
	case w.until == 0:
		return 0
	}
	return (w.gap(i-1)/2 + after) / w.length(i)
}

// Time returns how long sessions have recorded since the first window, and how long the windows are, in ns.
func (w *Weights) Time() (all, timed float64) {
	for i := range w.windows {
		length := w.length(i)
		timed += length
		all += length + w.gap(i) + w.windows[i].stalled
	}
	return all, timed
}

// error returns the variance of what is estimated for the time between two windows with these amounts in a ns. Amounts vary as those
// of independent pieces of time do; how much, the two windows say.
func (w *Weights) error(i int, before, after float64) float64 {
	gap := w.gap(i)
	if gap <= 0 {
		return 0
	}
	spread := 1/w.length(i) + 1/w.length(i+1)
	differ := (before - after) * (before - after)
	return gap * gap * differ * (1/(gap*spread) + 0.25)
}

// Amount is what was recorded of something, or is estimated.
type Amount struct{ Count, Nanos, Bytes float64 }

func (a *Amount) add(x Amount, times float64) {
	a.Count += x.Count * times
	a.Nanos += x.Nanos * times
	a.Bytes += x.Bytes * times
}

// Sum estimates what was not recorded, from what was: what windows stand for. The last window's part is kept apart until the next one
// begins.
type Sum struct {
	others   Amount  // at the pace of windows
	open     Amount  // what was recorded in the last window
	window   int     // of open, counted from 1; 0: nothing was added
	rate     float64 // ns in a ns of the window before it in which something was added
	rated    int     // that window, counted from 1; 0: there was none
	variance float64 // of the time of others
}

// Add adds what a launch set recorded.
func (s *Sum) Add(w *Weights, set uint32, x Amount) {
	at := w.of(set) + 1
	switch {
	case at < s.window: // it came late
		s.others.add(x, w.others(at-1))
		return
	case at > s.window && s.window > 0:
		*s = s.folded(w)
		s.open = Amount{}
	}
	s.window = at
	s.open.add(x, 1)
}

// folded is the sum with its open part added to others.
func (s *Sum) folded(w *Weights) Sum {
	f := *s
	at := s.window - 1
	f.rate, f.rated = s.open.Nanos/w.length(at), s.window
	f.variance += s.change(w, at, f.rate)
	f.others.add(s.open, w.others(at))
	return f
}

// change is the variance of the times between the last windows in which something was added: nothing was in those between them.
func (s *Sum) change(w *Weights, at int, rate float64) (variance float64) {
	before := s.rated - 1
	switch {
	case at == 0:
		return 0
	case before == at-1:
		return w.error(before, s.rate, rate)
	case before >= 0:
		variance = w.error(before, s.rate, 0)
	}
	return variance + w.error(at-1, 0, rate)
}

// Total returns the estimate for all of the time between windows, and the standard error of its Nanos.
func (s *Sum) Total(w *Weights) (total Amount, wrong float64) {
	if s.window == 0 {
		return Amount{}, 0
	}
	f := s.folded(w)
	switch last := len(w.windows) - 1; {
	case s.window <= last:
		f.variance += w.error(s.window-1, f.rate, 0)
	case last > 0:
		f.variance += w.trailing(f.variance)
	}
	total.add(f.others, w.faster())
	return total, math.Sqrt(f.variance) * w.faster()
}

// trailing is the variance of the time after the last window, where that of the times between windows is known.
func (w *Weights) trailing(variance float64) float64 {
	gaps, last := 0.0, len(w.windows)-1
	for i := range last {
		gaps += w.gap(i)
	}
	return variance * w.gap(last) / max(gaps, 1)
}
