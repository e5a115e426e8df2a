package procstat

import (
	"context"
	"time"
)

// A limit is divided into fifty parts, or into more if a part would be longer than a second. A pause of the process counts as one part,
// however long it was.
const (
	ticks   = 50
	longest = time.Second
)

// Receive takes a value from a channel. ok is false when none came within limit, counting only time in which this process
// was not stopped.
func Receive[T any](from <-chan T, limit time.Duration) (value T, ok bool) {
	return ReceiveWhile(from, limit, func() bool { return false })
}

// ReceiveWhile is Receive with a limit that begins anew whenever moved reports progress. It asks fifty times within the limit,
// and at least once in a second.
func ReceiveWhile[T any](from <-chan T, limit time.Duration, moved func() bool) (value T, ok bool) {
	part := min(limit/ticks+1, longest)
	tick := time.NewTicker(part)
	defer tick.Stop()
	for still := time.Duration(0); still < limit; still += part {
		select {
		case value = <-from:
			return value, true
		case <-tick.C:
			if moved() {
				still = -part
			}
		}
	}
	select {
	case value = <-from:
		return value, true
	default:
		return value, false
	}
}

// Context is a context that is over after the given time, in which this process ran.
func Context(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(parent)
	go func() {
		if _, over := Receive(ctx.Done(), limit); !over {
			end(context.DeadlineExceeded)
		}
	}()
	return ctx, func() { end(context.Canceled) }
}
