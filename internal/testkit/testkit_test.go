package testkit

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test that only remembers that it failed.
type recorder struct {
	testing.TB
	failure string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failure = format
	for _, arg := range args {
		if text, is := arg.(string); is {
			r.failure += text
		}
	}
}

func TestGolden(t *testing.T) {
	file := filepath.Join(t.TempDir(), "golden.txt")
	if err := os.WriteFile(file, []byte("a\nb\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		"a\nb\n": "", "a\nc\n": `first in line 2:` + "\n" + `    got  "c"`, "a\n": "first in line 2", "a\nb\n\n": "got has 4 lines, want 3",
	} {
		r := &recorder{TB: t}
		Golden(r, file, got)
		if (r.failure == "") != (want == "") || !strings.Contains(r.failure, want) {
			t.Errorf("%q fails with %q, want %q", got, r.failure, want)
		}
	}
	*update = true
	defer func() { *update = false }()
	Golden(t, file, []byte("a\nc\n"))
	if text, err := os.ReadFile(file); err != nil || string(text) != "a\nc\n" {
		t.Errorf("-update leaves %q (%v)", text, err)
	}
}

func TestBetween(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("a\n<b>\nold\n<e>\nz\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{"old\n": "", "new\n": `got  "new"`} {
		r := &recorder{TB: t}
		Between(r, page, "<b>\n", "<e>", got)
		if (r.failure == "") != (want == "") || !strings.Contains(r.failure, want) {
			t.Errorf("%q fails with %q, want %q", got, r.failure, want)
		}
	}
	*update = true
	defer func() { *update = false }()
	Between(t, page, "<b>\n", "<e>", "new\n")
	if text, err := os.ReadFile(page); err != nil || string(text) != "a\n<b>\nnew\n<e>\nz\n" {
		t.Errorf("-update leaves %q (%v)", text, err)
	}
}

func TestAll(t *testing.T) {
	for value, want := range map[string]bool{"": false, "some": false, "all": true} {
		t.Setenv("GOPROTON_TESTS", value)
		if All() != want {
			t.Errorf("GOPROTON_TESTS=%q: All is %v", value, !want)
		}
		skipped := true
		t.Run("part", func(t *testing.T) {
			OnlyInCheck(t, "a reason")
			skipped = false
		})
		if skipped == want {
			t.Errorf("GOPROTON_TESTS=%q: skipped is %v", value, skipped)
		}
	}
}

func TestFetched(t *testing.T) {
	if got, err := os.Stat(filepath.Join(Root(t), "internal", "testkit")); err != nil || !got.IsDir() {
		t.Errorf("%s is not the root: %v", Root(t), err)
	}
	skipped := true
	t.Run("missing", func(t *testing.T) {
		Fetched(t, "no such package")
		skipped = false
	})
	if !skipped {
		t.Error("a test with a package that is not there runs")
	}
}

func TestGunzip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text.gz")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, "text"); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := Gunzip(t, path); string(got) != "text" || Read(t, path) != packed.String() {
		t.Errorf("got %q", got)
	}
}
