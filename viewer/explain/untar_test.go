package explain

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// untar unpacks an archive, packed with zstd, into a folder of the test.
func untar(t testing.TB, file string) (folder string) {
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
