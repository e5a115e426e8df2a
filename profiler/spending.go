package profiler

import (
	"fmt"
	"time"

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

	KernelsSampled uint64 // kernels that ran while instructions were sampled
	KernelsOther   uint64 // kernels that ran while they were not
}

func (d *drainer) spent() *Spending {
	s := d.spending
	if s == nil {
		return nil
	}
	out := &Spending{Totals: s.Totals, Budget: s.Share, Waited: s.waited, Drainer: s.rounds + s.governor, Sampler: s.thread, Samples: s.samples, Switched: s.switchable,
		KernelsSampled: s.Compared.Sampled, KernelsOther: s.Compared.Others}
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
	if s.sampling.Mode != 0 && b.Switched && b.Sampled < b.Wall {
		info[profile.InfoSampled] = b.sampledText()
	}
	if s.python && b.PathsLeft > 0 {
		info[profile.InfoThinned] = b.thinnedText()
	}
}

// String is one sentence.
func (s *Spending) String() string {
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
