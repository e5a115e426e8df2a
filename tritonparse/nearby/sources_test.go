package nearby

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFind looks for files by names that lead out of the trace's folder in each way that a name can.
func TestFind(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"trace/t.ndjson", "trace/k.cubin", "trace/id_rsa", "outside/k.cubin", "outside/id_rsa", "trace-of-others/k.cubin"} {
		write(t, filepath.Join(folder, name))
	}
	for link, to := range map[string]string{
		"trace/inside.cubin": "k.cubin", "trace/away.cubin": "../outside/k.cubin", "trace/key.cubin": "id_rsa", "trace/folder": "../outside", "alias": "trace",
	} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, c := range []struct {
		place   string
		sources Sources
		want    string
	}{
		{at("trace/k.cubin"), nil, "trace/k.cubin"},
		{at("alias/k.cubin"), nil, "trace/k.cubin"},
		{at("trace/inside.cubin"), nil, "trace/k.cubin"},
		{at("trace/away.cubin"), nil, ""},
		{at("trace/folder/k.cubin"), nil, ""},
		{at("trace/../outside/k.cubin"), nil, ""},
		{at("outside/k.cubin"), nil, ""},
		{at("trace-of-others/k.cubin"), nil, ""},
		{at("trace/id_rsa"), nil, ""},    // of another kind
		{at("trace/key.cubin"), nil, ""}, // of another kind behind a link
		{at("trace"), nil, ""},
		{"/dev/zero", Sources{"/"}, ""},
		{"", nil, ""},
		{at("outside/k.cubin"), Sources{at("outside")}, "outside/k.cubin"},
		{at("trace/away.cubin"), Sources{at("outside")}, "outside/k.cubin"},
		{at("outside/id_rsa"), Sources{at("outside")}, ""},
	} {
		want := c.want
		if want != "" {
			want = at(want)
			if real, err := filepath.EvalSymlinks(want); err == nil {
				want = real
			}
		}
		if got := c.sources.Find(at("trace/t.ndjson"), MachineCode, c.place); got != want {
			t.Errorf("%s with %v: %q, want %q", c.place, c.sources, got, want)
		}
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
}
