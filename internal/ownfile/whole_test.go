package ownfile

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"testing"
)

func TestWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, want := range [][]byte{bytes.Repeat([]byte("0123456789"), 1000), []byte("short"), nil} {
		if err := WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back as %d, %v", len(want), len(got), err)
		}
	}
	if text, err := ReadFile(filepath.Join(path, "below")); err == nil {
		t.Errorf("read %q below a file", text)
	}
	if err := WriteFile(filepath.Join(path, "below"), nil, fs.ModePerm); err == nil {
		t.Error("wrote below a file")
	}
}
