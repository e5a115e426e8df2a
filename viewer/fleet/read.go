package fleet

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ReadMoment reads a time: "" is none, 30m is that long before now, and a day begins at midnight of the machine's time zone.
func ReadMoment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ns, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(0, ns), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if before, ok := readAge(text); ok {
		return now.Add(-before), nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time; write 30m or 2d for that long ago, 2026-11-23T10:00:00Z, or ns since 1970", text)
}

// readAge reads 1h30m, 90s and also days: 2d, 1d12h.
func readAge(text string) (age time.Duration, ok bool) {
	if days, rest, has := strings.Cut(text, "d"); has {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, false
		}
		age = time.Duration(n) * 24 * time.Hour
		if text = rest; text == "" {
			return age, true
		}
	}
	more, err := time.ParseDuration(text)
	return age + more, err == nil && more >= 0
}

// ReadRanks reads "0-7,64"; nil of "".
func ReadRanks(text string) (map[int]bool, error) {
	if text == "" {
		return nil, nil
	}
	const most = 1 << 20
	ranks := map[int]bool{}
	for _, part := range strings.Split(text, ",") {
		low, high, span := strings.Cut(part, "-")
		if !span {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 31)
		last, other := strconv.ParseUint(high, 10, 31)
		if err != nil || other != nil || last < first || last-first > most {
			return nil, fmt.Errorf("%q is not a list of ranks; write 0-7,64", text)
		}
		for rank := first; rank <= last; rank++ {
			ranks[int(rank)] = true
		}
	}
	return ranks, nil
}
