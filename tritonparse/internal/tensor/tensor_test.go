package tensor

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// sample is a line of testdata/cases.ndjson.gz, which record.py next to it wrote with torch and tritonparse.
type sample struct {
	Name    string
	A, B    []byte
	Numbers []any          // of A: a number, or its text if it is none; empty if torch does not know
	Theirs  map[string]any `json:"tritonparse"`
}

func samples(t testing.TB) []sample {
	var all []sample
	for d := json.NewDecoder(bytes.NewReader(testkit.Gunzip(t, "testdata/cases.ndjson.gz"))); ; {
		var s sample
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
}

func opened(t testing.TB, data []byte) (*Tensor, error) {
	path := filepath.Join(t.TempDir(), "tensor")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	x, err := Open(path, Recorded{})
	if err == nil {
		t.Cleanup(func() { x.Close() })
	}
	return x, err
}

func parsed(v any) float64 {
	if s, ok := v.(string); ok {
		f, _ := strconv.ParseFloat(s, 64)
		return f
	}
	f, _ := v.(float64)
	return f
}

// TestNumbers: elements of every type, in every layout, are what torch says.
func TestNumbers(t *testing.T) {
	compared := 0
	for _, s := range samples(t) {
		if s.Numbers == nil {
			continue
		}
		x, err := opened(t, s.A)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		r, err := x.reader()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || int64(len(data)) != int64(len(s.Numbers))*x.size || x.Elements() != int64(len(s.Numbers)) {
			t.Errorf("%s has %d bytes of elements, not %d numbers: %v", s.Name, len(data), len(s.Numbers), err)
			continue
		}
		for i, want := range s.Numbers {
			got, want := number(x.Dtype, data[int64(i)*x.size:][:x.size]), parsed(want)
			if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != math.Signbit(want) && want == 0 {
				t.Errorf("%s: element %d is %g, not %g", s.Name, i, got, want)
			}
			compared++
		}
	}
	if compared < 2000 {
		t.Errorf("only %d numbers were compared", compared)
	}
}

// TestDifferences shows what is said of each pair.
func TestDifferences(t *testing.T) {
	var b strings.Builder
	for _, s := range samples(t) {
		fmt.Fprintf(&b, "%s\n", s.Name)
		x, errX := opened(t, s.A)
		y, errY := opened(t, s.B)
		if err := errors.Join(errX, errY); err != nil {
			_, what, _ := strings.Cut(err.Error(), ": ")
			fmt.Fprintf(&b, "    %s\n", what)
			continue
		}
		d, err := Compare(x, y, Tolerance{1e-5, 1e-3})
		if err != nil {
			fmt.Fprintf(&b, "    %v\n", err)
			continue
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		fmt.Fprintf(&b, "    %s%v\n    %s\n", x.Dtype, x.Shape, text)
	}
	testkit.Golden(t, "testdata/differences.txt", b.String())
}

// TestExtremes: numbers of which one is the other's 1e310-fold differ by what JSON has a number for.
func TestExtremes(t *testing.T) {
	of := func(v float64) *Tensor {
		return &Tensor{Dtype: "float64", Shape: []int64{1}, Stride: []int64{1}, size: 8, storage: bytes.NewReader(little.AppendUint64(nil, math.Float64bits(v)))}
	}
	d, err := Compare(of(1), of(1e-310), Tolerance{})
	if err != nil || d.MaxRelative != math.MaxFloat64 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
}

// TestCircle: a pickle of a dictionary that is in itself holds no tensor, which can be said.
func TestCircle(t *testing.T) {
	value, err := unpickle([]byte(circle))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := describe(value); err == nil || !strings.Contains(err.Error(), "not a tensor") {
		t.Error(err)
	}
}

const circle = "}q\x00X\x01\x00\x00\x00ah\x00sQ."

// otherwise says where tritonparse answers, but something else.
var otherwise = map[string]string{
	"every float16":       "NaN at the same place is a difference there",
	"every bfloat16":      "the same",
	"nan in both":         "the same",
	"nan in one":          "everything is NaN there",
	"same infinity":       "infinity less infinity is NaN there",
	"other infinity":      "the greatest difference is infinite there",
	"infinity in one":     "the same",
	"greatest":            "a difference of two float32 is not always a float32",
	"greatest of 64 bits": "a float64 is made a float32 there",
	"beyond 2^53":         "an int64 is made a float32 there: identical",
	"extremes":            "the same: squares are infinite",
	"complex64":           "imaginary parts are left out there: identical",
	"complex128":          "the cosine of the real parts is given there",
}

// TestAsTritonParse: where both answer, both say the same, but that relative differences from 0 are none here.
func TestAsTritonParse(t *testing.T) {
	compared := 0
	for _, s := range samples(t) {
		if s.Theirs["status"] == nil || s.Theirs["max_abs_error"] == nil {
			continue // theirs failed, or did not look at the elements
		}
		x, errX := opened(t, s.A)
		y, errY := opened(t, s.B)
		if err := errors.Join(errX, errY); err != nil {
			t.Fatal(s.Name, err)
		}
		d, err := Compare(x, y, Tolerance{1e-5, 1e-3})
		if err != nil {
			t.Fatal(s.Name, err)
		}
		wrong := disagreement(d, s.Theirs)
		if why := otherwise[s.Name]; (wrong == "") != (why == "") {
			t.Errorf("%s: %q differs, expected: %q", s.Name, wrong, why)
		}
		compared++
	}
	if compared < 40 {
		t.Errorf("only %d pairs were compared", compared)
	}
}

func disagreement(d *Difference, theirs map[string]any) string {
	cosine := 0.0 // theirs for a tensor of zeros
	if d.Cosine != nil {
		cosine = *d.Cosine
	}
	ours := map[string]float64{
		"max_abs_error": d.MaxAbsolute, "mean_abs_error": d.MeanAbsolute, "max_rel_error": d.MaxRelative, "rmse": d.RMS, "cosine_similarity": cosine,
		"num_mismatched_elements": float64(d.Beyond), "nan_count_a": float64(d.NaNA), "nan_count_b": float64(d.NaNB),
		"inf_count_a": float64(d.InfiniteA), "inf_count_b": float64(d.InfiniteB),
	}
	for name, got := range ours {
		want := parsed(theirs[name])
		if name == "max_rel_error" && want > 1e5 {
			continue // of 0
		}
		near := 1e-5 * max(math.Abs(want), 1e-3) // they compute in float32
		if name == "cosine_similarity" {
			near = 1e-4 // and add one by one
		}
		if math.IsInf(want, 0) || !(math.Abs(got-want) <= near) {
			return fmt.Sprintf("%s %g, theirs %g", name, got, want)
		}
	}
	status := "divergent"
	switch {
	case d.Differing == 0:
		status = "identical"
	case d.Beyond == 0:
		status = "close"
	}
	if status != theirs["status"] {
		return fmt.Sprintf("status %s, theirs %v", status, theirs["status"])
	}
	return ""
}

// TestFiles: packed files are unpacked, whatever they are called, and damage is noticed.
func TestFiles(t *testing.T) {
	plain := samples(t)[0].A
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	hash := ""
	for name, data := range map[string][]byte{"plain": plain, "packed": packed.Bytes(), "cut": packed.Bytes()[:packed.Len()/2], "text": []byte("hello"), "short": {'x'}, "empty": nil} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := Hash(path, Recorded{})
		x, openErr := Open(path, Recorded{Hash: got})
		if name != "plain" && name != "packed" {
			if openErr == nil {
				t.Errorf("%s is a tensor", name)
			}
			continue
		}
		if err != nil || openErr != nil || hash != "" && got != hash {
			t.Fatal(name, got, err, openErr)
		}
		hash = got
		if x.Elements() != 40 {
			t.Errorf("%s: %+v", name, x)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if _, err := Open(path, Recorded{Hash: strings.Repeat("0", 128)}); err == nil || !strings.Contains(err.Error(), "it is damaged: its hash is") {
			t.Errorf("%s with another hash: %v", name, err)
		}
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("%v stay", left)
	}
	if _, err := Open(filepath.Join(folder, "gone"), Recorded{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// FuzzDescribe looks for panics, and for elements outside of the storage.
func FuzzDescribe(f *testing.F) {
	for _, s := range samples(f) {
		archive, err := zip.NewReader(bytes.NewReader(s.A), int64(len(s.A)))
		if err != nil {
			f.Fatal(err)
		}
		text, err := member(archive.File[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(circle))
	storage := bytes.NewReader(make([]byte, 4096))
	f.Fuzz(func(t *testing.T, text []byte) {
		value, err := unpickle(text)
		if err != nil {
			return
		}
		x, _, err := describe(value)
		if err != nil || x.check(storage.Size()) != nil || x.Elements() > 1<<16 {
			return
		}
		x.storage = storage
		r, err := x.reader()
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(r); err != nil || int64(len(data)) != x.Elements()*x.size {
			t.Fatalf("%+v has %d bytes: %v", x, len(data), err)
		}
	})
}
