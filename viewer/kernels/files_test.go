package kernels

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// TestEditedFile: of a file that was changed between two compilations one text is shown, and no mixture of both.
func TestEditedFile(t *testing.T) {
	files := NoFiles()
	files.Add("k.py", 2, "def k(x):\n    y = x\n    return y\n")
	files.Add("k.py", 8, "def other():\n    pass\n")
	files.Add("k.py", 1, "@jit\ndef k(x):\n    z = x + 1\n    y = z\n    return y\n")
	text := files.Text("k.py")
	if want := []string{"", "def k(x):", "    y = x", "    return y", "", "", "", "def other():", "    pass"}; !slices.Equal(text.lines, want) {
		t.Errorf("the text is %q, want %q", text.lines, want)
	}
	if !text.Edited {
		t.Error("the text does not say that the file was changed")
	}
	files = NoFiles()
	files.Add("k.py", 2, "def k(x):\n    y = x\n")
	files.Add("k.py", 1, "@jit\ndef k(x):\n")
	if files.Text("k.py").Edited {
		t.Error("parts that agree are taken for two texts")
	}
}

// TestKeptLines: what the profile kept of a file is shown where the file is gone or says something else in those lines, and says
// so, and the file on disk where it has the same lines.
func TestKeptLines(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "k.py")
	const compiled = "@jit\ndef k(x):\n    return x\n"
	kept := []profile.SourceText{{
		File: file, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(compiled))),
		Lines: []profile.SourceLine{{Number: 2, Text: "def k(x):"}, {Number: 3, Text: "    return x"}},
	}}
	for _, test := range []struct {
		what, content string // "" for no file
		want          []string
		kept, missing bool
	}{
		{"the same file", compiled, []string{"@jit", "def k(x):", "    return x"}, false, false},
		{"edited elsewhere", compiled + "# more\n", []string{"@jit", "def k(x):", "    return x", "# more"}, false, false},
		{"lines moved", "import x\n" + compiled, []string{"", "def k(x):", "    return x"}, true, false},
		{"cut off", "@jit\ndef k(x):\n", []string{"", "def k(x):", "    return x"}, true, false},
		{"gone", "", []string{"", "def k(x):", "    return x"}, true, true},
	} {
		os.Remove(file)
		if test.content != "" {
			if err := os.WriteFile(file, []byte(test.content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var files Files
		files.Keep(kept)
		text := files.Text(file)
		if !slices.Equal(text.lines, test.want) || text.Kept != test.kept || text.Missing != test.missing || text.Err != nil {
			t.Errorf("%s: %q, kept %t, missing %t, %v", test.what, text.lines, text.Kept, text.Missing, text.Err)
		}
	}
}

func TestFiles(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) { testkit.Write(t, filepath.Join(folder, name), text) }
	write("src/k.py", "a\r\nb\n\nc")
	write("k.py", "other")
	write("id_rsa", "secret")
	for link, to := range map[string]string{"link.py": "k.py", "key.py": "id_rsa"} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		files    Files
		recorded string
		want     string // where it is found, "" for nowhere
	}{
		{Files{Moves: []string{"/old=" + folder}}, "/old/src/k.py", "src/k.py"},
		{Files{Moves: []string{"/old/=" + folder}}, "/old/src/k.py", "src/k.py"},
		{Files{Moves: []string{"/ol=" + folder}}, "/old/src/k.py", ""},
		{Files{Moves: []string{folder}}, "/build/7/src/k.py", "src/k.py"},
		{Files{Near: []string{folder}}, "/build/7/k.py", "k.py"},
		{Files{Near: []string{folder}}, "../k.py", ""},
		{Files{}, filepath.Join(folder, "k.py"), "k.py"},
		{Files{}, filepath.Join(folder, "id_rsa"), ""},
		{Files{}, filepath.Join(folder, "link.py"), "link.py"},
		{Files{}, filepath.Join(folder, "key.py"), ""}, // a link to another kind of file
		{Files{}, folder, ""},
	} {
		got := test.files.Text(test.recorded)
		if want := filepath.Join(folder, test.want); (got.Err == nil) != (test.want != "") || got.Err == nil && got.Path != want {
			t.Errorf("%q with %v: found at %q, %v; want %q", test.recorded, test.files.Moves, got.Path, got.Err, test.want)
		}
	}
	f := Files{Since: time.Now().Add(-time.Hour)}
	text := f.Text(filepath.Join(folder, "src/k.py"))
	if line, found := text.Line(4); line != "c" || !found || text.Lines() != 4 || !text.Changed {
		t.Errorf("line 4 is %q of %d, changed %v", line, text.Lines(), text.Changed)
	}
	if line, _ := text.Line(1); line != "a" {
		t.Errorf("line 1 is %q", line)
	}
	if f = (Files{Since: time.Now().Add(time.Hour)}); f.Text(filepath.Join(folder, "src/k.py")).Changed {
		t.Error("a file from before the profile counts as changed")
	}
}
