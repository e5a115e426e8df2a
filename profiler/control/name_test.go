package control

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profiler"
)

// A session that the program starts itself has files of its own. They say nothing about the name of the run's profile.
func TestFilesOfTheProgramsOwnSessions(t *testing.T) {
	profiler.Register(profiler.Backend{Backend: vendors.Backend{Names: []string{"hanging"}}, New: func(profiler.SourceOptions) profiler.Source { return &hanging{} }})
	s := New()
	name, own := filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "own")
	start := func(name string) int {
		id, err := s.Manager.Start(profiler.StartOptions{Name: name, Backend: "hanging"})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	s.run = &run{session: start(name)}
	defer s.Manager.Discard(s.run.session)
	session := start(own)
	checkpoint := func() {
		files, err := s.Manager.WriteDrained()
		if err != nil {
			t.Fatal(err)
		}
		s.run.setFiles(files)
	}
	checkpoint()
	if got, want := s.run.written(), []string{name + ".hatchet", own + ".hatchet"}; !slices.Equal(got, want) {
		t.Fatalf("a checkpoint writes %q, want %q", got, want)
	}
	if _, err := s.Manager.Finalize(&session, ""); err != nil {
		t.Fatal(err)
	}
	if s.keepName(); s.Manager.Name(s.run.session) != name || len(s.run.doubts()) > 0 {
		t.Errorf("after the end of a session the run's profile is %s: %q", s.Manager.Name(s.run.session), s.run.doubts())
	}
	if got := s.filesOfRun(); !slices.Equal(got, []string{name + ".hatchet"}) {
		t.Errorf("when the rank is known, %q are moved", got)
	}
	// A file that cannot be written says nothing about the others, and is not forgotten.
	broken := filepath.Join(t.TempDir(), "broken", "own")
	session = start(broken)
	defer s.Manager.Discard(session)
	s.writeFiles()
	if err := errors.Join(os.RemoveAll(filepath.Dir(broken)), os.WriteFile(filepath.Dir(broken), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	s.writeFiles()
	if s.keepName(); s.Manager.Name(s.run.session) != name || len(s.run.doubts()) > 0 {
		t.Errorf("after a failure of another session the run's profile is %s: %q", s.Manager.Name(s.run.session), s.run.doubts())
	}
	files := func() {
		t.Helper()
		if got, want := s.run.written(), []string{name + ".hatchet", broken + ".hatchet"}; !slices.Equal(got, want) {
			t.Errorf("files of the run are %q, want %q", got, want)
		}
	}
	files()
	s.run.config.Status = t.TempDir()
	if err := s.writeDrained("the GPU hangs"); err != nil {
		t.Error(err)
	}
	files()
	// Another run's file in the place of ours is still seen.
	if err := os.Rename(own+".hatchet", name+".hatchet"); err != nil {
		t.Fatal(err)
	}
	if s.keepName(); !strings.HasPrefix(s.Manager.Name(s.run.session), name+".pid") || len(s.run.doubts()) != 1 {
		t.Errorf("next to another run the profile is %s: %q", s.Manager.Name(s.run.session), s.run.doubts())
	}
}

// A process that has ended and had the name of a rank is an attempt before this one, unless it began after this process did.
func TestWhoIsAnEarlierAttempt(t *testing.T) {
	status, name := t.TempDir(), filepath.Join(t.TempDir(), "p.rank1")
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	claimName(status, name+".hatchet", ended.Process.Pid, "image")
	for _, c := range []struct {
		began time.Time
		want  bool
	}{{time.Now().Add(time.Minute), true}, {time.Now().Add(-time.Minute), false}} {
		s := New()
		s.run = &run{config: runinfo.Config{Status: status}, began: c.began}
		if got := s.ofEarlierAttempt(name, c.began.Add(-time.Minute)); got != c.want {
			t.Errorf("began %v: %v", c.began, got)
		}
	}
}
