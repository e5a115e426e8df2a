package testkit

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Zeros gives n zero bytes without keeping them.
func Zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Packed packs r once for each letter: g is gzip, z is zstd. The last letter is the outer layer.
func Packed(t testing.TB, r io.Reader, layers string) []byte {
	t.Helper()
	var out []byte
	for _, l := range layers {
		var b bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&b)
		if l == 'z' {
			w, _ = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		}
		if _, err := io.Copy(w, r); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out = b.Bytes()
		r = bytes.NewReader(out)
	}
	return out
}
