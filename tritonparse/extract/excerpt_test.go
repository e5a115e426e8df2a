package extract

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/parse"
)

const complexTrace = "../testdata/" + tritonparse.Prefix + "complex_.ndjson.gz"

func TestParseLines(t *testing.T) {
	for text, want := range map[string]string{
		"": "[0 1 2 3 4 5 6 7 8 9]", "1,3,5-7": "[1 3 5 6 7]", "-2, 8-": "[0 1 2 8 9]", "4-4": "[4]", " ,2": "[2]",
	} {
		lines, err := ParseLines(text)
		if err != nil {
			t.Error(err)
		}
		var got []int
		for i := range 10 {
			if lines.Has(i) {
				got = append(got, i)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
	for _, wrong := range []string{"x", "3-1", "-", "1--2", "1-2-3", ",", " , ", "99999999999999999999"} {
		if lines, err := ParseLines(wrong); err == nil {
			t.Errorf("%q is taken for %v", wrong, lines)
		}
	}
}

func write(t *testing.T, files []string, o ExcerptOptions) (string, *Excerpt) {
	t.Helper()
	var b bytes.Buffer
	result, err := WriteExcerpt(&b, files, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), result
}

// TestAllOfIt: without conditions the records come as they are.
func TestAllOfIt(t *testing.T) {
	const plain = "../testdata/" + tritonparse.Prefix + "findhao_.ndjson"
	was, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := write(t, []string{plain}, ExcerptOptions{}); got != string(was) {
		t.Error("other bytes")
	}
}

// TestParsed: records of a parsed trace that only have a hash go with their kernel, and none sums up launches that are not there.
func TestParsed(t *testing.T) {
	out := t.TempDir()
	if _, err := parse.Parse(complexTrace, out, parse.Options{}); err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(out, tritonparse.Prefix+"complex__mapped.ndjson.gz")}
	names, err := tritonparse.ParseNames("fused*")
	if err != nil {
		t.Fatal(err)
	}
	filter, err := tritonparse.ParseFilter("n_elements=6")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what    string
		options ExcerptOptions
		want    string
	}{
		{"a kernel", ExcerptOptions{Kernels: names}, "map[compilation:2 launch:4 launch_diff:2 roofline:2]"},
		{"a hash", ExcerptOptions{Hashes: []string{"72d6"}}, "map[compilation:1 launch:441 launch_diff:1 roofline:1]"},
		{"some launches", ExcerptOptions{Kernels: names, Most: 1}, "map[compilation:2 launch:2]"},
		{"launches by argument", ExcerptOptions{Filter: filter, Types: []string{"launch"}, Compilations: true}, "map[compilation:1 launch:1]"},
		{"nothing", ExcerptOptions{Lines: Lines{{5, 4}}}, "map[]"},
	} {
		text, result := write(t, files, c.options)
		delete(result.Records, "ir_analysis") // is there if there is something to say of a kernel
		if got := fmt.Sprint(result.Records); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if c.options.Compilations {
			path := filepath.Join(t.TempDir(), "x.ndjson")
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if trace, err := tritonparse.Open(path, tritonparse.OpenOptions{}); err != nil || trace.Compilations()[0].Launches != 1 || len(trace.Compilations()) != 1 {
				t.Error(c.what, trace, err)
			}
		}
	}
}
