package control

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestClaim(t *testing.T) {
	status := t.TempDir()
	claim := func(path string, pid int) string {
		t.Helper()
		claimed, _ := claimName(status, path, pid, "image")
		return claimed
	}
	for _, c := range []struct {
		path string
		pid  int
		want string
	}{
		{"out.hatchet", 1, "out.hatchet"},
		{"out.hatchet", 1, "out.hatchet"},
		{"out.hatchet", 2, "out.pid2.hatchet"},
		{"out.hatchet", 2, "out.pid2.hatchet"},
		{"./out.hatchet", 3, "./out.pid3.hatchet"}, // the same file by another name
		{"other.hatchet", 2, "other.hatchet"},
		{"dir.d/plain", 1, "dir.d/plain"},
		{"dir.d/plain", 2, "dir.d/plain.pid2"},
		{".hidden", 1, ".hidden"},
		{".hidden", 2, ".hidden.pid2"},
		{"-", 1, "-"},
		{"-", 2, "-"},
		{"/dev/null", 1, "/dev/null"},
		{"/dev/null", 2, "/dev/null"},
	} {
		if got := claim(c.path, c.pid); got != c.want {
			t.Errorf("process %d, %s: got %s, want %s", c.pid, c.path, got, c.want)
		}
	}
	// A process that executes another program, twice.
	for i, want := range []string{"out.pid1.hatchet", "out.pid1-2.hatchet", "out.pid1-2.hatchet", "out.pid1-3.hatchet"} {
		image := []string{"second", "third", "third", "fourth"}[i]
		if got, holder := claimName(status, "out.hatchet", 1, image); got != want || holder != 0 {
			t.Errorf("the %s program of a process: got %s of %d, want %s", image, got, holder, want)
		}
	}
	if got, holder := claimName(status, "out.hatchet", 4, "image"); got != "out.pid4.hatchet" || holder != 1 {
		t.Errorf("the path of process 1: got %s, held by %d", got, holder)
	}
	if got, _ := claimName("", "out", 9, "image"); got != "out" {
		t.Errorf("without a run: %s", got)
	}
	if got, _ := claimName(filepath.Join(status, "gone"), "out", 9, "image"); got != "out.pid9" {
		t.Errorf("when the run is over: %s", got)
	}
	if got, _ := claimName("/dev/null/status", "out", 9, "image"); got != "out.pid9" {
		t.Errorf("a status folder that cannot be written: %s", got)
	}
	for path, want := range map[string]int{"out.hatchet": 1, "./other.hatchet": 2, "unclaimed.hatchet": 0} {
		if got, since := nameHolder(status, path); got != want || since.IsZero() != (want == 0) {
			t.Errorf("%s belongs to process %d, want %d", path, got, want)
		}
	}
	if got, _ := nameHolder("", "out.hatchet"); got != 0 {
		t.Errorf("without a run, a path belongs to process %d", got)
	}
	left, _ := filepath.Glob(filepath.Join(status, "claim-*.*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestClaimHasOneWinner(t *testing.T) {
	status := t.TempDir()
	const processes = 32
	got := make([]string, processes)
	var all sync.WaitGroup
	for i := range got {
		all.Add(1)
		go func() {
			defer all.Done()
			got[i], _ = claimName(status, "out", i+1, "image")
		}()
	}
	all.Wait()
	plain := 0
	for i, name := range got {
		switch name {
		case "out":
			plain++
		case fmt.Sprintf("out.pid%d", i+1):
		default:
			t.Errorf("process %d got %q", i+1, name)
		}
	}
	if plain != 1 {
		t.Errorf("%d processes got the plain name, want 1", plain)
	}
	if files, _ := os.ReadDir(status); len(files) != processes {
		t.Errorf("%d files in the status folder, want one claim of each process", len(files))
	}
}
