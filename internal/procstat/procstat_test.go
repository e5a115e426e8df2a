package procstat

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
)

// A child is below this process, began after it, and lives until it has ended, whether or not it was waited for.
func TestOfAChild(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc of Linux")
	}
	own, lives := Began(os.Getpid())
	if !lives || own == 0 || Parent(os.Getpid()) != os.Getppid() {
		t.Errorf("this process: began at %d, lives %v, below %d, want %d", own, lives, Parent(os.Getpid()), os.Getppid())
	}
	time.Sleep(30 * time.Millisecond) // some ticks of a hundredth of a second
	child := exec.Command("cat")
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pid := child.Process.Pid
	if since, own := Since(pid), Since(os.Getpid()); since >= own || own > time.Hour {
		t.Errorf("the child has run for %v, this process for %v", since, own)
	}
	if !Below(pid, os.Getpid()) || os.Getppid() > 1 && !Below(pid, os.Getppid()) || Below(os.Getpid(), pid) || Below(pid, pid) || Below(pid, 1) {
		t.Error("the child is below others than this process and its parent")
	}
	if Since(1<<30) != 0 {
		t.Error("a process that does not exist has run")
	}
	if began, lives := Began(pid); !lives || began <= own || Parent(pid) != os.Getpid() {
		t.Errorf("the child: began at %d (this process: %d), lives %v, below %d", began, own, lives, Parent(pid))
	}
	input.Close()
	testkit.Await(t, "the child ends", func() bool { _, lives := Began(pid); return !lives })
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, lives := Began(pid); lives || Parent(pid) != 0 {
		t.Errorf("after its end: lives %v, below %d", lives, Parent(pid))
	}
}
