package soak

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/export/push"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile/formats"
)

var (
	hours = flag.Float64("hours", 0, "how long TestSoak runs; 0: it is skipped")
	rate  = flag.Float64("rate", 10_000, "launches per second of the profiled program, and of the one without a profiler")
	burst = flag.Float64("burst", 50_000, "the same for three seconds of each minute")
	build = flag.String("build", "", "the folder with what make build makes (default: build)")
	out   = flag.String("out", "", "the folder for the log and the profiles (default: a temporary one)")
)

// TestSoak runs launchers on the fake driver. "steady" is profiled and churns over a fixed set of call paths and kernels, "plain" is the same
// without a profiler, and "growing" makes new call paths and kernels all the time. Workers come, and are killed. All windows go to a
// server that fails. In the end what arrived is what was launched, and the steady program and its sender have not grown.
func TestSoak(t *testing.T) {
	if *hours == 0 {
		t.Skip("takes as long as -hours says: tools/soak.sh HOURS")
	}
	long := time.Duration(*hours * float64(time.Hour))
	r := newRun(t, long)
	r.steady = r.start(t, "steady", "bounded", *rate, *burst)
	r.plain = r.start(t, "plain", "plain", *rate, *burst)
	r.growing = r.start(t, "growing", "unbounded", *rate/20, *rate/20)
	r.watched = []*watched{
		{name: "steady", pid: int(r.steady.state.pid.Load()), bounded: true},
		{name: "its sender", pid: r.steady.cmd.Process.Pid, bounded: true},
		{name: "growing", pid: int(r.growing.state.pid.Load())},
	}
	stop := make(chan struct{})
	var workers sync.WaitGroup
	for i := range 2 {
		workers.Go(func() { r.workers(t, i, stop) })
	}
	go func() { // a run that is ended from outside says so
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
		r.say("ended by signal: %v", <-signals)
		os.Exit(1)
	}()
	r.watch(t, long)
	close(stop)
	workers.Wait()
	r.server.behave()
	for _, p := range []*process{r.plain, r.steady, r.growing} {
		if err := p.end(); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		r.say("%s ended. %s", p.name, strings.TrimSpace(p.output.String()))
	}
	r.drain(t)
	r.judge(t)
}

// run is one soak.
type run struct {
	launcher, build, folder string
	server                  *server
	log                     io.Writer

	steady, plain, growing *process
	watched                []*watched

	mu     sync.Mutex
	killed map[string]int64 // launches of each worker
}

