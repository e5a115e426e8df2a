package ndjson

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/goproton/goproton/internal/inflate"
)

// TestRecordBombs: a record that a small file unpacks to is not read as a whole, and the records around it are. In plain files,
// and in packed ones of that size, records are bounded by MaxRecord only.
func TestRecordBombs(t *testing.T) {
	const size = 40 << 20
	text := []byte("{\"a\":1}\n[" + strings.Repeat("1,", size/2) + "1]\n{\"b\":2}\n")
	pack := func(w io.WriteCloser, out *bytes.Buffer) []byte {
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	var g, z bytes.Buffer
	zw, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{"gzip": pack(gzip.NewWriter(&g), &g), "zstd": pack(zw, &z), "plain": text} {
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
