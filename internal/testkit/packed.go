package testkit

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
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

// Untar unpacks an archive, packed with zstd, into a folder of the test.
func Untar(t testing.TB, file string) (folder string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was read
	packed, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	folder = t.TempDir()
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !h.FileInfo().Mode().IsRegular() {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		at := filepath.Join(folder, h.Name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
