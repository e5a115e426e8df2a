package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// InfoMerged is the fact of a merged profile that says how many profiles are in it.
const InfoMerged = "merged"

// infoUnion unites the facts of runs: those that agree stay, those that differ are replaced by the list of their values.
// Process ids, ranks and numbers of attempts that not all profiles share are left out: as a list they would mean nothing to a reader.
// Facts about a part of one profile's work say of how many profiles they are. The ranks are listed by attempt in a fact of their own. The start is the earliest one and the end the latest one.
type infoUnion struct {
	facts map[string]*spread
	count int
	added int
	have  map[string]int // of added, how many have a process id, a rank
	parts map[string]int // of count, how many have a fact of partial
	ranks ranksByAttempt
}

// add unites the facts of one more profile. The rank may be known from elsewhere than from the facts.
func (u *infoUnion) add(i profile.Info, rank string) {
	if u.facts == nil {
		u.facts, u.have, u.parts, u.ranks = map[string]*spread{}, map[string]int{}, map[string]int{}, ranksByAttempt{}
	}
	u.added++
	u.ranks.add(i, cmp.Or(i[profile.InfoRank], rank))
	if i[profile.InfoRank] == "" && rank != "" {
		i = maps.Clone(i)
		if i == nil {
			i = profile.Info{}
		}
		i[profile.InfoRank] = strings.Clone(rank)
	}
	if n, err := strconv.Atoi(i[InfoMerged]); err == nil && n > 0 {
		u.count += n
	} else {
		u.count++
	}
	for k, v := range i {
		if k == InfoMerged || k == profile.InfoRanks || v == "" {
			continue
		}
		if partial[k] != "" {
			u.parts[k] += partsOf(v)
		}
		u.have[strings.Clone(k)]++
		have := u.facts[k]
		switch {
		case have == nil:
			have = &spread{}
			u.facts[strings.Clone(k)] = have
		case k == profile.InfoStart && !earlier(v, have.values[0]), k == profile.InfoEnd && !earlier(have.values[0], v):
			continue
		case k == profile.InfoStart || k == profile.InfoEnd:
			have.values = have.values[:0]
		}
		have.addText(v)
	}
}

// ofOneProcess are facts that a merged profile has only if all of its parts share them.
var ofOneProcess = []string{profile.InfoPID, profile.InfoRank, profile.InfoRestart, profile.InfoRequeue}

// partial are facts that say what part of one profile's work was recorded in detail, and what a merged profile says in place of the
// figures, which are not those of the sum.
var partial = map[string]string{
	profile.InfoSampled:   "instructions were sampled for a part of the time, within a budget; numbers of samples are not scaled",
	profile.InfoEstimated: "kernels were timed in windows, within a budget: times, counts and metrics are estimates",
	profile.InfoThinned:   "the Python call paths of some launches were not taken, within a budget: these stand below (path not taken), and times and counts are complete",
}

const ofParts = "in %d of %d profiles, "

// partsOf is how many profiles such a fact is of.
func partsOf(fact string) int {
	var n, all int
	if _, err := fmt.Sscanf(fact, ofParts, &n, &all); err == nil && n > 0 {
		return n
	}
	return 1
}

// earlier compares decimal numbers of ns.
func earlier(a, b string) bool {
	x, err := strconv.ParseInt(a, 10, 64)
	y, other := strconv.ParseInt(b, 10, 64)
	return err == nil && (other != nil || x < y)
}

func (u *infoUnion) result() profile.Info {
	all := profile.Info{InfoMerged: strconv.Itoa(u.count)}
	if len(u.ranks) > 0 {
		all[profile.InfoRanks] = u.ranks.String()
	}
	for k, s := range u.facts {
		if slices.Contains(ofOneProcess, k) && (len(s.values) > 1 || s.more || u.have[k] < u.added) {
			continue
		}
		all[k] = s.String()
		if text := partial[k]; text != "" && u.count > 1 {
			all[k] = fmt.Sprintf(ofParts, u.parts[k], u.count) + text
		}
	}
	return all
}
