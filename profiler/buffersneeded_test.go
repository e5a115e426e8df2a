package profiler

import (
	"testing"
	"time"
)

// What a burst needed is kept for once or twice buffersKept after it.
func TestBuffersNeeded(t *testing.T) {
	var b buffersNeeded
	now := time.Unix(1000, 0)
	b.needed(now, 1)
	for _, c := range []struct {
		after time.Duration
		used  int
		keep  int
	}{
		{buffersKept / 2, 20, 0}, {buffersKept * 2 / 3, 2, 20 + spareBuffers}, {buffersKept, 1, 20 + spareBuffers}, {buffersKept, 1, 1 + spareBuffers}, {time.Second, 1, 0},
	} {
		now = now.Add(c.after)
		if got := b.needed(now, c.used); got != c.keep {
			t.Errorf("%v later, with %d in use: %d keep their memory, want %d", c.after, c.used, got, c.keep)
		}
	}
}
