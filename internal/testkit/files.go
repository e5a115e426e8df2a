package testkit

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Root is the folder of the checkout, from wherever in it a test runs.
func Root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for filepath.Dir(folder) != folder {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		folder = filepath.Dir(folder)
	}
	t.Fatal("there is no go.mod above the folder of the test")
	return ""
}

// Read is the text of a file.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Write writes a file, and makes its folder.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// Linked returns a new folder with links to files. files has their paths by the path in the folder.
func Linked(t testing.TB, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, file := range files {
		link := filepath.Join(folder, name)
		absolute, err := filepath.Abs(file)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(link), 0o777)
		}
		if err == nil {
			err = os.Symlink(absolute, link)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// Gunzip is what a gzip file holds, of any number of members: a recorder begins one at each flush.
func Gunzip(t testing.TB, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
