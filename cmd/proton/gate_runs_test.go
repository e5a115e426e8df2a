package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/compare"
)

// TestGateTakesDifferentRuns: copies of one run have no spread, and would look like several runs that agree.
func TestGateTakesDifferentRuns(t *testing.T) {
	input := func(host, pid, start, end string) compare.Input {
		return compare.Input{Name: pid, Profile: &profile.Profile{Info: profile.Info{profile.InfoHost: host, profile.InfoPID: pid, profile.InfoStart: start, profile.InfoEnd: end}}}
	}
	one := input("a", "7", "100", "200")
	for _, c := range []struct {
		other compare.Input
		same  bool
	}{{one, true}, {input("b", "7", "100", "200"), false}, {input("a", "8", "100", "200"), false}, {input("a", "7", "101", "200"), false}, {input("a", "7", "100", "300"), false}} {
		if err := differentRuns([]compare.Input{one, c.other}); (err != nil) != c.same {
			t.Errorf("%v: %v", c.other.Profile.Info, err)
		}
	}
	if err := apart([]compare.Input{one}, []compare.Input{input("b", "7", "100", "200")}); err != nil {
		t.Error(err)
	}
	if err := apart([]compare.Input{input("b", "7", "100", "200"), one}, []compare.Input{one}); err == nil {
		t.Error("a run was compared with itself")
	}
	unknown := input("a", "", "", "")
	if err := differentRuns([]compare.Input{unknown, unknown}); err != nil {
		t.Errorf("files that name no process: %v", err)
	}
}

// Of files that do not say what run they are of, equal contents with times are copies; equal counts may be of two runs.
func TestGateTakesNoCopies(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) compare.Input {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := readProfile(path, strings.NewReader(""), fromFlag{})
		if err != nil {
			t.Fatal(err)
		}
		return compare.Input{Name: path, Profile: p}
	}
	timed := `[{"frame": {"name": "ROOT", "type": "function"}, "metrics": {}, "children": [{"frame": {"name": "k", "type": "function"}, "metrics": {"time (ns)": %d, "count": 1}, "children": []}]}, {}]`
	counted := strings.Replace(timed, `"time (ns)": %d, `, "", 1)
	for _, c := range []struct {
		a, b string
		same bool
	}{{fmt.Sprintf(timed, 5), fmt.Sprintf(timed, 5), true}, {fmt.Sprintf(timed, 5), fmt.Sprintf(timed, 6), false}, {counted, counted, false}} {
		a, b := file("a.hatchet", c.a), file("b.hatchet", c.b)
		if err := differentRuns([]compare.Input{a, b}); (err != nil) != c.same || err != nil && !strings.Contains(err.Error(), "copies of one file") {
			t.Errorf("%s and %s: %v", c.a, c.b, err)
		}
		if err := apart([]compare.Input{a}, []compare.Input{b}); (err != nil) != c.same {
			t.Errorf("%s before and %s after: %v", c.a, c.b, err)
		}
	}
}
