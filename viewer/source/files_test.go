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

// The end of a reduction's body does not stand for the reduction.
func TestTelling(t *testing.T) {
	for line, want := range map[string]bool{
		`%e_9 = "tt.reduce"(%x) <{axis = 0 : i32}> ({`: true, "tt.reduce.return %e_12 : f32": false, "tt.scan.return %1 : f32": false,
		"%1 = tt.load %0 : tensor<4x!tt.ptr<f32>>": true, "@%p1 ld.global.b32 { %r5 }, [ %rd4 + 0 ];": true, "ret void": false,
	} {
		if got := Telling(line); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}

func TestOneSample(t *testing.T) {
	if one, two := samplesOf(1), samplesOf(2); one != "1 sample" || two != "2 samples" {
		t.Errorf("%q, %q", one, two)
	}
}
