//go:build !windows

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyResized sends to the channel when the terminal has another size.
func notifyResized(c chan<- os.Signal) { signal.Notify(c, syscall.SIGWINCH) }
