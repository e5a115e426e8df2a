package procstat

import (
	"context"
	"testing"
	"time"
)

func TestReceive(t *testing.T) {
	come, closed, never := make(chan int, 1), make(chan struct{}), make(chan int)
	come <- 7
	close(closed)
	if v, ok := Receive(come, time.Hour); v != 7 || !ok {
		t.Errorf("got %d, %v", v, ok)
	}
	if _, ok := Receive(closed, time.Hour); !ok {
		t.Error("a closed channel was waited for")
	}
	if v, ok := Receive(never, 0); v != 0 || ok {
		t.Errorf("nothing came, got %d, %v", v, ok)
	}
}

// What moves is waited for, and not for ever once it stops.
func TestReceiveWhile(t *testing.T) {
	never, left := make(chan int), 1000
	if _, ok := ReceiveWhile(never, ticks, func() bool { left--; return left > 0 }); ok || left >= 0 {
		t.Errorf("got %v with %d moves left", ok, left)
	}
	come := make(chan int, 1)
	asked := func() bool {
		select {
		case come <- 7:
		default:
		}
		return false
	}
	if v, ok := ReceiveWhile(come, ticks, asked); v != 7 || !ok {
		t.Errorf("got %d, %v", v, ok)
	}
}

func TestContext(t *testing.T) {
	ended, cancel := Context(context.Background(), 0)
	defer cancel()
	<-ended.Done()
	if why := context.Cause(ended); why != context.DeadlineExceeded {
		t.Errorf("it is over because of %v, want the limit", why)
	}
	long, cancel := Context(context.Background(), time.Hour)
	if long.Err() != nil {
		t.Error("it is over before its limit")
	}
	cancel()
	<-long.Done()
	if why := context.Cause(long); why != context.Canceled {
		t.Errorf("it is over because of %v, want the call", why)
	}
}
