package merge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rankSet is a set of ranks: spans in order, none of which touches the next. Numbers of ranks come from files, so it never lists them.
type rankSet []span

// span is ranks from first to last.
type span struct{ first, last int }

// add returns the set with a span added. Like append, it may change the set that it is called on.
func (s rankSet) add(n span) rankSet {
	at, _ := slices.BinarySearchFunc(s, n.first, func(have span, first int) int { return have.last + 1 - first })
	end := at
	for ; end < len(s) && s[end].first-1 <= n.last; end++ {
		n.first, n.last = min(n.first, s[end].first), max(n.last, s[end].last)
	}
	return slices.Replace(s, at, end, n)
}

func (s rankSet) union(o rankSet) rankSet {
	s = slices.Clone(s)
	for _, n := range o {
		s = s.add(n)
	}
	return s
}

// common returns the ranks that are in both sets.
func (s rankSet) common(o rankSet) (both rankSet) {
	for i, j := 0, 0; i < len(s) && j < len(o); {
		if n := (span{max(s[i].first, o[j].first), min(s[i].last, o[j].last)}); n.first <= n.last {
			both = append(both, n)
		}
		if s[i].last < o[j].last {
			i++
		} else {
			j++
		}
	}
	return both
}

// missing returns the ranks below a number that are not in the set.
func (s rankSet) missing(world int) (gaps rankSet) {
	next := 0
	for _, n := range append(slices.Clone(s), span{world, world}) {
		if to := min(n.first, world); next < to {
			gaps = append(gaps, span{next, to - 1})
		}
		next = max(next, n.last+1)
	}
	return gaps
}

func (s rankSet) one() bool { return len(s) == 1 && s[0].first == s[0].last }

// String is "2, 5-7".
func (s rankSet) String() string {
	var text []string
	for _, n := range s {
		if n.first == n.last {
			text = append(text, strconv.Itoa(n.first))
		} else {
			text = append(text, fmt.Sprintf("%d-%d", n.first, n.last))
		}
	}
	return strings.Join(text, ", ")
}

// named is "rank 3" or "ranks 2, 5-7" for a sentence, which has no more than 16 spans.
func (s rankSet) named() string {
	switch {
	case s.one():
		return "rank " + s.String()
	case len(s) > 16:
		return "ranks " + s[:16].String() + ", …"
	}
	return "ranks " + s.String()
}

// parseRanks reads what String writes.
func parseRanks(text string) (s rankSet, ok bool) {
	for _, part := range strings.Split(text, ", ") {
		from, to, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		last := first
		if ranged && err == nil {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first < 0 || last < first || last > maxRank {
			return nil, false
		}
		s = s.add(span{first, last})
	}
	return s, true
}

const maxRank = 1<<53 - 1
