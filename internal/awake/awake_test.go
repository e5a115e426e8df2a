package awake

import (
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
