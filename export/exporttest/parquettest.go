// Package exporttest has, for tests, a reader of Parquet files with a library that is not in the product, and servers that take windows as
// Pyroscope, Parca and a collector do, refuse what those refuse, and fail in every way that a server can.
package exporttest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// ParquetFile is what is said of a file.
type ParquetFile struct {
	Schema string
	Rows   int
	Facts  map[string]string
}

// ParquetRow is the entries of a row, by the path of the column, with dots. An entry without a value is nil, and whole numbers are texts.
type ParquetRow map[string][]any

// ReadParquet reads a file with tools/parquetcat.
func ReadParquet(t testing.TB, path string) (file ParquetFile, rows []ParquetRow) {
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
		var one ParquetRow
		if err := decoder.Decode(&one); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, one)
	}
	return file, rows
}
