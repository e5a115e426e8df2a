package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// readMoment reads a time: "" is none, 30m is that long before now, and a day begins at midnight of the machine's time zone.
func readMoment(text string, now time.Time) (time.Time, error) {
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
