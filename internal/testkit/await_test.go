package testkit

import (
	"testing"
	"time"
)

// TestPatienceEndsBeforeTheTest: a wait ends before go test's limit, however much of it is gone.
func TestPatienceEndsBeforeTheTest(t *testing.T) {
	for _, c := range []struct{ limit, gone, want time.Duration }{
		{0, time.Hour, longest},
		{time.Hour, 0, longest},
		{10 * time.Minute, 0, 9 * time.Minute},
		{10 * time.Minute, 9 * time.Minute, 54 * time.Second},
		{10 * time.Minute, 10 * time.Minute, time.Second},
	} {
		if got := patience(c.limit, c.gone); got != c.want {
			t.Errorf("limit %s, gone %s: %s, want %s", c.limit, c.gone, got, c.want)
		}
	}
	if deadline, ok := t.Deadline(); ok && time.Now().Add(Patience()).After(deadline) {
		t.Errorf("a wait of %s ends after the test, at %s", Patience(), deadline)
	}
}
