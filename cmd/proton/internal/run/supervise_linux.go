package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goproton/goproton/internal/runinfo"
)

// fromTerminal are the signals that a terminal sends to its whole foreground process group, the target
// included. They are passed on only where no terminal can have sent them.
var fromTerminal = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGWINCH}

// forOne are the signals that are sent to this process and meant for the target.
var forOne = []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT}

// ending are those of them that end a target which does not handle them, as launchers and schedulers send them.
var ending = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// Supervise runs a command with the terminal, files, folder and process group of this process, and waits for its end. The target
// behaves as it would alone: it gets the signals that are meant for it, this process stops when the target stops, and the target
// is killed if this process is. Before a signal that may end the target is passed on, ask has its processes write what they have; it returns
// whether one of them has not done so yet, and nil if there is nothing to wait for.
func Supervise(command Command, environment []string, ask func() (waits func() bool)) (Result, error) {
	// The kernel ties Pdeathsig to the thread that forked, not to the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	// Handlers first: a signal between the start of the target and ours would end us and not the target.
	// Ignored signals stay ignored, for us and through exec for the target (nohup, background jobs).
	signals := make(chan os.Signal, 16)
	for _, s := range slices.Concat(fromTerminal, forOne) {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)

	process, err := os.StartProcess(command.Path, command.Args, &os.ProcAttr{
		Env:   environment,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return Result{}, startError(command, err)
	}
	done := make(chan struct{})
	defer close(done)
	job := newJob(process.Pid)
	go forward(job, ask, signals, done)
	return job.wait()
}

func startError(command Command, err error) error {
	if path, is := errors.AsType[*os.PathError](err); is && errors.Is(path.Err, syscall.ENOEXEC) {
		return &NotStartedError{ExitNotExecutable, fmt.Errorf("start %s: it is neither a binary for this machine nor a script with a #! line: give the interpreter before it", command.Path)}
	}
	return notStarted("program", command.Path, err)
}

// forward passes signals on until done is closed.
func forward(job *job, ask func() (waits func() bool), signals <-chan os.Signal, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case s := <-signals:
			if hasAlready(s) || s == syscall.SIGCONT && job.goesOn() {
				continue
			}
			var next os.Signal
			if slices.Contains(ending, s) {
				next = askedFor(ask(), signals, done, func(s os.Signal) { _ = syscall.Kill(job.pid, s.(syscall.Signal)) })
			}
			for _, s := range []os.Signal{s, next} {
				if s != nil {
					_ = syscall.Kill(job.pid, s.(syscall.Signal)) // fails only when the target is gone
				}
			}
		}
	}
}

// hasAlready reports whether the target has got a signal from the terminal as this process has.
func hasAlready(s os.Signal) bool { return slices.Contains(fromTerminal, s) && inForeground() }

// forCheckpoints has the processes of a run write what they have recorded, because the signal that is passed on then ends those that do
// not handle it, and nothing of ours runs in them.
func forCheckpoints(status string) func() (waits func() bool) {
	return func() (waits func() bool) {
		asked := canAnswer(status)
		if len(asked) == 0 {
			return nil
		}
		number, err := runinfo.RequestCheckpoint(status)
		if err != nil {
			return nil // the last checkpoint is what remains
		}
		return func() bool { return waitsForAnswer(status, asked, number) }
	}
}

// askedFor waits at most checkpointPatience for processes that were asked, and
// not once another signal is there that may end the target, which it returns unless the target has got it. Others are passed on meanwhile:
// Slurm sends SIGCONT together with SIGTERM, and they may arrive in either order.
func askedFor(waits func() bool, signals <-chan os.Signal, done <-chan struct{}, pass func(os.Signal)) (next os.Signal) {
	patience := time.After(checkpointPatience)
	for waits != nil && waits() {
		select {
		case <-done:
			return nil
		case next := <-signals:
			has := hasAlready(next) // now: the terminal's foreground may be another one once the signals before are passed on
			switch ends := next == syscall.SIGQUIT || slices.Contains(ending, next); {
			case ends && has:
				return nil
			case ends:
				return next
			case !has:
				pass(next)
			}
		case <-patience:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// checkpointPatience is long for a checkpoint (tens of milliseconds, and up to 50 until a process looks for requests), and short
// for those who send the signal: Kubernetes, Slurm and torchrun wait 30 seconds before they kill.
const checkpointPatience = 2 * time.Second

// canAnswer are the processes that have begun a profile, not ended it, and not executed a program without the library since.
func canAnswer(status string) map[int]bool {
	list, err := runinfo.ReadStatuses(status)
	if err != nil {
		return nil
	}
	pids := map[int]bool{}
	for _, p := range list {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID))
		if err == nil && !p.Finished && !p.Replaced && bytes.Contains(maps, []byte("libproton")) {
			pids[p.PID] = true
		}
	}
	return pids
}

// waitsForAnswer reports whether one of some processes runs and has not answered a request.
func waitsForAnswer(status string, asked map[int]bool, number int64) bool {
	list, err := runinfo.ReadStatuses(status)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(list, func(p runinfo.Status) bool {
		return asked[p.PID] && !p.Finished && !p.Replaced && p.Answered < number && Lives(p.PID)
	})
}

// inForeground reports whether this process is in the foreground process group of a terminal.
func inForeground() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// DieBy ends this process by a signal, so that the process that waits for us sees how the target ended. It
// returns only if the signal did not end us.
func DieBy(number int) {
	// The target has dumped its core; ours would overwrite it and says nothing.
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	// Go's handlers would turn a SIGABRT or SIGSEGV into a stack trace and exit code 2, and os/signal has no
	// way to the default action. All zero is SIG_DFL; struct sigaction of the kernel has at most 32 bytes.
	var standard [4]uint64
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(number), uintptr(unsafe.Pointer(&standard)), 0, 8, 0, 0)
	_ = syscall.Kill(os.Getpid(), syscall.Signal(number))
}

// Lives reports whether there is a process of that number that this one may send signals to.
func Lives(pid int) bool { return syscall.Kill(pid, 0) == nil }
