package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/tritonparse"
)

// What the compiler made of a candidate is that of its kernel, if it has one.
func TestCandidatesOfOneKernel(t *testing.T) {
	packed, err := os.Open("../../tritonparse/testdata/dedicated_log_triton_trace_complex_.ndjson.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	var compilations [][]byte
	for lines := bufio.NewReader(text); len(compilations) < 2; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(line[:100], []byte(`"compilation"`)) {
			compilations = append(compilations, line)
		}
	}
	for n, want := range map[int]bool{1: true, 2: false} {
		file := filepath.Join(t.TempDir(), "dedicated_log_triton_trace_x_.ndjson")
		if err := os.WriteFile(file, bytes.Join(compilations[:n], nil), 0o666); err != nil {
			t.Fatal(err)
		}
		trace, err := tritonparse.Open(file, tritonparse.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := &candidateSide{}
		s.compiled(trace)
		if known := s.Shared != nil && *s.Shared == 1024; known != want {
			t.Errorf("%d compilations: %+v", n, s)
		}
	}
}
