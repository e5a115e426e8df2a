package reproduce

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestFilesOfOthers has a trace name files outside of its folder, in the ways that a trace can. What is in them must not get into
// the reproducer, unless the user names their folder.
func TestFilesOfOthers(t *testing.T) {
	python := findPython(t)
	outside := t.TempDir()
	const secret = "hunter2"
	for name, text := range map[string]string{
		"settings.py": "PASSWORD = '" + secret + "'\n@triton.jit\ndef k(x): PASSWORD\n", "abcd.bin": secret, "id_rsa": secret,
	} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const files = `
-- kernel.ttir --
module {}
-- kernel.py --
@triton.jit
def k(x):
    PASSWORD
-- compilation.json --
{"payload": {"python_source": {"file_path": "OUT/settings.py", "start_line": 2}}}
-- launch.json --
{"grid": [1], "extracted_args": {
  "x": {"type": "tensor", "shape": [1], "dtype": "torch.float32", "device": "cuda", "stride": [1], "element_size": 4, "blob_path": "OUT/BLOB"}}}
`
	for _, c := range []struct {
		flags, blob string
		named       bool // by the user
		want        int  // files that have the secret
	}{
		{"", "abcd.bin", false, 0},
		{"embed", "abcd.bin", false, 0},
		{"", "id_rsa", true, 1}, // the source
		{"", "abcd.bin", true, 2},
		{"embed", "abcd.bin", true, 1},
	} {
		text := strings.NewReplacer("OUT", outside, "BLOB", c.blob).Replace(files)
		t.Run(c.flags+c.blob, func(t *testing.T) {
			made := newCase(t, txtar.Parse([]byte(text+"-- flags --\n"+c.flags+"\n")))
			if c.named {
				made.filesFrom = []string{outside}
			}
			r, err := made.generate(t, python)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			err = filepath.WalkDir(filepath.Join(made.work, "out"), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				if strings.Contains(string(data), secret) || strings.Contains(string(data), "aHVudGVyMg") { // in base64
					found++
				}
				return err
			})
			if err != nil || found != c.want {
				t.Errorf("%d files have the secret, want %d (%v)\n%s", found, c.want, err, report(r))
			}
			if !c.named && !strings.Contains(report(r), "--files-from "+outside) {
				t.Errorf("nothing says how to have the files read:\n%s", report(r))
			}
		})
	}
}

// TestClassesOfOthers: the text of an argument may name any class that the kernel's file has. Only those are made that hold
// fields and do nothing.
func TestClassesOfOthers(t *testing.T) {
	python := findPython(t)
	c := newCase(t, txtar.Parse([]byte(`
-- mine.py --
import triton
from subprocess import Popen

@triton.jit
def k(x):
    pass
-- kernel.py --
@triton.jit
def k(x):
    pass
-- compilation.json --
{"payload": {"python_source": {"file_path": "$WORK/mine.py", "start_line": 4}}}
-- launch.json --
{"grid": [1], "extracted_args": {"x": {"type": "Popen", "repr": "Popen(args=['touch', 'TOUCHED'])"}}}
-- flags --
default
`)))
	touched := filepath.Join(c.work, "touched")
	c.files["launch.json"] = strings.Replace(c.files["launch.json"], "TOUCHED", touched, 1)
	r, err := c.generate(t, python)
	if err != nil {
		t.Fatal(err)
	}
	out := runScript(t, python, r.Script, c.work)
	if _, err := os.Stat(touched); err == nil {
		t.Error("the script ran a program that an argument names")
	}
	if !strings.Contains(out, "x = Popen(args=") {
		t.Errorf("the script says\n%s", out)
	}
}

// TestLinksInTheOutput: another user may have put files into the output folder. A file of the reproducer replaces a link, and never
// what it leads to; a folder that leads elsewhere is an error.
func TestLinksInTheOutput(t *testing.T) {
	python, trace := blobTrace(t)
	l, err := Pick(trace, Selection{Line: -1})
	if err != nil {
		t.Fatal(err)
	}
	generate := func(out string) error {
		_, err := Generate(trace, l, Options{OutDir: out, Python: python, Force: true})
		return err
	}
	out, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := generate(out); err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}); err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		for _, there := range []bool{false, true} { // what the link leads to
			if there {
				if err := os.WriteFile(victim, []byte("precious"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(victim, name); err != nil {
				t.Fatal(err)
			}
			if err := generate(out); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			data, err := os.ReadFile(victim)
			if there && string(data) != "precious" || !there && err == nil {
				t.Errorf("%s: what the link leads to is %.20q", name, data)
			}
			if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s was not written: %v", name, err)
			}
			os.Remove(victim)
		}
	}
	elsewhere := t.TempDir()
	out = t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(out, "k")); err != nil {
		t.Fatal(err)
	}
	if err := generate(out); err == nil {
		t.Error("a kernel's folder that is a link to another place was written to")
	}
	if entries, _ := os.ReadDir(elsewhere); len(entries) > 0 {
		t.Errorf("%v was written elsewhere", entries)
	}
}
