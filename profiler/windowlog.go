package profiler

import (
	"fmt"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/figures"
)

// windowLog is a list of recording windows. The first ones are kept one by one.
type windowLog struct {
	Count int
	first []loggedWindow
	nanos int64     // of the windows that are closed
	since time.Time // when the open one opened; zero while none is open
}

type loggedWindow struct {
	from, to string
	nanos    int64
}

const loggedWindows = 16 // windows that are described one by one

// Opens begins a window. why is a few words: "step 3", "the scope forward".
func (l *windowLog) Opens(why string, now time.Time) {
	l.Count++
	l.since = now
	if l.Count <= loggedWindows {
		l.first = append(l.first, loggedWindow{from: why})
	}
}

// Closes ends the window.
func (l *windowLog) Closes(why string, now time.Time) {
	took := now.Sub(l.since).Nanoseconds()
	l.nanos += took
	if l.Count <= loggedWindows {
		l.first[l.Count-1].to, l.first[l.Count-1].nanos = why, took
	}
	l.since = time.Time{}
}

// Nanos is how long windows were open until now.
func (l *windowLog) Nanos(now time.Time) int64 {
	if l.since.IsZero() {
		return l.nanos
	}
	return l.nanos + now.Sub(l.since).Nanoseconds()
}

// String describes the windows until now.
func (l *windowLog) String(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s", figures.Plural(l.Count, "window", "windows"), figures.Time(l.Nanos(now)))
	for i, w := range l.first {
		if w.to == "" && i == l.Count-1 && !l.since.IsZero() {
			w.to, w.nanos = "the end", now.Sub(l.since).Nanoseconds()
		}
		fmt.Fprintf(&b, "; %d: %s, from %s to %s", i+1, figures.Time(w.nanos), w.from, w.to)
	}
	if more := l.Count - len(l.first); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}
