package reproduce_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/interpreter/fromtrace"
	"github.com/goproton/goproton/triton/ttir"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

func inputsOf(t *testing.T, folder string, s reproduce.Selection, o reproduce.Options) *reproduce.Inputs {
	t.Helper()
	trace, err := tritonparse.Open(folder, tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := reproduce.Pick(trace, s)
	if err != nil {
		t.Fatal(err)
	}
	in, err := reproduce.ReadInputs(trace, l, o)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func runInputs(t *testing.T, in *reproduce.Inputs) {
	t.Helper()
	p, err := interpreter.Load(ttir.Parse(in.TTIR))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Launch(in.Kernel, in.Grid, fromtrace.Arguments(in), interpreter.Options{}); err != nil {
		t.Fatal(err)
	}
}

// recordedAgain is the recorded trace of additions with one more launch, which finds in out_ptr what sum has made of the first launch's numbers.
func recordedAgain(t *testing.T, sum func(x, y float32) float32) string {
	t.Helper()
	from, to := testkit.Root(t)+"/testdata/traces/blobs/goproton", t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	in := inputsOf(t, from, reproduce.Selection{Line: -1}, reproduce.Options{})
	files, _ := filepath.Glob(to + "/*.ndjson")
	lines := strings.Split(strings.TrimSpace(string(testkit.Gunzip(t, files[0]))), "\n")
	blob := regexp.MustCompile(`("out_ptr".*?"tensor_hash": ?)"([^"]*)"(.*?"blob_path": ?)"[^"]*"`)
	hash := blob.FindStringSubmatch(lines[1])[2]
	out, err := os.ReadFile(to + "/saved_tensors/" + hash[:2] + "/" + hash + ".bin")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(out), int64(len(out)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.File {
		if path.Base(f.Name) == "0" {
			at, _ := f.DataOffset()
			for i := range 1000 {
				x, y := binary.LittleEndian.Uint32(in.Memory[0].Data[4*i:]), binary.LittleEndian.Uint32(in.Memory[1].Data[4*i:])
				binary.LittleEndian.PutUint32(out[int(at)+4*i:], math.Float32bits(sum(math.Float32frombits(x), math.Float32frombits(y))))
			}
		}
	}
	lines = slices.Insert(lines, 2, blob.ReplaceAllString(lines[1], `$1""$3"/elsewhere/abcd.bin"`)) // later ones use the memory otherwise
	for name, text := range map[string]string{to + "/saved_tensors/ab/abcd.bin": string(out), files[0]: strings.Join(lines, "\n") + "\n"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestInputsOfRecordedTensors: a launch has the contents that its tensors had, and what it left in them, as a later launch found it.
func TestInputsOfRecordedTensors(t *testing.T) {
	for name, c := range map[string]struct {
		sum  func(x, y float32) float32
		same bool
	}{"sums": {func(x, y float32) float32 { return x + y }, true}, "products": {func(x, y float32) float32 { return x * y }, false}} {
		in := inputsOf(t, recordedAgain(t, c.sum), reproduce.Selection{Line: -1}, reproduce.Options{})
		for _, made := range in.Tensors {
			if made.From != "recorded" {
				t.Errorf("%+v", made)
			}
		}
		runInputs(t, in)
		if len(in.Left) != 1 || in.Left[0].Name != "out_ptr" {
			t.Fatalf("%s: %+v", name, in.Left)
		}
		left := in.Left[0]
		if got := left.Region.Data[left.Offset:][:len(left.Values)]; bytes.Equal(got, left.Values) != c.same {
			t.Errorf("%s: %s compared with what it was, %s", name, left.Name, left.From)
		}
	}
}

// TestInputsLikeRecorded: made-up numbers have the recorded bounds, and about the recorded mean; a seed makes them again.
func TestInputsLikeRecorded(t *testing.T) {
	folder := testkit.Root(t) + "/testdata/traces/statistics/goproton"
	trace, err := tritonparse.Open(folder, tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := reproduce.Pick(trace, reproduce.Selection{Line: -1})
	if err != nil {
		t.Fatal(err)
	}
	in := inputsOf(t, folder, reproduce.Selection{Line: -1}, reproduce.Options{})
	again, other := inputsOf(t, folder, reproduce.Selection{Line: -1}, reproduce.Options{}), inputsOf(t, folder, reproduce.Selection{Line: -1}, reproduce.Options{Seed: 1})
	for i, r := range in.Memory {
		stats := l.Arg(r.Name).Stats
		sum, n := 0.0, len(r.Data)/4
		for k := range n {
			v := ttir.F32.Value(uint64(r.Data[4*k]) | uint64(r.Data[4*k+1])<<8 | uint64(r.Data[4*k+2])<<16 | uint64(r.Data[4*k+3])<<24)
			if sum += v; v < stats.Min || v > stats.Max {
				t.Fatalf("%s: %v is not within %+v", r.Name, v, *stats)
			}
		}
		if mean := sum / float64(n); math.Abs(mean-stats.Mean) > 5*stats.Std/math.Sqrt(float64(n)) {
			t.Errorf("%s has the mean %v, and had %v", r.Name, mean, stats.Mean)
		}
		if r.Type != "f32" || !bytes.Equal(r.Data, again.Memory[i].Data) || stats.Std > 0 && bytes.Equal(r.Data, other.Memory[i].Data) {
			t.Errorf("%s of %s", r.Name, r.Type)
		}
	}
}

// asked is a launch of a kernel with two tensors, an integer and a number, described by its arguments.
func asked(t *testing.T, constants, arguments string) (*reproduce.Inputs, error) {
	t.Helper()
	text := `module {\n tt.func public @k(%x: !tt.ptr<f16>, %y: !tt.ptr<i32>, %n: i32, %s: f32) {\n tt.return\n }\n}\n`
	trace, err := tritonparse.Open(testkit.RawTraces(t, map[string][]string{"a": {`{"event_type":"compilation","pid":1,"stack":[],"payload":{"metadata":{"hash":"h1","name":"k"` + constants + `},"file_content":{"k.ttir":"` + text + `"}}}`, `{"event_type":"launch","pid":1,"name":"k","grid":[2,3],"compilation_metadata":{"hash":"h1"},"extracted_args":{` + arguments + `}}`}}), tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := reproduce.Pick(trace, reproduce.Selection{Line: -1})
	if err != nil {
		t.Fatal(err)
	}
	return reproduce.ReadInputs(trace, l, reproduce.Options{})
}

const (
	tensorX = `{"type":"tensor","shape":[4,3],"stride":[8,1],"dtype":"torch.float16","numel":12,"element_size":2,"data_ptr":"0x1000"}`
	tensorY = `{"type":"tensor","shape":[5],"stride":[1],"dtype":"torch.int32","numel":5,"element_size":4,"data_ptr":"0x1010"}`
)

// TestInputs: tuples are flattened, constants left out, and tensors that overlap have one memory, as strides say.
func TestInputs(t *testing.T) {
	in, err := asked(t, `,"src_constants":{"(2,)":1}`, `"a":{"type":"tuple","items":[`+tensorX+`,`+tensorY+`]},"flag":{"type":"NoneType"},"one":{"type":"int","value":1},"n":{"type":"int","value":-7},"s":{"type":"float","value":"inf"}`)
	if err != nil {
		t.Fatal(err)
	}
	if in.Grid != [3]int32{2, 3, 1} || len(in.Memory) != 1 || len(in.Memory[0].Data) != (3*8+3)*2 || in.Memory[0].Type != "" {
		t.Fatalf("%+v", *in)
	}
	a := in.Arguments
	if len(a) != 4 || a[0].Offset != 0 || a[1].Offset != 16 || a[0].Region != a[1].Region || a[2].Int != -7 || !math.IsInf(a[3].Float, 1) {
		t.Errorf("%+v", a)
	}
}

// TestInputsRefused: what the text does not take is said.
func TestInputsRefused(t *testing.T) {
	for name, c := range map[string]struct{ arguments, want string }{
		"fewer":   {`"x":` + tensorX + `,"n":{"type":"int","value":2}`, "the launch has 2 arguments that are not constants, and k has 4 in its TTIR"},
		"kind":    {`"x":` + tensorX + `,"y":{"type":"int","value":2},"n":{"type":"int","value":2},"s":{"type":"float","value":2.5}`, "the argument y was an integer, and the TTIR takes a tensor (!tt.ptr<i32>)"},
		"unknown": {`"x":` + tensorX + `,"y":{"type":"Thing","repr":"Thing()"},"n":{"type":"int","value":2},"s":{"type":"float","value":2.5}`, "the argument y is Thing(), of which the trace has no values"},
		"large":   {`"x":` + strings.Replace(tensorX, "[8,1]", "[1000000000000,1]", 1) + `,"y":` + tensorY + `,"n":{"type":"int","value":2},"s":{"type":"float","value":2.5}`, "which cannot be made"},
	} {
		if _, err := asked(t, "", c.arguments); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
