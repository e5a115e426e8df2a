package soak

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goproton/goproton/internal/testkit"
)

// state is struct state of testdata/launcher.c, in memory that both processes share.
type state struct {
	stop, pid, launches, slowest, slowestCPU, sessions, forks, forksFailed, modules, paths, threads, errors, cBytes, lost, lostWindows atomic.Uint64

	delays [40]atomic.Uint64
}

// process is a launcher, below proton run or alone.
type process struct {
	name   string
	cmd    *exec.Cmd
	state  *state
	mapped []byte
	output *bytes.Buffer
}

// start starts a launcher and waits until it launches.
func (r *run) start(t *testing.T, name, role string, rate, burst float64) *process {
	file := filepath.Join(r.folder, name+".state")
	mapped, err := mapFile(file, int(unsafe.Sizeof(state{})))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{name: name, mapped: mapped, state: (*state)(unsafe.Pointer(&mapped[0])), output: &bytes.Buffer{}}
	args := []string{r.launcher, file, fmt.Sprint(rate), fmt.Sprint(burst), fmt.Sprint(len(name) * 7919), role}
	if role != "plain" {
		args = append([]string{filepath.Join(r.build, "proton"), "run", "-n", filepath.Join(r.folder, name), "--push", "pyroscope+http://" + r.server.address + ":every=2:wait=60:service=" + name, "--"}, args...)
	}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = r.folder, p.output, p.output
	p.cmd.Env = append(os.Environ(), "NO_COLOR=1", "PROTON_HOME="+r.build, "LD_LIBRARY_PATH="+r.build+"/stub",
		"PROTON_CUPTI_PATH="+r.build+"/stub/libcupti.so", "PROTON_PUSH_SPOOL="+r.folder+"/spool")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	testkit.Await(t, name+" launches", func() bool { return p.state.launches.Load() > 0 && p.state.pid.Load() > 0 })
	return p
}

// mapFile makes a file of so many zeros and maps it.
func mapFile(file string, size int) ([]byte, error) {
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

// end asks the launcher to end, and waits for it and for proton run.
func (p *process) end() error {
	p.state.stop.Store(1)
	return p.cmd.Wait()
}

// kill kills the launcher unless it has ended; proton run ends when it does.
func (p *process) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	if pid := int(p.state.pid.Load()); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	} else {
		_ = p.cmd.Process.Kill()
	}
	_ = p.cmd.Wait()
}

// workers starts one worker after another and kills each after ten to thirty seconds, until stop is closed.
func (r *run) workers(t *testing.T, which int, stop <-chan struct{}) {
	for n := 0; ; n++ {
		p := r.start(t, fmt.Sprintf("worker-%d-%d", which, n), "bounded", *rate/20, *rate/20)
		stopped := false
		select {
		case <-stop:
			stopped = true
		case <-time.After(10*time.Second + rand.N(20*time.Second)):
		}
		p.kill()
		r.mu.Lock()
		r.killed[p.name] = int64(p.state.launches.Load())
		r.mu.Unlock()
		r.removeFiles(p)
		if stopped {
			return
		}
	}
}

func (r *run) removeFiles(p *process) {
	for _, pattern := range []string{p.name + ".*", fmt.Sprintf("extra-%d.*", p.state.pid.Load())} {
		files, _ := filepath.Glob(filepath.Join(r.folder, pattern)) //nolint:errcheck // the pattern is valid
		for _, file := range files {
			os.Remove(file)
		}
	}
	_ = syscall.Munmap(p.mapped)
	p.state = nil
}

// judgeWorkers compares what the killed workers launched with what arrived: no more, and how much less.
func (r *run) judgeWorkers() (wrong []string) {
	var launched, arrived, most int64
	for name, n := range r.killed {
		got := r.server.launched(name)
		launched, arrived, most = launched+n, arrived+got, max(most, n-got)
		if got > n {
			wrong = append(wrong, fmt.Sprintf("%s launched %d kernels, and %d arrived", name, n, got))
		}
	}
	r.say("%d workers were killed: %d launches, %d arrived; of each at most the last %.1f s are missing", len(r.killed), launched, arrived, float64(most)/(*rate/20))
	return wrong
}
