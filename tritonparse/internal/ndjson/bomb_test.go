package ndjson

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/internal/testkit"
)

// TestRecordBombs: a record that a small file unpacks to is not read as a whole, and the records around it are. In plain files,
// and in packed ones of that size, records are bounded by MaxRecord only.
func TestRecordBombs(t *testing.T) {
	const size = 40 << 20
	text := []byte("{\"a\":1}\n[" + strings.Repeat("1,", size/2) + "1]\n{\"b\":2}\n")
	packed := func(layers string) []byte { return testkit.Packed(t, bytes.NewReader(text), layers) }
	for name, file := range map[string][]byte{"gzip": packed("g"), "zstd": packed("z"), "plain": text} {
		r := NewReader(bytes.NewReader(file), int64(len(file)), name)
		longest, n := 0, 0
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			n, longest = n+1, max(longest, len(rec.Text))
		}
		damages, _ := r.Damages()
		if name == "plain" {
			if n != 3 || len(damages) > 0 {
				t.Errorf("%s: %d records, %v", name, n, damages)
			}
			continue
		}
		if n != 2 || longest > 8 || len(damages) != 1 || !strings.Contains(damages[0].What, inflate.Flag) || damages[0].Line != 2 {
			t.Errorf("%s, %d bytes: %d records, the longest of %d bytes, %v", name, len(file), n, longest, damages)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
