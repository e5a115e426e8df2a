package compat

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile/hatchet"
)

// FuzzRender prints whatever the reader accepts with whatever a user may type; any answer but a panic is right.
func FuzzRender(f *testing.F) {
	paths, err := filepath.Glob("../testdata/profiles/*.hatchet")
	if err != nil {
		f.Fatal(err)
	}
	for i, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		g := goldens[i%len(goldens)].o
		f.Add(b, strings.Join(g.Metrics, ","), g.Include, g.Exclude, g.Threshold, g.Depth, string(g.Format))
	}
	f.Fuzz(func(t *testing.T, file []byte, metrics, include, exclude string, threshold float64, depth int, format string) {
		p, err := hatchet.Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		if err := List(io.Discard, p); err != nil {
			return
		}
		o := Options{Include: include, Exclude: exclude, Threshold: threshold, Depth: depth, Format: NameFormat(format),
			Sorted: true, Color: depth%2 == 0}
		if metrics != "" {
			o.Metrics = strings.Split(metrics, ",")
		}
		if depth%3 == 0 {
			o.Diff = p
		}
		var out bytes.Buffer
		if err := Render(&out, p, o); err != nil && out.Len() > 0 {
			t.Fatalf("printed %d bytes next to the error %v", out.Len(), err)
		}
	})
}
