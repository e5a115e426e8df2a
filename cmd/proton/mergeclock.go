package main

import (
	"fmt"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/collectives"
)

// oneClock moves the timelines of ranks to the clock of the first one. It returns nil if they have no collective in common.
func oneClock(all []sourced, note func(string)) *collectives.Report {
	var ranks []collectives.Rank
	for _, s := range all {
		if t := s.profile.Timeline; t != nil {
			info := s.profile.Info
			ranks = append(ranks, collectives.Rank{Label: s.name(), Host: info[profile.InfoHost], Run: info[profile.InfoJob] + " " + info.Attempt(), Timeline: t})
		}
	}
	switch {
	case len(ranks) == 0:
		note("no file has a timeline; record them with proton run -d trace")
		return nil
	case len(ranks) < 2:
		return nil
	}
	report := collectives.Compare(ranks)
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

// name is what a table calls the source: "rank3", "rank3 restart 1", or the file.
func (s *sourced) name() string {
	info := s.profile.Info
	name := s.source.Label
	switch {
	case name != "":
	case s.source.Rank != "":
		name = "rank" + s.source.Rank
	default:
		name = s.source.File
	}
	if attempt := info.Attempt(); attempt != "" {
		name += " " + attempt
	}
	return name
}
