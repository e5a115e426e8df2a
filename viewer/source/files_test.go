package source

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

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

// The end of a reduction's body does not stand for the reduction.
func TestSignificant(t *testing.T) {
	for line, want := range map[string]bool{
		`%e_9 = "tt.reduce"(%x) <{axis = 0 : i32}> ({`: true, "tt.reduce.return %e_12 : f32": false, "tt.scan.return %1 : f32": false,
		"%1 = tt.load %0 : tensor<4x!tt.ptr<f32>>": true, "@%p1 ld.global.b32 { %r5 }, [ %rd4 + 0 ];": true, "ret void": false,
	} {
		if got := Significant(line); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}

func TestOneSample(t *testing.T) {
	if one, two := samplesOf(1), samplesOf(2); one != "1 sample" || two != "2 samples" {
		t.Errorf("%q, %q", one, two)
	}
}
