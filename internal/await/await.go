// Package await is how tests wait for what another goroutine or process does: for the event itself, and not for a time
// that is long enough on the machine where the test was written.
package await

import (
	"testing"
	"time"
)

// Patience ends a test that would wait for ever. A test that passes never waits for it, so it is as long as a slow machine
// with other work could need, and more.
const Patience = 10 * time.Minute

// That waits until something has happened, and fails the test if it never does.
func That(t testing.TB, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("within %s it did not happen that %s", Patience, what)
		}
	}
}
