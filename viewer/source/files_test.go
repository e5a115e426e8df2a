package source

import (
	"slices"
	"testing"
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
		t.Error("nobody says that the file was changed")
	}
	files = NoFiles()
	files.Add("k.py", 2, "def k(x):\n    y = x\n")
	files.Add("k.py", 1, "@jit\ndef k(x):\n")
	if files.Text("k.py").Edited {
		t.Error("parts that agree are taken for two texts")
	}
}
