package testkit

import (
	"flag"
	"testing"
	"time"
)

// longest is as long as a slow machine with other work could need, and more. A test that passes never waits for it.
const longest = 10 * time.Minute

var begun = time.Now()

// Patience ends a test that would wait for ever. It ends before go test's own limit, so that the failure names what did not
// happen instead of every goroutine.
func Patience() time.Duration {
	limit := time.Duration(0) // none, or not read yet
	if given := flag.Lookup("test.timeout"); given != nil {
		limit = given.Value.(flag.Getter).Get().(time.Duration)
	}
	return patience(limit, time.Since(begun))
}

func patience(limit, gone time.Duration) time.Duration {
	if limit == 0 {
		return longest
	}
	return max(time.Second, min(longest, (limit-gone)*9/10))
}

// Await waits until something has happened, and fails the test if it never does.
func Await(t testing.TB, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience()); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not happen in time that %s", what)
		}
	}
}
