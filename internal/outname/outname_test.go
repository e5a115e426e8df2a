package outname

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestExpand(t *testing.T) {
	env := map[string]string{"RANK": "3", "LOCAL_RANK": "1", "JOB": "a/b", "EMPTY": ""}
	cases := []struct{ template, want string }{
		{"out", "out"},
		{"", ""},
		{"/tmp/%h-%p-%r", "/tmp/node1-42-3"},
		{"%q{JOB}/x%%", "a_b/x%"},
		{"%r%r", "33"},
		{"100%", `error: expand output name "100%": a percent sign at the end: known are %h, %p, %r, %q{VAR}, and %% for a percent sign`},
		{"%d", `error: expand output name "%d": %d is not known: known are %h, %p, %r, %q{VAR}, and %% for a percent sign`},
		{"%q", `error: expand output name "%q": %q needs a variable in braces: write %q{VAR}`},
		{"%q{", `error: expand output name "%q{": %q needs a variable in braces: write %q{VAR}`},
		{"%q{}", `error: expand output name "%q{}": %q needs a variable in braces: write %q{VAR}`},
		{"%q{EMPTY}", `error: expand output name "%q{EMPTY}": the environment variable EMPTY is empty or not set: set it, or leave %q{EMPTY} out`},
	}
	for _, c := range cases {
		got, err := Expand(c.template, func(name string) string { return env[name] }, 42, "node1")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%q:\ngot  %s\nwant %s", c.template, got, c.want)
		}
	}
}

func TestRanks(t *testing.T) {
	cases := []struct {
		env  map[string]string
		want int
	}{
		{nil, 1},
		{map[string]string{"RANK": "0", "WORLD_SIZE": "8"}, 8},
		{map[string]string{"WORLD_SIZE": "8"}, 1}, // left over: no process of a launcher
		{map[string]string{"SLURM_PROCID": "3", "SLURM_NTASKS": "4", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}, 4},
		{map[string]string{"PMI_RANK": "1", "PMI_SIZE": "many"}, 1},
	}
	for _, c := range cases {
		if got := Ranks(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: got %d ranks, want %d", c.env, got, c.want)
		}
	}
}

func TestRank(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"", "0"}, {"RANK", "7"}, {"LOCAL_RANK", "7"}, {"SLURM_PROCID", "7"}, {"OMPI_COMM_WORLD_RANK", "7"}, {"PMI_RANK", "7"},
	} {
		got := Rank(func(name string) string {
			if name == c.set {
				return "7"
			}
			return ""
		})
		if got != c.want {
			t.Errorf("with %q set: got %s, want %s", c.set, got, c.want)
		}
	}
}

func TestCheckKnowsNoVariables(t *testing.T) {
	if err := Check("a-%q{NOT_SET_HERE}-%r"); err != nil {
		t.Errorf("a template with a variable: %v", err)
	}
	if Check("%z") == nil {
		t.Error("%z passes")
	}
}

func TestClaim(t *testing.T) {
	status := t.TempDir()
	claim := func(path string, pid int) string {
		t.Helper()
		return Claim(status, path, pid, "image")
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
		if got := Claim(status, "out.hatchet", 1, image); got != want {
			t.Errorf("the %s program of a process: got %s, want %s", image, got, want)
		}
	}
	if got := Claim("", "out", 9, "image"); got != "out" {
		t.Errorf("without a run: %s", got)
	}
	if got := Claim(filepath.Join(status, "gone"), "out", 9, "image"); got != "out.pid9" {
		t.Errorf("when the run is over: %s", got)
	}
	if got := Claim("/dev/null/status", "out", 9, "image"); got != "out.pid9" {
		t.Errorf("a status folder that cannot be written: %s", got)
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
			got[i] = Claim(status, "out", i+1, "image")
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
