package foreign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileName makes a file of each name, and expects that it lies where it should, and that long names stay different.
func TestFileName(t *testing.T) {
	long := strings.Repeat("é", 300)
	seen := map[string]bool{}
	for _, name := range []string{"", ".", "..", "a/b", `..\..\x`, "\x00", "-rf", "C:x", "\xff\xfe", "a b", long + ".ttir", long + "x.ttir"} {
		safe := FileName(name)
		if err := os.WriteFile(filepath.Join(t.TempDir(), safe), nil, 0o666); err != nil || filepath.Base(safe) != safe {
			t.Errorf("%.20q: %q, %v", name, safe, err)
		}
		if strings.ContainsAny(safe[:1], ".-") || strings.ContainsAny(safe, " /\\:\x00") {
			t.Errorf("%.20q: %q", name, safe)
		}
		if strings.HasSuffix(name, ".ttir") && filepath.Ext(safe) != ".ttir" {
			t.Errorf("%.20q lost its extension: %q", name, safe)
		}
		if seen[safe] && len(safe) > 100 {
			t.Errorf("%.20q is the same file as another: %q", name, safe)
		}
		seen[safe] = true
	}
	for _, usual := range []string{"matmul_kernel", "k.ttir", "72d67842", "größe"} {
		if FileName(usual) != usual {
			t.Errorf("%q became %q", usual, FileName(usual))
		}
	}
}
