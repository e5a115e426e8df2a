package tracelog

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/goproton/goproton/internal/await"
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
		t.Skip("only run by other tests, in a process of its own")
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
		t.Skip("this system keeps the lock")
	}
	if out := another(t, "TestRecoverHelper", folder); !strings.Contains(out, "recovered 0 processes, <nil>") {
		t.Errorf("another process took it for dead: %s", out)
	}
	p.launch(t, 2)
	if counts := l.End(await.Patience); counts.Launches != 2 || len(records(t, folder)) != 2 {
		t.Errorf("%+v, %d records", counts, len(records(t, folder)))
	}
}

func TestProcessesThatAreGone(t *testing.T) {
	command := exec.Command("true")
	if err := command.Start(); err != nil {
		t.Skip(err)
	}
	pid := command.Process.Pid
	await.That(t, "a process ends", func() bool { return started(pid) == 0 }) // a zombie from then on
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
