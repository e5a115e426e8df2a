package version

import (
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// TestPython: the Python package has the same version.
func TestPython(t *testing.T) {
	testkit.Between(t, filepath.Join("..", "..", "hooks", "python", "goproton", "__init__.py"), "\n__version__ = \"", "\"", Number)
}

func TestNewer(t *testing.T) {
	for _, test := range []struct {
		writer, ours, want string
	}{
		{"goproton 0.9.2+b942568", "0.3.0", "written by goproton 0.9.2; this is 0.3.0: install a newer one"},
		{"goproton 1.0.0", "0.10.4", "written by goproton 1.0.0; this is 0.10.4: install a newer one"},
		{"goproton 0.10.0", "0.9.0", "written by goproton 0.10.0; this is 0.9.0: install a newer one"},
		{"goproton 0.3.9", "0.3.0", ""}, // a patch changes no format
		{"goproton 0.2.0", "0.3.0", ""},
		{"goproton 0.9.0", "1.0.0", ""},
		{"goproton b942568", "0.3.0", ""}, // before there were versions
		{"triton 9.9.9", "0.3.0", ""},
		{"", "0.3.0", ""},
	} {
		if got := newer(test.writer, test.ours); got != test.want {
			t.Errorf("newer(%q, %q) = %q, want %q", test.writer, test.ours, got, test.want)
		}
	}
	if got := Newer(Tool()); got != "" {
		t.Errorf("Newer(Tool()) = %q", got)
	}
}
