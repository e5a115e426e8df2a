// Package parquettest reads files of Parquet in tests, with the library that is not in the product.
package parquettest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// File is what is said of a file.
type File struct {
	Schema string
	Rows   int
	Facts  map[string]string
}

// Row is the entries of a row, by the path of the column, with dots. An entry without a value is nil, and whole numbers are texts.
type Row map[string][]any

// Read reads a file with tools/parquetcat.
func Read(t testing.TB, path string) (file File, rows []Row) {
	t.Helper()
	program := filepath.Join(testkit.Root(t), "build/tools/parquetcat")
	if _, err := os.Stat(program); err != nil {
		t.Skip("needs build/tools/parquetcat, which make test builds (. tools/steps.sh; install_tools)")
	}
	out, err := exec.Command(program, path).CombinedOutput()
	if err != nil {
		t.Fatalf("read %s: %v: %s", path, err, out)
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	for decoder.More() {
		var one Row
		if err := decoder.Decode(&one); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, one)
	}
	return file, rows
}
