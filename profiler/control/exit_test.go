package control

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler"
)

// hanging is a source that never comes back from one of its functions.
type hanging struct {
	in    string
	hangs chan struct{} // filled when it does: one for each wait of an exit that will not be answered
	ever  chan struct{}
}

func (h *hanging) at(function string) {
	if h.in != function {
		return
	}
	for range cap(h.hangs) {
		select {
		case h.hangs <- struct{}{}:
		default: // it has hung before
		}
	}
	<-h.ever
}

// untilItHangs ends the wait for a source when the source hangs.
func (h *hanging) untilItHangs(t *testing.T) {
	before := receive
	receive = func(from <-chan error, _ time.Duration, _ func() bool) (error, bool) {
		select {
		case err := <-from:
			return err, true
		case <-h.hangs:
			return nil, false
		}
	}
	t.Cleanup(func() { receive = before })
}

func (h *hanging) Attach(bool) error             { return nil }
func (h *hanging) Attached() bool                { return true }
func (h *hanging) Synchronize(func()) bool       { h.at("Synchronize"); return true }
func (h *hanging) Flush(bool)                    { h.at("Flush") }
func (h *hanging) Dropped() uint64               { return 0 }
func (h *hanging) Detach(bool)                   { h.at("Detach") }
func (h *hanging) Ready() bool                   { return true }
func (h *hanging) AttachLater() bool             { return true }
func (h *hanging) APIName(uint32) (string, bool) { return "", false }
func (h *hanging) ClockAhead() int64             { return 0 }
func (h *hanging) Listen(kinds, _ record.Kinds) error {
	if kinds == 0 {
		h.at("Listen")
	}
	return nil
}
func (h *hanging) Device(uint32) profile.Device { return profile.Device{} }
func (h *hanging) DeviceName(uint32) string     { return "" }

// Whatever the GPU library hangs in, the process ends, and with a profile: the drained one or, in Listen and
// Detach, the one that was written before.
func TestExitOfAProcessWhoseGPULibraryHangs(t *testing.T) {
	// In Listen the lock is held without which nothing can be written.
	for in, unanswered := range map[string]int{"nothing": 0, "Synchronize": 1, "Flush": 1, "Listen": 2, "Detach": 1} {
		t.Run(in, func(t *testing.T) {
			h := &hanging{in: in, hangs: make(chan struct{}, unanswered), ever: make(chan struct{})}
			h.untilItHangs(t)
			profiler.Register(profiler.Backend{Backend: vendors.Backend{Names: []string{"hanging"}}, New: func(profiler.SourceOptions) profiler.Source { return h }})
			s := New()
			name := filepath.Join(t.TempDir(), "p")
			if _, err := s.Manager.Start(profiler.StartOptions{Name: name, Backend: "hanging"}); err != nil {
				t.Fatal(err)
			}
			err := s.AtExit(false, time.Second)
			again := s.AtExit(true, time.Second)
			if hung := in != "nothing"; again != nil || hung != (err != nil && strings.Contains(err.Error(), "at exit")) {
				t.Errorf("at exit: %v, then %v", err, again)
			}
			if _, err := os.Stat(name + ".hatchet"); err != nil {
				t.Errorf("no profile: %v", err)
			}
			close(h.ever)
			s.Manager.Finalize(nil, "")
		})
	}
}

// busy is a source whose GPU has made progress at every check.
type busy struct {
	hanging
	looks chan struct{}
}

func (b *busy) Synchronize(func()) bool {
	for range 3 {
		<-b.looks
	}
	return true
}

func (b *busy) Flush(bool) {
	select {
	case b.looks <- struct{}{}:
	default: // no waiter
	}
}

// CUPTI hands over by itself only buffers that are full: only a check shows whether the GPU makes progress.
func TestExitAsksWhetherTheGPUGetsOn(t *testing.T) {
	before := receive
	t.Cleanup(func() { receive = before })
	receive = func(from <-chan error, _ time.Duration, moved func() bool) (error, bool) {
		return procstat.ReceiveWhile(from, 50*time.Millisecond, func() bool { moved(); return true }) // for as long as it takes
	}
	profiler.Register(profiler.Backend{Backend: vendors.Backend{Names: []string{"busy"}}, New: func(profiler.SourceOptions) profiler.Source { return &busy{looks: make(chan struct{})} }})
	s := New()
	if _, err := s.Manager.Start(profiler.StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: "busy"}); err != nil {
		t.Fatal(err)
	}
	if err := s.AtExit(false, time.Second); err != nil {
		t.Error(err)
	}
}

func TestPatience(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 30 * time.Second, "1.5": 1500 * time.Millisecond, "inf": math.MaxInt64,
	} {
		t.Setenv(settings.ExitPatience.Name, text)
		if got := Patience(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		var answer struct{ Seconds float64 }
		if err := json.Unmarshal(New().Call("exit.patience", nil), &answer); err != nil || answer.Seconds != want.Seconds() {
			t.Errorf("%q: the control call answers %v (%v), want %v", text, answer.Seconds, err, want.Seconds())
		}
	}
}

// An exit that is not waited for any longer leaves no half of a file, and says what took so long.
func TestExitWhileAFileIsWritten(t *testing.T) {
	dir := t.TempDir()
	goOn, written := make(chan struct{}), make(chan struct{})
	began := make(chan struct{})
	before := receive
	t.Cleanup(func() { receive = before })
	first := true
	receive = func(from <-chan error, _ time.Duration, moved func() bool) (error, bool) {
		if first {
			first = false
			<-began
			if !moved() || moved() {
				t.Error("what has been written is progress, once")
			}
			return nil, false
		}
		return <-from, true
	}
	err := New().leave(time.Second, false, func() error {
		defer close(written)
		return ownfile.Replace(filepath.Join(dir, "p"), func(w io.Writer) error {
			w.Write([]byte("half"))
			close(began)
			<-goOn
			_, err := w.Write([]byte("of it"))
			return err
		})
	})
	if err == nil || !strings.HasPrefix(err.Error(), "writing the profile made no progress within 1s at exit") {
		t.Errorf("got %v", err)
	}
	close(goOn)
	<-written
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s is left", left[0].Name())
	}
}

// A profile that cannot be written at exit is worth a sentence, and takes no other with it.
func TestExitWithAProfileThatCannotBeWritten(t *testing.T) {
	profiler.Register(profiler.Backend{Backend: vendors.Backend{Names: []string{"hanging"}}, New: func(profiler.SourceOptions) profiler.Source { return &hanging{} }})
	s := New()
	name := filepath.Join(t.TempDir(), "p")
	folder := filepath.Join(t.TempDir(), "folder")
	for _, name := range []string{filepath.Join(folder, "p"), name} {
		if _, err := s.Manager.Start(profiler.StartOptions{Name: name, Backend: "hanging"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Remove(folder), os.WriteFile(folder, nil, 0o666)); err != nil { // a file takes the folder's place
		t.Fatal(err)
	}
	err := s.AtExit(false, testkit.Patience())
	if err == nil || !strings.Contains(err.Error(), filepath.Join(folder, "p.hatchet")) {
		t.Errorf("at exit: %v", err)
	}
	if again := s.AtExit(true, testkit.Patience()); again != nil {
		t.Errorf("it is said twice: %v", again)
	}
	if _, err := os.Stat(name + ".hatchet"); err != nil {
		t.Errorf("the other profile: %v", err)
	}
	for id := range 2 {
		s.Manager.Discard(id)
	}
}
