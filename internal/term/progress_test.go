package term

import (
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		want     string
	}{
		{"a terminal", true, "\rparse: 25% of 400.0 MB, 6s left\rparse: 99% of 400.0 MB, 0s left\r                               \r"},
		{"a log", false, "parse: 99% of 400.0 MB, 0s left\n"},
	} {
		var out strings.Builder
		now := time.Unix(0, 0)
		p := newProgress(&out, "parse", c.terminal, func() time.Time { return now })
		for _, step := range []struct {
			after time.Duration
			done  int64
		}{{time.Second, 40}, {2100 * time.Millisecond, 100}, {2200 * time.Millisecond, 110}, {11 * time.Second, 399}} {
			now = time.Unix(0, 0).Add(step.after)
			p.Report(step.done*1e6, 400e6)
		}
		p.Stop()
		p.Stop()
		now = now.Add(time.Hour)
		p.Report(400e6, 400e6)
		if out.String() != c.want {
			t.Errorf("%s: got %q, want %q", c.name, out.String(), c.want)
		}
	}
}

// TestShortWork says nothing.
func TestShortWork(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	p := newProgress(&out, "parse", true, func() time.Time { return now })
	for range 19 {
		now = now.Add(100 * time.Millisecond)
		p.Report(1, 2)
	}
	p.Stop()
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}
