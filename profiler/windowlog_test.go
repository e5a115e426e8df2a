package profiler

import (
	"strings"
	"testing"
	"time"
)

func TestWindowLog(t *testing.T) {
	var l windowLog
	after := func(seconds float64) time.Time { return time.Unix(100, 0).Add(time.Duration(seconds * 1e9)) }
	l.Opens("step 2", after(0))
	l.Closes("step 4", after(1))
	l.Opens("proton ctl", after(5))
	if got, want := l.String(after(5.5)), "2 windows of 1.500 s; 1: 1.000 s, from step 2 to step 4; 2: 500.0 ms, from proton ctl to the end"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	l.Closes("proton ctl", after(6))
	for range 100 {
		l.Opens("a", after(7))
		l.Closes("b", after(7))
	}
	if got := l.String(after(9)); l.Count != 102 || l.Nanos(after(9)) != 2e9 || !strings.HasSuffix(got, "from a to b; and 86 more") {
		t.Errorf("%d windows: %s", l.Count, got)
	}
}
