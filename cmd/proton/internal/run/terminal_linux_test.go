package run

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/testkit"
)

// role is what a process of this test binary is to do: "target", or to supervise a target with the status folder of the test.
const role = "PROTON_TEST_ROLE"

// TestRole is not a test: another one starts it on a terminal.
func TestRole(t *testing.T) {
	switch status := os.Getenv(role); status {
	case "":
		t.Skip("another test starts this one")
	case "target":
		showSignals()
	default:
		command := Command{Path: os.Args[0], Args: []string{os.Args[0], "-test.run=TestRole$"}}
		if _, err := Supervise(command, []string{role + "=target"}, forCheckpoints(status)); err != nil {
			t.Fatal(err)
		}
	}
}

// showSignals prints the signals that arrive, until one of them is SIGUSR2. A shell would run one trap for two that arrive together.
func showSignals() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGWINCH, syscall.SIGTERM, syscall.SIGUSR2)
	fmt.Println("ready")
	for s := range signals {
		fmt.Println("got", s)
		if s == syscall.SIGUSR2 {
			return
		}
	}
}

// screen is what a terminal shows.
type screen struct {
	sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.text.Write(p)
}

func (s *screen) count(part string) int {
	s.Lock()
	defer s.Unlock()
	return strings.Count(s.text.String(), part)
}

// What a terminal sends to its foreground process group reaches the target once, also while its processes are asked for checkpoints
// before a SIGTERM is passed on: Ctrl-C, and the signal of a window that has another size.
func TestTerminalSignalsReachTheTargetOnce(t *testing.T) {
	status := t.TempDir()
	mapLibrary(t)
	if err := (&runinfo.Status{PID: os.Getpid()}).Write(status); err != nil { // this process is asked, and answers when the test has typed
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=TestRole$")
	cmd.Env = append(os.Environ(), role+"="+status)
	keyboard, shown := testkit.OnTerminal(t, cmd), &screen{}
	go io.Copy(shown, keyboard) //nolint:errcheck // it ends with the terminal
	resize := func(rows uint16) {
		if err := unix.IoctlSetWinsize(int(keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: 80}); err != nil {
			t.Fatal(err)
		}
	}
	saw := func(part string, n int) {
		t.Helper()
		testkit.Await(t, fmt.Sprintf("%q is shown %d times", part, n), func() bool { return shown.count(part) >= n })
	}
	saw("ready", 1)
	resize(30)
	saw("got window changed", 1)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	testkit.Await(t, "a checkpoint is requested", func() bool { return runinfo.CheckpointRequests(status) == 1 })
	resize(40)
	saw("got window changed", 2)
	_, _ = keyboard.Write([]byte{3})
	saw("got interrupt", 1)
	saw("got terminated", 1)                // Ctrl-C ends the wait
	_ = cmd.Process.Signal(syscall.SIGUSR2) // after what was passed on before
	_ = cmd.Wait()
	for part, n := range map[string]int{"got window changed": 2, "got terminated": 1, "got interrupt": 1} {
		if shown.count(part) != n {
			t.Errorf("%q %d times, want %d: %s", part, shown.count(part), n, &shown.text)
		}
	}
}
