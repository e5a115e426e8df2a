package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/version"
)

// TestLayoutOfWheel: the command finds the package that pip has installed with it, for any Python of the same prefix.
func TestLayoutOfWheel(t *testing.T) {
	for name, packages := range map[string]string{
		"a virtual environment": "lib/python3.12/site-packages",
		"of Debian":             "lib/python3.11/dist-packages",
		"64 bits":               "lib64/python3.9/site-packages",
		"pip --target":          ".",
	} {
		t.Run(name, func(t *testing.T) {
			prefix := filepath.Join(t.TempDir(), "with [brackets] and blanks")
			write := func(path string) {
				t.Helper()
				path = filepath.Join(prefix, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			write("bin/goproton")
			write("bin/python") // the interpreter, not the folder of a build
			for _, part := range []string{"libproton.so", "proton-probe", "proton-replay", "stub/libcupti.so", "bootstrap/sitecustomize.py"} {
				write(filepath.Join(packages, "goproton", part))
				write(filepath.Join("lib/python3.8/site-packages/goproton", part)) // of another version
			}
			write(filepath.Join(packages, "goproton-"+version.Number+".dist-info", "RECORD"))
			write("lib/python3.8/site-packages/goproton-999.0.0.dist-info/RECORD")
			link := filepath.Join(t.TempDir(), "proton") // as pipx makes it
			if err := os.Symlink(filepath.Join(prefix, "bin/goproton"), link); err != nil {
				t.Fatal(err)
			}

			for _, executable := range []string{filepath.Join(prefix, "bin/goproton"), link} {
				got := FindLayout(executable, func(string) string { return "" })
				own := filepath.Join(prefix, packages, "goproton")
				want := Layout{Library: filepath.Join(own, "libproton.so"), Bootstrap: filepath.Join(own, "bootstrap"), Probe: filepath.Join(own, "proton-probe"), Replay: filepath.Join(own, "proton-replay"), Stub: filepath.Join(own, "stub")}
				got.Preload = nil
				if got.Library != want.Library || got.Bootstrap != want.Bootstrap || got.Python != "" || got.Probe != want.Probe || got.Replay != want.Replay || got.Stub != want.Stub {
					t.Errorf("FindLayout(%s) = %+v, want %+v", executable, got, want)
				}
			}
		})
	}
}
