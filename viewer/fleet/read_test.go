package fleet

import (
	"testing"
	"time"
)

func TestMoments(t *testing.T) {
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.FixedZone("", 3600))
	for text, want := range map[string]time.Time{
		"":                     {},
		"30m":                  now.Add(-30 * time.Minute),
		"1d12h":                now.Add(-36 * time.Hour),
		"2d":                   now.Add(-48 * time.Hour),
		"1h30m":                now.Add(-90 * time.Minute),
		"1000":                 time.Unix(0, 1000),
		"2026-11-23T10:00:00Z": now.Add(time.Hour),
		"2026-11-23":           now.Add(-10 * time.Hour),
		"2026-11-23T09:30":     now.Add(-30 * time.Minute),
	} {
		if got, err := ReadMoment(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "-30m", "d", "1.5d", "2026-13-01", "12x"} {
		if got, err := ReadMoment(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
