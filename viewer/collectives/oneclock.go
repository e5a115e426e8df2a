package collectives

import (
	"fmt"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
)

// OneClock moves the timelines of ranks to the clock of the first one. It returns nil if they have no collective in common.
func OneClock(all []merge.Member, note func(string)) *Report {
	var ranks []Rank
	for _, s := range all {
		if t := s.Profile.Timeline; t != nil {
			info := s.Profile.Info
			ranks = append(ranks, Rank{Label: s.Name(), Host: info[profile.InfoHost], Run: info[profile.InfoJob] + " " + info.Attempt(), Timeline: t})
		}
	}
	switch {
	case len(ranks) == 0:
		note("no file has a timeline; record them with proton run -d trace")
		return nil
	case len(ranks) < 2:
		return nil
	}
	report := Compare(ranks)
	if report.Collectives == 0 {
		note("the clocks of the hosts are not aligned: no collective of NCCL was found that two of the timelines have in common")
		return nil
	}
	for i, rank := range ranks {
		report.Align(i, rank.Timeline)
	}
	for _, label := range report.Unaligned {
		note(fmt.Sprintf("%s has its own clock: it has no collective in common with %s", label, ranks[0].Label))
	}
	return report
}
