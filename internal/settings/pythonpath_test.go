package settings

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestInPackages(t *testing.T) {
	venv := t.TempDir()
	site, dist := filepath.Join(venv, "lib/python3.12/site-packages"), filepath.Join(venv, "lib/python3/dist-packages")
	tool := filepath.Join(dist, "tools", "bin", "tool")
	for _, folder := range []string{site, filepath.Dir(tool)} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(tool, nil, 0o777); err != nil {
		t.Fatal(err)
	}
	if got, want := SitePackages("/nowhere", venv), []string{site, dist}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	t.Setenv("VIRTUAL_ENV", venv)
	t.Setenv("PATH", "")
	if got := InPackages("tools", "bin", "tool"); got != tool {
		t.Errorf("got %q, want %q", got, tool)
	}
	if got := InPackages("tools", "bin", "other"); got != "" {
		t.Errorf("found %q", got)
	}
}
