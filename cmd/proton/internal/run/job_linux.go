package run

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goproton/goproton/internal/procstat"
)

// job is the target as one that is stopped and continued. The shell that waits for this process must see that its job is stopped, so this
// process stops when the target does. A shell continues both, but others continue the target alone, by its number, and nothing that is
// stopped notices that: another process does, and continues this one.
type job struct {
	pid     int
	stopped atomic.Bool // this process has stopped as the target had; the signal that continues it has not arrived
	wentOn  chan bool   // whether the target went on before this process did; a value for each stop
}

func newJob(pid int) *job { return &job{pid: pid, wentOn: make(chan bool, 1)} }

// wait waits for the end of the target.
func (j *job) wait() (Result, error) {
	const blocking, afterStop = syscall.WUNTRACED, syscall.WUNTRACED | syscall.WCONTINUED | syscall.WNOHANG
	var status syscall.WaitStatus
	for options := blocking; ; {
		n, err := syscall.Wait4(j.pid, &status, options, nil)
		if options == afterStop {
			// The target may have stopped again since. Its state at this moment would not say that it went on before.
			j.wentOn <- n != 0
			options = blocking
		}
		switch {
		case errors.Is(err, syscall.EINTR), n == 0 && err == nil:
		case err != nil:
			return Result{}, fmt.Errorf("wait for process %d: %w", j.pid, err)
		case status.Stopped():
			if j.stop() {
				options = afterStop
			}
		case status.Signaled():
			return Result{Signal: int(status.Signal())}, nil
		case status.Exited():
			return Result{Code: status.ExitStatus()}, nil
		}
	}
}

// stop stops this process until it is continued, which forward hands on. It reports whether it could.
func (j *job) stop() bool {
	continuer, err := os.StartProcess("/proc/self/exe", []string{"proton", ContinuerArg, strconv.Itoa(j.pid)}, &os.ProcAttr{
		Env: []string{"GOMAXPROCS=1"},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}, // no signal of the terminal reaches it
	})
	if err != nil {
		return false // nothing would continue this process
	}
	select {
	case <-j.wentOn: // of an earlier stop that ended without a signal
	default:
	}
	j.stopped.Store(true)
	// A signal to the process may reach another thread later, when nothing would continue this process. This one has stopped it on return.
	runtime.LockOSThread()
	_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGSTOP)
	runtime.UnlockOSThread()
	_ = continuer.Kill()
	_, _ = continuer.Wait()
	return true
}

// goesOn reports, once after a stop, whether the target has been continued with this process or before it, so that a signal which says so is
// no news to it.
func (j *job) goesOn() bool { return j.stopped.Swap(false) && <-j.wentOn }

// Continue waits until a target goes on or has ended, and continues the process that has started this one and stopped itself. It returns
// the exit code.
func Continue(target string) int {
	pid, err := strconv.Atoi(target)
	if err != nil || pid <= 1 {
		return 2
	}
	for procstat.Stopped(pid) {
		time.Sleep(50 * time.Millisecond)
	}
	for parent := os.Getppid(); os.Getppid() == parent; time.Sleep(50 * time.Millisecond) { // which ends this process
		if procstat.Stopped(parent) { // it may be about to stop
			_ = syscall.Kill(parent, syscall.SIGCONT)
		}
	}
	return 0
}
