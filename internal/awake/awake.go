// Package awake waits with a limit that means what it says: that something was slow while this process was running. A
// process that was stopped, or whose machine slept, has not been waiting.
package awake

import "time"

// ticks is how many parts a limit has. A pause of any length costs one.
const ticks = 50

// Receive takes what comes through a channel, or tells that nothing came for the given time, in which this process ran.
func Receive[T any](from <-chan T, limit time.Duration) (value T, ok bool) {
	tick := time.NewTicker(limit/ticks + 1)
	defer tick.Stop()
	for range ticks {
		select {
		case value = <-from:
			return value, true
		case <-tick.C:
		}
	}
	select {
	case value = <-from:
		return value, true
	default:
		return value, false
	}
}
