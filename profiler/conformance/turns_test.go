package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler"
)

// turns are the ways in which records come: at once, or long after their launches. Each has a process of its own, because the libraries
// read the environment once.
var turns = []struct{ backend, environment string }{
	{"cupti", ""},
	{"cupti", "PROTON_STUB_LATE=3"},
	{"rocprofiler", ""},
	{"rocprofiler", "PROTON_STUB_SCRIPT=slow 3"},
	{"roctracer", ""},
	{"synthetic", ""},
}

// A session counts what was launched within it, and nothing of before or after, while threads launch all the while: sessions in turn, and one
// that rests in between.
func TestSessionsInTurn(t *testing.T) {
	for _, turn := range turns {
		t.Run(turn.backend+" "+turn.environment, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestTurns$")
			cmd.Env = append(os.Environ(), "GOPROTON_TURNS="+turn.backend, turn.environment)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestTurns is the process of one.
func TestTurns(t *testing.T) {
	name := os.Getenv("GOPROTON_TURNS")
	if name == "" {
		t.Skip("TestSessionsInTurn runs it")
	}
	b := implementations[slices.IndexFunc(implementations, func(b backend) bool { return b.name == name })]
	s := &stage{T: t, GPU: b.open(t), m: profiler.NewManager(), backend: b}
	s.options = profiler.StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: name, NoStats: true}
	s.start() // rocprofiler-sdk has to be there before the first launch
	s.Launch("first")
	s.finish()
	l := startLaunchers(s)
	defer l.stop()
	sessions := 12
	if testkit.All() {
		sessions = 200
	}
	for n := range sessions {
		l.session(n%3 == 2)
	}
}

// launchers are threads that launch all the while. A launch counts as begun before the call, and as done behind it.
type launchers struct {
	*stage
	begun, done atomic.Int64
	ends        atomic.Bool
	running     sync.WaitGroup
}

const launcherCount = 3

func startLaunchers(s *stage) *launchers {
	l := &launchers{stage: s}
	for range launcherCount {
		l.running.Go(func() {
			runtime.LockOSThread()
			for !l.ends.Load() {
				l.begun.Add(1)
				scope("loop", func() { l.Launch("add") })
				l.done.Add(1)
				time.Sleep(50 * time.Microsecond)
			}
		})
	}
	return l
}

func (l *launchers) stop() {
	l.ends.Store(true)
	l.running.Wait()
}

// counted is how many launches some time has at most and at least.
type counted struct{ most, least int64 }

// during counts the launches of a time in which launches are recorded: begins and ends are what begins and ends that.
func (l *launchers) during(begins, ends func()) (c counted) {
	before := l.done.Load()
	begins()
	within := l.begun.Load()
	time.Sleep(5 * time.Millisecond)
	c.least = l.done.Load() - within
	ends()
	c.most = l.begun.Load() - before
	return c
}

func (l *launchers) session(rests bool) {
	var p *profile.Profile
	finish := func() { p = l.finish() }
	var want counted
	if rests {
		first := l.during(l.start, func() { l.m.Deactivate(nil, false) })
		time.Sleep(2 * time.Millisecond)
		second := l.during(func() { l.m.Activate(nil) }, finish)
		want = counted{first.most + second.most, first.least + second.least}
	} else {
		want = l.during(l.start, finish)
	}
	got, unattributed := counts(p.Root, false)
	if got+unattributed > want.most || got < want.least {
		l.Errorf("%d kernels and %d unattributed, of %d launches at least and %d at most\n%s", got, unattributed, want.least, want.most, outline(p))
	}
	// With roctracer a launch that goes on when the session starts has no id, and its kernel is not known to be older.
	if most := int64(launcherCount); unattributed > 0 && (l.backend.name != "roctracer" || unattributed > most) {
		l.Errorf("%d kernels are unattributed\n%s", unattributed, outline(p))
	}
}

// counts adds up the kernels below a node: those with a launch, and those without.
func counts(n *profile.Node, unknown bool) (known, unattributed int64) {
	unknown = unknown || n.Name == "<unattributed>"
	for _, m := range n.Metrics {
		if f, _ := m.Value.Float(); m.Name == profile.CountMetric && unknown {
			unattributed += int64(f)
		} else if m.Name == profile.CountMetric {
			known += int64(f)
		} else if strings.HasPrefix(m.Name, "lost") {
			known += int64(f) // the machine was too busy to read them
		}
	}
	for _, c := range n.Children {
		a, b := counts(c, unknown)
		known, unattributed = known+a, unattributed+b
	}
	return known, unattributed
}
