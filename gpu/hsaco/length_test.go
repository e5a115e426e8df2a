package hsaco

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// TestLengths reads every kind of encoding, as llvm-mc writes it, with more instructions behind it.
func TestLengths(t *testing.T) {
	text, err := os.ReadFile("testdata/encodings.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		code, err := hex.DecodeString(part[1])
		if err != nil {
			t.Fatal(err)
		}
		g := generationOf(part[0])
		if got := g.length(append(code, code...)); got != uint64(len(code)) {
			t.Errorf("%s: %d bytes of %s, which has %d", part[0], got, part[2], len(code))
		}
		if got := g.length(code[:len(code)-1]); got != 0 {
			t.Errorf("%s: %d bytes of %s, which is cut off", part[0], got, part[2])
		}
		scratch := strings.HasPrefix(part[2], "scratch_") || strings.Contains(part[2], "off, s[0:3], s4") && (part[0] == "gfx90a" || part[0] == "gfx1030")
		loads, stores := (&module{arch: part[0], generation: g}).privateAccesses(code, true)
		if wantStore := scratch && strings.Contains(part[2], "_store_"); (stores == 1) != wantStore || (loads == 1) != (scratch && !wantStore) {
			t.Errorf("%s: %d reads and %d writes of private memory by %s", part[0], loads, stores, part[2])
		}
	}
}

// TestUnknownEncodings: an architecture without known encodings has no offsets of instructions.
func TestUnknownEncodings(t *testing.T) {
	for _, arch := range []string{"gfx1250", "gfx700", "", "gfx1310"} {
		if n := generationOf(arch).length([]byte{0, 0, 0x80, 0xbf}); n != 0 {
			t.Errorf("%s: %d bytes", arch, n)
		}
	}
}