func newRun(t *testing.T, long time.Duration) *run {
	r := &run{folder: cmp.Or(*out, t.TempDir()), build: *build, killed: map[string]int64{}}
	if r.build == "" {
		r.build = filepath.Join(testkit.Root(t), "build")
	}
	r.launcher = filepath.Join(r.folder, "launcher")
	if _, err := os.Stat(r.launcher); err != nil { // a run that shall not notice later changes of the sources has its own
		root := testkit.Root(t)
		cc := exec.Command("cc", "-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-I"+root+"/hotpath", "-o", r.launcher,
			root+"/bench/soak/testdata/launcher.c", "-pthread", "-ldl")
		if text, err := cc.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	log, err := os.OpenFile(filepath.Join(r.folder, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	r.log = io.MultiWriter(os.Stdout, log)
	// A server fails in each way at least once, also in a short run.
	r.server = newServer(t, min(time.Minute, max(long, time.Minute)/time.Duration(len(failures)+1)))
	r.say("soak of %v, process %d: %.0f launches per second, and %.0f for three seconds of each minute", long, os.Getpid(), *rate, *burst)
	return r
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.log, time.Now().UTC().Format("15:04:05 ")+format+"\n", args...)
}

// watch reads what the processes use every ten seconds, and reports it every minute.
func (r *run) watch(t *testing.T, long time.Duration) {
	began := time.Now()
	var minute report
	for n := 1; ; n++ {
		next := min(time.Duration(n)*10*time.Second, long)
		time.Sleep(time.Until(began.Add(next)))
		for _, w := range r.watched {
			if err := w.read(); err != nil {
				t.Fatalf("%s: %v\n%s%s", w.name, err, r.steady.output, r.growing.output)
			}
		}
		if n%6 == 0 || next == long {
			r.report((n+5)/6, &minute)
		}
		if next == long {
			return
		}
	}
}

// report is what the report of the minute before had.
type report struct {
	at              time.Time
	launches, plain uint64
}

func (r *run) report(minute int, before *report) {
	s, p := r.steady.state, r.plain.state
	now := report{time.Now(), s.launches.Load(), p.launches.Load()}
	if !before.at.IsZero() {
		seconds := now.at.Sub(before.at).Seconds()
		r.say("minute %d: %.0f launches/s, %.0f without a profiler", minute, float64(now.launches-before.launches)/seconds, float64(now.plain-before.plain)/seconds)
	} else {
		r.say("minute %d: %d launches, %d without a profiler", minute, now.launches, now.plain)
	}
	*before = now
	for _, w := range r.watched {
		r.say("  %s", w.minute())
	}
	r.say("  slowest launch %s (without a profiler %s), most processor time of one %s (%s)", nanos(s.slowest.Swap(0)), nanos(p.slowest.Swap(0)),
		nanos(s.slowestCPU.Swap(0)), nanos(p.slowestCPU.Swap(0)))
	r.say("  malloc %.2f MiB; dropped: %d records, %d windows; %d sessions, %d forks (%d failed), %d modules, %d threads, %d failed calls; growing: %d call paths",
		mib(int64(s.cBytes.Load())), s.lost.Load(), s.lostWindows.Load(), s.sessions.Load(), s.forks.Load(), s.forksFailed.Load(), s.modules.Load(),
		s.threads.Load(), s.errors.Load(), r.growing.state.paths.Load())
	r.mu.Lock()
	killed := len(r.killed)
	r.mu.Unlock()
	r.say("  %s; %d workers killed", r.server, killed)
}

// drain sends what killed programs have left.
func (r *run) drain(t *testing.T) {
	c := exec.Command(filepath.Join(r.build, "proton"), "push", "pyroscope+http://"+r.server.address)
	c.Env = append(os.Environ(), "PROTON_PUSH_SPOOL="+r.folder+"/spool")
	text, err := c.CombinedOutput()
	r.say("%s", strings.TrimSpace(string(text)))
	if err != nil {
		t.Errorf("proton push: %v", err)
	}
}

func (r *run) judge(t *testing.T) {
	wrong := r.server.refusals()
	for _, p := range []*process{r.steady, r.growing} {
		got, want, lost := r.server.launched(p.name), int64(p.state.launches.Load()), int64(p.state.lost.Load())
		r.say("%s: %d launches, %d arrived, %d records and %d windows were dropped", p.name, want, got, lost, p.state.lostWindows.Load())
		if got > want || got < want-lost && p.state.lostWindows.Load() == 0 {
			wrong = append(wrong, fmt.Sprintf("%s launched %d kernels, and %d arrived; %d records were dropped", p.name, want, got, lost))
		}
		if n, forks := p.state.errors.Load(), p.state.forksFailed.Load(); n+forks > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %d calls and %d forks failed", p.name, n, forks))
		}
	}
	wrong = append(wrong, r.compare(t, "steady")...)
	wrong = append(wrong, r.judgeWorkers()...)
	for _, w := range r.watched {
		summary, grows := verdict(w)
		r.say("%s", summary)
		wrong = append(wrong, grows...)
	}
	r.say("launches by time, %s: %s", r.steady.name, histogram(r.steady.state))
	r.say("launches by time, %s: %s", r.plain.name, histogram(r.plain.state))
	for _, why := range wrong {
		r.say("FAILED: %s", why)
		t.Error(why)
	}
	if !t.Failed() {
		r.say("passed")
	}
}

// compare compares what arrived with the local profile, call path by call path.
func (r *run) compare(t *testing.T, name string) (wrong []string) {
	p, err := formats.ReadFile(filepath.Join(r.folder, name+".hatchet"))
	if err != nil {
		return []string{err.Error()}
	}
	var taken counters.Taken
	list, err := push.NewSeries(name, taken.Take(p))
	if err != nil {
		return []string{err.Error()}
	}
	want := map[string]int64{}
	for _, s := range list {
		exporttest.Add(want, "", s.Profile)
	}
	got := r.server.totals(name)
	for path := range want {
		if got[path] != want[path] {
			wrong = append(wrong, fmt.Sprintf("%s: %d arrived, the profile has %d", path, got[path], want[path]))
		}
	}
	r.say("%s: %d values of call paths of the local profile were compared with what arrived, %d differ", name, len(want), len(wrong))
	if len(want) != len(got) {
		wrong = append(wrong, fmt.Sprintf("%d values of call paths arrived, the profile has %d", len(got), len(want)))
	}
	return wrong[:min(len(wrong), 5)]
}
