package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/goproton/goproton/tritonparse/nearby"
)

// whenInterrupted removes incomplete output when a signal ends the process, until done is called. The process still ends by
// the signal, as its caller expects.
func whenInterrupted(remove func()) (done func()) {
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup
			signal.Notify(signals, s)
		}
	}
	go func() {
		if s, ok := <-signals; ok {
			remove()
			signal.Reset(s)
			if self, err := os.FindProcess(os.Getpid()); err != nil || self.Signal(s) != nil { // Windows has no signals to send
				os.Exit(1)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// fillsFolder is whenInterrupted for commands that write to a nearby.Folder.
func fillsFolder() (done func()) { return whenInterrupted(func() { nearby.Abandon() }) }
