package tracelog

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// lockedByAnother runs this test binary once more, which tries to lock the file.
func lockedByAnother(t *testing.T, path string) string {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run", "^TestLockHelper$", "-test.v")
	command.Env = append(os.Environ(), "TRACELOG_LOCK="+path)
	out, _ := command.CombinedOutput()
	return string(out)
}

func TestLockHelper(t *testing.T) {
	path := os.Getenv("TRACELOG_LOCK")
	if path == "" {
		t.Skip("only run by TestALivingProcessIsLeftAlone")
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(file.Fd(), unix.F_SETLK, &whole); err != nil {
		t.Logf("locked: %v", err)
	}
}
