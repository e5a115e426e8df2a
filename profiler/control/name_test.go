package control

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profiler"
)

// A session that the program starts itself has files of its own. They say nothing about the name of the run's profile.
func TestFilesOfTheProgramsOwnSessions(t *testing.T) {
	profiler.Register(profiler.Backend{Names: []string{"hanging"}, New: func(profiler.SourceOptions) profiler.Source { return &hanging{} }})
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
	// Another run's file in the place of ours is still seen.
	if err := os.Rename(own+".hatchet", name+".hatchet"); err != nil {
		t.Fatal(err)
	}
	if s.keepName(); !strings.HasPrefix(s.Manager.Name(s.run.session), name+".pid") || len(s.run.doubts()) != 1 {
		t.Errorf("next to another run the profile is %s: %q", s.Manager.Name(s.run.session), s.run.doubts())
	}
}
