package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// TestAnotherCommand: a command of the same name that comes first in PATH is named; the wheel's script and a link are not.
func TestAnotherCommand(t *testing.T) {
	folder := t.TempDir()
	own := filepath.Join(folder, "bin", "goproton")
	testkit.Write(t, own, "\x7fELF")
	testkit.Write(t, filepath.Join(folder, "wheel", "proton"), "#!/bin/sh\nhere=$0\nexec \"${here%/*}/goproton\" \"$@\"\n")
	testkit.Write(t, filepath.Join(folder, "triton", "proton"), "#!/venv/bin/python\nfrom triton.profiler.proton import main\n")
	if err := os.MkdirAll(filepath.Join(folder, "link"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, filepath.Join(folder, "link", "proton")); err != nil {
		t.Fatal(err)
	}
	for first, want := range map[string]string{"wheel": "none", "link": "none", "empty": "none", "triton": "note: " + filepath.Join(folder, "triton", "proton") + " is another program"} {
		path := filepath.Join(folder, first) + string(os.PathListSeparator) + filepath.Join(folder, "wheel")
		r := Examine(Machine{Root: folder, Executable: own, Env: func(name string) string { return map[string]string{"PATH": path}[name] }})
		if got := r.finding("command"); !strings.HasPrefix(got, want) {
			t.Errorf("%s first in PATH: %q, want %q", first, got, want)
		}
	}
}
