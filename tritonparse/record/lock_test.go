package record

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/goproton/goproton/internal/testkit"
)

// another runs one of the helpers below in a process of its own.
func another(t *testing.T, helper, path string) string {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run", "^"+helper+"$", "-test.v")
	command.Env = append(os.Environ(), "TRACELOG_HELP="+path)
	out, _ := command.CombinedOutput()
	return string(out)
}

func help(t *testing.T) string {
	t.Helper()
	path := os.Getenv("TRACELOG_HELP")
	if path == "" {
		t.Skip("needs TRACELOG_HELP: TestLock… runs it in a process of its own")
	}
	return path
}

func TestRecoverHelper(t *testing.T) {
	found, err := Recover(help(t))
	t.Logf("recovered %d processes, %v", found.Processes, err)
}

// A program that copies its own folder of logs opens the ring and closes it again, with which its lock is gone.
func TestALivingProcessThatLostItsLock(t *testing.T) {
	folder := t.TempDir()
	l := begin(t, Options{Folder: folder, Compression: "none"})
	p := producer{log: l}
	p.launch(t, 1)
	if _, err := os.ReadFile(l.ring.file.Name()); err != nil {
		t.Fatal(err)
	}
	if out := another(t, "TestLockHelper", l.ring.file.Name()); strings.Contains(out, "locked") {
		t.Skip("needs a system that releases a lock with its process: this one keeps it")
	}
	if out := another(t, "TestRecoverHelper", folder); !strings.Contains(out, "recovered 0 processes, <nil>") {
		t.Errorf("another process took it for dead: %s", out)
	}
	p.launch(t, 2)
	if counts := l.End(testkit.Patience()); counts.Launches != 2 || len(records(t, folder)) != 2 {
		t.Errorf("%+v, %d records", counts, len(records(t, folder)))
	}
}

func TestProcessesThatAreGone(t *testing.T) {
	command := exec.Command("true")
	if err := command.Start(); err != nil {
		t.Skipf("needs the program true: %v", err)
	}
	pid := command.Process.Pid
	testkit.Await(t, "a process ends", func() bool { return started(pid) == 0 }) // a zombie from then on
	if err := command.Wait(); err != nil || started(pid) != 0 || started(os.Getpid()) == 0 {
		t.Errorf("%v; that process %d, this one %d", err, started(pid), started(os.Getpid()))
	}
}

func TestLockHelper(t *testing.T) {
	file, err := os.OpenFile(help(t), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(file.Fd(), unix.F_SETLK, &whole); err != nil {
		t.Logf("locked: %v", err)
	}
}

// TestRingHelper has a ring until its input ends, as a living process does.
func TestRingHelper(t *testing.T) {
	path := help(t)
	r, err := newRing(path)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("has it\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if string(r.mem[:len(ringMagic)]) != ringMagic { // kills this process where another process has cut the file
		t.Error("another process has written into it")
	}
	_, _ = os.Stdout.WriteString("still has it\n")
}

// Containers count their processes for themselves, and may all have the name of their host: two processes with one number in
// one folder. To take the ring of the other would kill it: what is mapped would no longer be there.
func TestAnotherProcessWithOurNames(t *testing.T) {
	folder := t.TempDir()
	h := newHeader(Options{Folder: folder, Compression: "none"})
	command := exec.Command(os.Args[0], "-test.run", "^TestRingHelper$", "-test.v")
	command.Env = append(os.Environ(), "TRACELOG_HELP="+h.ringFile("ring"))
	input, output := testkit.Piped(t, command)
	said := bufio.NewScanner(output)
	for said.Scan() && said.Text() != "has it" {
	}
	l, complaints := beginIn(t, h.Options)
	p := producer{log: l}
	p.launch(t, 1)
	if _, err := newRing(h.ringFile("ring")); !errors.Is(err, errInUse) {
		t.Errorf("the other's ring can be taken: %v", err)
	}
	_ = input.Close()
	still := false
	for said.Scan() {
		still = still || said.Text() == "still has it"
	}
	if err := command.Wait(); err != nil || !still {
		t.Errorf("the other process: %v", err)
	}
	counts := l.End(testkit.Patience())
	if name := l.header.outputName(noRank); counts.Launches != 1 || len(complaints.all) != 0 || !strings.Contains(name, "_host_"+hostLabel()+"-2_") {
		t.Errorf("%+v, %q, %s", counts, complaints.all, name)
	}
	if got := len(records(t, folder)); got != 1 {
		t.Errorf("%d records", got)
	}
}

// A process that died while it began, and one whose recovery died at its end, leave 16 MB of which nothing can be made.
func TestARingWithoutDefinitions(t *testing.T) {
	folder := t.TempDir()
	h := newHeader(Options{Folder: folder})
	h.PID = 1 << 30 // of no process
	if out := another(t, "TestRingHelper", h.ringFile("ring")); !strings.Contains(out, "still has it") {
		t.Fatal(out)
	}
	found, err := Recover(folder)
	if err != nil || found.Processes != 0 || len(found.Problems) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
