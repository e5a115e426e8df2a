package profiler

import (
	"fmt"
	"time"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/budget"
)

// Spending is what became of a budget so far.
type Spending struct {
	budget.Totals
	Budget   float64       // the share of the time that was asked for
	Waited   time.Duration // time that the program waited for the sampler, to be set up and while code was unloaded; not part of Lost
	Drainer  time.Duration // CPU time of the threads that drain, aggregate and write, which run on another core
	Sampler  time.Duration // CPU time of the thread that reads samples
	Samples  bool          // instructions are sampled
	Switched bool          // sampling can rest
	Python   bool          // some session has Python call paths

	Now     bool          // kernels are timed now
	Timing  budget.Loss   // the share of its pace that the program loses while kernels are timed, where they are timed in windows
	Timed   time.Duration // how long kernels were timed
	All     time.Duration // of that time; 0: kernels were timed all the time
	Windows int

	KernelsSampled uint64 // kernels that ran while instructions were sampled
	KernelsOther   uint64 // kernels that ran while they were not
}

func (d *drainer) spent() *Spending {
	s := d.spending
	if s == nil {
		return nil
	}
	out := &Spending{Totals: s.Totals, Budget: s.Share, Waited: s.waited, Drainer: s.rounds + s.governor, Sampler: s.thread, Samples: s.samples, Switched: s.switchable,
		KernelsSampled: s.Compared.Sampled, KernelsOther: s.Compared.Others, Now: d.records() && !s.resting()}
	if t := s.timing; t != nil && t.weights.Windows() > 1 {
		s.until(hotpath.Now())
		all, timed := t.weights.Time()
		s.until(0)
		out.Timing, _ = t.plan.Loss()
		out.All, out.Timed, out.Windows = time.Duration(all), time.Duration(timed), t.weights.Windows()
	}
	for _, x := range d.list {
		out.Python = out.Python || x.python
	}
	return out
}

// describeBudget adds what a reader of the profile has to know.
func (d *drainer) describeBudget(s *session, info profile.Info) {
	b := d.spent()
	if b == nil || b.Wall == 0 {
		return
	}
	info[profile.InfoBudget] = b.String()
	if text := d.estimatedText(); text != "" {
		info[profile.InfoEstimated] = text
	}
	if s.sampling.Mode != 0 && b.Switched && b.Sampled < b.Wall {
		info[profile.InfoSampled] = b.sampledText()
	}
	if s.python && b.PathsLeft > 0 {
		info[profile.InfoThinned] = b.thinnedText()
	}
}

// Share is the share of the program's time that the profiler took. While kernels are timed in windows it is measured by comparison of the
// program's pace, which has the work of the vendor's library in it, and everything that the profiler does at launches. Until there are enough
// windows, it is what is known of programs that launch so often, or what was measured in the process, whichever is more.
func (s *Spending) Share() float64 {
	if s.byPace() {
		return s.paced()
	}
	return s.Totals.Share()
}

// paced has the hooks too: they cost as much between windows, so no comparison has them.
func (s *Spending) paced() float64 {
	return (max(s.Timing.Share, 0)*float64(s.Timed) + s.Switching + s.Hooks) / float64(s.All)
}

func (s *Spending) byPace() bool {
	return s.All > 0 && (s.Timing.Known || s.paced() >= s.Totals.Share())
}

// String is one sentence.
func (s *Spending) String() string {
	if s.byPace() {
		lost := "in which the program lost %s of its pace"
		if !s.Timing.Known {
			lost = "in which programs that launch as often lose some %s of their pace"
		}
		return fmt.Sprintf("GoProton took %s ± %s of the program's time, of a budget of %s: kernels were timed for %s of it, "+lost+", the changes took %s, and hooks %s",
			percent(s.Share()), percent(s.Timing.Error*float64(s.Timed)/float64(s.All)), percent(s.Budget), figures.Share(float64(s.Timed)/float64(s.All)),
			percent(max(s.Timing.Share, 0)), percent(s.Switching/float64(s.All)), percent(s.Hooks/float64(s.All)))
	}
	return fmt.Sprintf("GoProton took %s of the program's time, of a budget of %s: callbacks %s, hooks %s, Python call paths %s, sampling %s",
		percent(s.Share()), percent(s.Budget), s.part(s.Callbacks), s.part(s.Hooks), s.part(s.Paths), s.part(s.Sampling+s.Switching))
}

func (s *Spending) part(nanos float64) string { return percent(nanos / float64(max(s.Wall, 1))) }

// percent has two digits after the point: budgets are a percent, and less.
func percent(share float64) string { return fmt.Sprintf("%.2f%%", 100*share) }

func (s *Spending) sampledText() string {
	all := s.KernelsSampled + s.KernelsOther
	text := fmt.Sprintf("instructions were sampled for %s of the time", figures.Share(float64(s.Sampled)/float64(s.Wall)))
	if all > 0 {
		text += fmt.Sprintf(" and %s of the kernels", figures.Share(float64(s.KernelsSampled)/float64(all)))
	}
	return text + ", within a budget; numbers of samples are not scaled"
}

func (s *Spending) thinnedText() string {
	all := s.PathsTaken + s.PathsLeft
	return fmt.Sprintf("the Python call paths of %s of %s were not taken, within a budget: these stand below (path not taken), and times and counts are complete",
		figures.Share(float64(s.PathsLeft)/float64(all)), figures.Count(all, "launch"))
}
