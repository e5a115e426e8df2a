package blake2b

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestAsPython: the beginnings of what Python's hashlib.blake2b says.
func TestAsPython(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "786a02f742015903c6c6fd852552d272912f4740",
		"abc":                       "ba80a53f981c4d0d6a2797b69f12f6e94c212f14",
		strings.Repeat("a", 127):    "94596b9d6199c807c40ae1a935f3633ba5a8dd56",
		strings.Repeat("a", 128):    "fc6c71f688f43ea7d60817478808f3cac753e615",
		strings.Repeat("a", 129):    "55e6e0eb418149a8af92fd9ddc99254781b2f522",
		strings.Repeat("xyz", 1000): "8a130c004da57bcd85c5935fe233d9993304dc53",
	} {
		for _, step := range []int{1, 100, 128, 5000} {
			h := New()
			for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
				if _, err := h.Write([]byte(rest[:min(step, len(rest))])); err != nil {
					t.Fatal(err)
				}
			}
			if got := hex.EncodeToString(h.Sum(nil)); len(got) != 2*Size || !strings.HasPrefix(got, want) {
				t.Errorf("%d bytes in steps of %d: %s, want %s…", len(text), step, got, want)
			}
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	h, text := New(), make([]byte, 1<<20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		h.Write(text)
	}
}
