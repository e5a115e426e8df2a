package run

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/testkit"
)

// mapLibrary has this process look as if it were profiled.
func mapLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libproton.so")
	if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	memory, err := unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
}

// Only processes that can answer are asked, and a signal is passed on when they have, when another one arrives that may end the target, or
// when the target has ended. Signals that do not end it are passed on meanwhile.
func TestAskForCheckpoints(t *testing.T) {
	status := t.TempDir()
	write := func(s runinfo.Status) {
		t.Helper()
		s.PID = os.Getpid()
		if err := s.Write(status); err != nil {
			t.Fatal(err)
		}
	}
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	passed := make(chan os.Signal, 1)
	ask := func() os.Signal {
		return askedFor(forCheckpoints(status)(), signals, done, func(s os.Signal) { passed <- s })
	}

	ask()
	write(runinfo.Status{}) // of a program without the library, which this process has executed since
	ask()
	mapLibrary(t)
	write(runinfo.Status{Finished: true})
	ask()
	if n := runinfo.CheckpointRequests(status); n != 0 {
		t.Fatalf("%d requests to processes that cannot answer", n)
	}

	write(runinfo.Status{})
	answered := make(chan os.Signal)
	go func() { answered <- ask() }()
	testkit.Await(t, "a checkpoint is requested", func() bool { return runinfo.CheckpointRequests(status) == 1 })
	write(runinfo.Status{Answered: 1})
	if next := <-answered; next != nil {
		t.Errorf("answered with the signal %v", next)
	}

	go func() { answered <- ask() }()
	signals <- syscall.SIGCONT
	if got := <-passed; got != syscall.SIGCONT {
		t.Errorf("passed %v on", got)
	}
	signals <- syscall.SIGTERM
	if next := <-answered; next != syscall.SIGTERM {
		t.Errorf("a second signal: got %v", next)
	}
	close(done)
	if next := ask(); next != nil || runinfo.CheckpointRequests(status) != 3 {
		t.Errorf("after the target's end: got %v and %d requests", next, runinfo.CheckpointRequests(status))
	}
}
