package tritonparse_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/tritonparse"
)

// TestBriefsAgree: what launches are known by is what they say when they are taken apart, in every sample, and for launches
// that differ from the one before in all that a record has.
func TestBriefsAgree(t *testing.T) {
	sources, err := filepath.Glob("../testdata/traces/*/*")
	if err != nil || len(sources) < 20 {
		t.Fatalf("samples: %v, %v", sources, err)
	}
	for _, source := range append(sources, complexTrace, manyKinds(t)) {
		trace, err := tritonparse.Open(source, tritonparse.OpenOptions{NoTexts: true})
		if err != nil {
			t.Fatal(err)
		}
		var want []tritonparse.Brief
		if err := trace.EachLaunch(func(l *tritonparse.LaunchRecord) error {
			want = append(want, tritonparse.Brief{Name: l.Name, Hash: l.Hash, Kind: l.Kind, Whole: len(l.Args) > 0 && len(l.Grid) > 0,
				Blobs: bytes.Contains(l.Raw, []byte(`"blob_path":`)), File: l.File, Line: l.Line, ID: l.ID})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		n, launches := 0, 0
		for _, c := range trace.Compilations() {
			launches += c.Launches
		}
		if err := trace.EachBrief(func(b *tritonparse.Brief) error {
			got := *b
			got = tritonparse.Brief{Name: got.Name, Hash: got.Hash, Kind: got.Kind, Whole: got.Whole, Blobs: got.Blobs, File: got.File, Line: got.Line, ID: got.ID}
			if n >= len(want) || fmt.Sprint(got) != fmt.Sprint(want[n]) {
				t.Fatalf("%s: launch %d is\n%+v, not\n%+v", source, n, got, want[min(n, len(want)-1)])
			}
			if l, err := b.Record(); err != nil || l.Kind != b.Kind || l.ID != b.ID || l.Line != b.Line {
				t.Fatalf("%s: launch %d taken apart: %+v, %v", source, n, l, err)
			}
			n++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if n != len(want) || launches > n {
			t.Fatalf("%s: %d launches in brief, %d as a whole, %d of compilations", source, n, len(want), launches)
		}
	}
}

// manyKinds is a trace of launches that are like one another but for one value each.
func manyKinds(t *testing.T) string {
	const first = `{"event_type":"launch","pid":1,"name":"k","function":7,"stream":0,"timestamp":"a","grid":[4],` +
		`"compilation_metadata":{"hash":"aa","num_warps":4},"extracted_args":{"mean":{"type":"int","value":1},` +
		`"x":{"type":"tensor","shape":[4],"data_ptr":"0x10","std":1.5},"l":{"type":"list","value":[{"data_ptr":"0x1","n":3}]}}}`
	var text []byte
	for _, change := range [][2]string{
		{"", ""}, {`"a"`, `"b"`}, {`[4],"c`, `[5],"c`}, {`[4],"c`, `[],"c`}, {`[4],"c`, `null,"c`}, {`"value":1`, `"value":2`}, {`"0x10"`, `"0x20"`},
		{`"shape":[4]`, `"shape":[4,5]`}, {"1.5", "2.5"}, {`"0x1"`, `"0x2"`}, {`"n":3`, `"n":4`}, {`"n":3`, `"blob_path":"f"`}, {`"k"`, `"k2"`},
		{`"aa"`, `"bb"`}, {`"mean"`, `"std"`}, {`"num_warps":4`, `"num_warps":8`}, {`"value":1`, `"value":1.0`}, {`"value":1`, `"value":"1"`}, {"", ""},
	} {
		text = append(append(text, bytes.Replace([]byte(first), []byte(change[0]), []byte(change[1]), 1)...), '\n')
	}
	file := filepath.Join(t.TempDir(), "trace.ndjson")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}
