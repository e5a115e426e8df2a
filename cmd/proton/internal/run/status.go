package run

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/internal/runinfo"
)

// summary adds up the status files of all processes of a run.
type summary struct {
	Processes    []runinfo.Status // by process id
	Kernels      int64
	GPUTimeNanos int64
	Lost         int64
	Unattributed int64
	Sampling     runinfo.Sampling
	Push         runinfo.PushStatus
	Counters     runinfo.Counters
	Budgets      []runinfo.Budget // of processes that recorded something
	GPU          string
	Files        []string
	Problems     []string // each once
	Harmless     []string // of Problems: those for which no kernel is missing
	Notes        []string // each once
	Unfinished   []runinfo.Status
	Windows      *runinfo.Windows // of all processes that have them; nil: none has
}

func readSummary(folder string) (summary, error) {
	list, err := runinfo.ReadStatuses(folder)
	if err != nil {
		return summary{}, err
	}
	s := summary{Processes: list}
	for _, p := range list {
		s.add(p)
	}
	slices.Sort(s.Files) // the plain name before those with a process id
	return s, nil
}

func (s *summary) add(p runinfo.Status) {
	s.Kernels += p.Kernels
	s.GPUTimeNanos += p.GPUTimeNanos
	s.Lost += p.Lost
	s.Unattributed += p.Unattributed
	s.Sampling.Add(p.Sampling)
	if p.Push != nil {
		s.Push.Add(*p.Push)
	}
	if p.Counters != nil {
		s.Counters.Add(*p.Counters)
	}
	if p.Budget != nil && p.Kernels > 0 {
		s.Budgets = append(s.Budgets, *p.Budget)
	}
	s.GPU = cmp.Or(s.GPU, p.GPU)
	s.Files = appendNew(s.Files, p.Files)
	s.Problems = appendNew(s.Problems, p.Problems)
	s.Harmless = appendNew(s.Harmless, p.Harmless)
	s.Notes = appendNew(s.Notes, p.Notes)
	if w := p.Windows; w != nil {
		if s.Windows == nil {
			s.Windows = &runinfo.Windows{}
		}
		s.Windows.Opened += w.Opened
		s.Windows.Nanos += w.Nanos
		if s.Windows.Why == "" && p.UsedGPU {
			s.Windows.Why = w.Why
		}
	}
	if !p.Finished && len(p.Files) > 0 {
		s.Unfinished = append(s.Unfinished, p)
	}
}

// appendNew appends what a short list does not have yet: ranks of one job share their problems.
func appendNew(list, more []string) []string {
	for _, text := range more {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
