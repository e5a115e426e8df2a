// Package testkit is what the tests of many packages share: golden files, which one flag rewrites, and the choice
// between the tests of "make test" and those that only "make check" runs. Await waits for an event itself, and not for a time that is long
// enough on the machine where the test was written. Traces are made of records that tests name, or are recorded samples. Only tests import it.
package testkit

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files, and the parts of docs that are generated")

// Update reports whether golden files are rewritten. Look at each line that changed: a rewrite proves nothing.
func Update() bool { return *update }

// Golden compares what a test got with a file, which -update writes first. Both are text.
func Golden[T string | []byte](t testing.TB, file string, got T) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: go test -update writes it", err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs (go test -update rewrites it), %s\n--- got\n%s--- want\n%s", file, FirstDifference(string(got), string(want)), got, want)
	}
}

// Between compares the part of a page between two marks with what a test got; -update rewrites that part.
func Between(t testing.TB, page, begin, end, got string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	want, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no part between %q and %q", page, begin, end)
	}
	if *update {
		Golden(t, page, before+begin+got+end+after)
	} else if got != want {
		t.Errorf("%s differs (go test -update rewrites it) after %q, %s\n--- got\n%s--- want\n%s", page, begin, FirstDifference(got, want), got, want)
	}
}

// FirstDifference describes the first line in which two texts differ.
func FirstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := 0; i < len(g) && i < len(w); i++ {
		if g[i] != w[i] {
			return fmt.Sprintf("first in line %d:\n    got  %q\n    want %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("got has %d lines, want %d", len(g), len(w))
}

// All reports whether this run is that of "make check", where a comparison goes over everything. In "make test" it goes
// over a part that covers every feature and ends in seconds.
func All() bool { return os.Getenv("GOPROTON_TESTS") == "all" }

// OnlyInCheck skips a test, for a reason, unless All.
func OnlyInCheck(t testing.TB, why string) {
	t.Helper()
	if !All() {
		t.Skipf("%s: make check runs it (GOPROTON_TESTS=all)", why)
	}
}
