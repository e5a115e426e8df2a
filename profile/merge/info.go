package merge

import (
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// InfoMerged is the fact of a merged profile that says how many profiles are in it.
const InfoMerged = "merged"

// infoUnion unites the facts of runs: those that agree stay, those that differ are replaced by the list of their values.
// Process ids and ranks that differ are left out: as a list they would mean nothing to a reader. The start is the
// earliest one.
type infoUnion struct {
	facts map[string]*spread
	count int
}

func (u *infoUnion) add(i profile.Info) {
	if u.facts == nil {
		u.facts = map[string]*spread{}
	}
	if n, err := strconv.Atoi(i[InfoMerged]); err == nil && n > 0 {
		u.count += n
	} else {
		u.count++
	}
	for k, v := range i {
		if k == InfoMerged || v == "" {
			continue
		}
		have := u.facts[k]
		switch {
		case have == nil:
			have = &spread{}
			u.facts[strings.Clone(k)] = have
		case k == profile.InfoStart && !earlier(v, have.values[0]):
			continue
		case k == profile.InfoStart:
			have.values = have.values[:0]
		}
		have.addText(v)
	}
}

// earlier compares decimal numbers of ns.
func earlier(a, b string) bool {
	x, err := strconv.ParseInt(a, 10, 64)
	y, other := strconv.ParseInt(b, 10, 64)
	return err == nil && (other != nil || x < y)
}

func (u *infoUnion) result() profile.Info {
	all := profile.Info{InfoMerged: strconv.Itoa(u.count)}
	for k, s := range u.facts {
		if (k == profile.InfoPID || k == profile.InfoRank) && (len(s.values) > 1 || s.more) {
			continue
		}
		all[k] = s.String()
	}
	return all
}
