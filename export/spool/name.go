package spool

import (
	"strings"
	"time"
)

// EndOf reads the name of a file in a spool: when the window in it ended; ok is false if the file has no window.
func EndOf(name string) (end time.Time, ok bool) {
	e, ok := entry(strings.TrimSuffix(name, sending))
	return e.End, ok
}

// OtherName is the path of a window while a sender has claimed it, and of a claimed one where it waits.
func OtherName(path string) string {
	if waits, claimed := strings.CutSuffix(path, sending); claimed {
		return waits
	}
	return path + sending
}
