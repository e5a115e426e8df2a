package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/interpreter/compare"
)

// TestDiffAndPrecision: a saved launch with two texts, and with and without rounding; texts that take other arguments are refused.
func TestDiffAndPrecision(t *testing.T) {
	folder := t.TempDir()
	text := `module {
  tt.func public @k(%x: !tt.ptr<f16>) {
    %v = tt.load %x : !tt.ptr<f16> loc("v"("k.py":2:8))
    %w = arith.divf %v, %v : f16 loc("w"("k.py":3:8))
    %c = arith.constant 3.0 : f16
    %u = arith.divf %w, %c : f16 loc("u"("k.py":4:8))
    tt.store %x, %u : !tt.ptr<f16> loc("k.py":5:4)
    tt.return
  }
}
`
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := write("kernel.ttir", text), write("b.ttir", strings.Replace(text, "divf %w", "mulf %w", 1))
	write("launch.json", `{"version": 1, "ttir": "kernel.ttir", "grid": [1, 1, 1], "args": [{"buffer": "x"}], "buffers": {"x": {"type": "f16", "bytes": 2, "file": "x.bin"}}}`)
	write("x.bin", "\x00\x3c")
	c, err := Diff(folder, a, b, compare.Options{})
	if err != nil || c.First == nil || c.First.Variable != "u" || c.First.A.Line != 4 || c.First.B.Op != "arith.mulf" || c.First.B.Value != "3" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := Diff(folder, a, a, compare.Options{}); err != nil || c.First != nil || c.Values != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	other := write("other.ttir", strings.Replace(text, "(%x: !tt.ptr<f16>)", "(%x: !tt.ptr<f16>, %n: i32)", 1))
	if _, err := Diff(folder, a, other, compare.Options{}); err == nil || !strings.Contains(err.Error(), "takes 2 arguments, and the launch") {
		t.Errorf("%v", err)
	}
	p, err := Precision(folder, compare.Options{})
	if err != nil || len(p.Lines) != 4 || p.Lines[1].Error != 0 || p.Lines[2].Error < 0x1p-13 || p.Lines[2].Error > 0x1p-11 || p.Lines[2].Variables[0] != "u" {
		t.Errorf("%+v, %v", p, err)
	}
}
