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

// attemptNumber numbers the attempts of a rank in one job: how often the scheduler had started the job before, and the launcher the rank.
type attemptNumber struct{ requeue, restart int }

func numberOf(i profile.Info) attemptNumber {
	number := func(key string) int {
		n, _ := strconv.Atoi(i[key]) //nolint:errcheck // without one it is the first
		return max(n, 0)
	}
	return attemptNumber{number(profile.InfoRequeue), number(profile.InfoRestart)}
}

func (a attemptNumber) compare(o attemptNumber) int {
	return cmp.Or(cmp.Compare(a.requeue, o.requeue), cmp.Compare(a.restart, o.restart))
}

// String is "0", "1", "requeue 1" or "requeue 1 restart 2".
func (a attemptNumber) String() string {
	switch {
	case a.requeue == 0:
		return strconv.Itoa(a.restart)
	case a.restart == 0:
		return fmt.Sprintf("requeue %d", a.requeue)
	}
	return fmt.Sprintf("requeue %d restart %d", a.requeue, a.restart)
}

// ranksByAttempt are the ranks of a merged profile by attempt. Its text is the fact profile.InfoRanks, of which the first attempt has no name:
// "0-7; restart 1: 0-3; requeue 1: 0-7".
type ranksByAttempt map[attemptNumber]rankSet

func (a ranksByAttempt) String() string {
	var text []string
	for _, which := range slices.SortedFunc(maps.Keys(a), attemptNumber.compare) {
		name := which.String() + ": "
		switch {
		case which == attemptNumber{}:
			name = ""
		case which.requeue == 0:
			name = "restart " + name
		}
		text = append(text, name+a[which].String())
	}
	return strings.Join(text, "; ")
}

// parseAttempts reads what String writes; nil for anything else, which a file of another program may have.
func parseAttempts(text string) ranksByAttempt {
	all := ranksByAttempt{}
	for _, part := range strings.Split(text, "; ") {
		which, ranks, named := attemptNumber{}, part, false
		if name, after, found := strings.Cut(part, ": "); found {
			if which, named = parseAttempt(name); !named {
				return nil
			}
			ranks = after
		}
		set, ok := parseRanks(ranks)
		if !ok {
			return nil
		}
		all[which] = all[which].union(set)
	}
	return all
}

func parseAttempt(name string) (a attemptNumber, ok bool) {
	words := strings.Fields(name)
	for ; len(words) >= 2; words = words[2:] {
		n, err := strconv.Atoi(words[1])
		switch {
		case err != nil || n < 1:
			return a, false
		case words[0] == "requeue":
			a.requeue = n
		case words[0] == "restart":
			a.restart = n
		default:
			return a, false
		}
	}
	return a, len(words) == 0 && a != attemptNumber{}
}

// add adds what a profile is of: one rank, or the ranks of one that was merged before.
func (a ranksByAttempt) add(i profile.Info, rank string) {
	if text := i[profile.InfoRanks]; text != "" {
		for which, ranks := range parseAttempts(text) {
			a[which] = a[which].union(ranks)
		}
		return
	}
	if n, err := strconv.Atoi(rank); err == nil && n >= 0 && n <= maxRank && i[InfoMerged] == "" {
		which := numberOf(i)
		a[which] = a[which].add(span{n, n})
	}
}

// several says whether there is more than one rank.
func (a ranksByAttempt) several() bool {
	var all rankSet
	for _, ranks := range a {
		all = all.union(ranks)
	}
	return len(all) > 0 && !all.one()
}
