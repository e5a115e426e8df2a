package profiler

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/profile"
)

func sampled(file string, lines ...int) *profile.Profile {
	f := profile.SampledFunction{Name: "k"}
	for i, line := range lines {
		f.Places = append(f.Places, profile.Place{Offset: uint64(16 * i), Frames: []profile.SourceFrame{{File: file, Line: line, Func: "k"}}})
	}
	return &profile.Profile{Sampling: &profile.Sampling{Functions: []profile.SampledFunction{f}}}
}

func writeSource(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func kept(p *profile.Profile) (numbers []int) {
	for _, s := range p.Sampling.Sources {
		for _, l := range s.Lines {
			numbers = append(numbers, l.Number)
		}
	}
	return numbers
}

func TestSourcesOfSampledLines(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, "line %d\r\n", i)
	}
	file := writeSource(t, "k.py", b.String())
	p := sampled(file, 2, 20, 22, 39, 22, 99)
	keepSources(p, time.Now().Add(time.Hour).UnixNano())
	if got, want := fmt.Sprint(kept(p)), "[1 2 3 4 5 17 18 19 20 21 22 23 24 25 36 37 38 39 40]"; got != want {
		t.Errorf("kept lines %s, want %s", got, want)
	}
	s := p.Sampling.Sources[0]
	if s.File != file || s.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(b.String()))) || s.Lines[0].Text != "line 1" {
		t.Errorf("kept %+v", s)
	}
}

// What was written after the session began is not what was compiled, and what is not a source is not read.
func TestSourcesThatAreNotKept(t *testing.T) {
	later, earlier := time.Now().Add(time.Hour).UnixNano(), time.Now().Add(-time.Hour).UnixNano()
	for what, p := range map[string]*profile.Profile{
		"a key":       sampled(writeSource(t, "id_rsa", "secret\n"), 1),
		"a folder":    sampled(t.TempDir()+"/", 1),
		"no file":     sampled("/nowhere/k.py", 1),
		"a long line": sampled(writeSource(t, "k.py", strings.Repeat("x", longestKept+1)), 1),
	} {
		if keepSources(p, later); len(p.Sampling.Sources) > 0 {
			t.Errorf("%s: kept %+v", what, p.Sampling.Sources)
		}
	}
	p := sampled(writeSource(t, "k.py", "x = 1\n"), 1)
	if keepSources(p, earlier); len(p.Sampling.Sources) > 0 {
		t.Errorf("a file that was changed since: kept %+v", p.Sampling.Sources)
	}
}

func TestSourcesAreBounded(t *testing.T) {
	line := strings.Repeat("x", longestKept) + "\n"
	n := 2 * mostKept / longestKept
	file := writeSource(t, "k.py", strings.Repeat(line, n))
	var lines []int
	for i := 1; i <= n; i++ {
		lines = append(lines, i)
	}
	p := sampled(file, lines...)
	keepSources(p, time.Now().Add(time.Hour).UnixNano())
	if got, want := len(kept(p)), mostKept/longestKept; got != want {
		t.Errorf("kept %d lines of %d bytes, want %d", got, longestKept, want)
	}
}

// A line that is too long to be kept takes no room from the others.
func TestALongLineTakesNoRoom(t *testing.T) {
	p := sampled(writeSource(t, "k.py", strings.Repeat("x", mostKept+1)+"\ny = 1\n"), 1)
	keepSources(p, time.Now().Add(time.Hour).UnixNano())
	if got := fmt.Sprint(kept(p)); got != "[2]" {
		t.Errorf("kept lines %s, want [2]", got)
	}
}
