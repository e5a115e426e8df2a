package run

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/interpreter/counts"
)

// double multiplies by 2; elements from 6 on are left out by the mask, whose limit is an argument.
const double = `module {
  tt.func public @double(%x: !tt.ptr<f32>, %n: i32, %by: f32) {
    %0 = tt.get_program_id x : i32
    %c4 = arith.constant 4 : i32
    %1 = arith.muli %0, %c4 : i32
    %2 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %3 = tt.splat %1 : i32 -> tensor<4xi32>
    %4 = arith.addi %3, %2 : tensor<4xi32>
    %5 = tt.splat %n : i32 -> tensor<4xi32>
    %6 = arith.cmpi slt, %4, %5 : tensor<4xi32>
    %7 = tt.splat %x : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %8 = tt.addptr %7, %4 : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    %9 = tt.load %8, %6 : tensor<4x!tt.ptr<f32>>
    %10 = tt.splat %by : f32 -> tensor<4xf32>
    %11 = arith.mulf %9, %10 : tensor<4xf32>
    tt.store %8, %11, %6 : tensor<4x!tt.ptr<f32>>
    tt.return
  }
}
`

func floats(list ...float32) (raw []byte) {
	for _, v := range list {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return raw
}

// doubled makes a launch of double as Python asks for it, over memory.
func doubled(t testing.TB, settings Settings, memory []byte, limit string) (*Service, string) {
	t.Helper()
	s := &Service{Memory: func(address, bytes uint64) []byte { return memory[address-1000:][:bytes] }}
	if _, err := s.newRun(settings); err != nil {
		t.Fatal(err)
	}
	k, err := NewKernel("", double)
	if err != nil {
		t.Fatal(err)
	}
	s.kernels = append(s.kernels, k)
	return s, "0 0 2 1 1 p 1000 24 1000 0 n " + limit + " n 2.0"
}

func TestLaunchFromPython(t *testing.T) {
	memory := append(floats(1, 2, 3, 4, 5, 6), "behind it"...)
	s, words := doubled(t, Settings{}, memory, "6")
	answer, err := s.Call("interpret.launch", []byte(words))
	if answer != nil || err != nil {
		t.Fatal(answer, err)
	}
	if got, want := string(memory), string(floats(2, 4, 6, 8, 10, 12))+"behind it"; got != want {
		t.Errorf("the memory is %x, want %x", got, want)
	}
	r := s.runs[0].Report()
	if r.Launches != 1 || len(r.Kernels) != 1 || r.Kernels[0].Programs != 2 || r.Kernels[0].Of != 0 || len(r.Kernels[0].Lines) == 0 {
		t.Errorf("the report is %+v", r)
	}
}

func TestFindingFromPython(t *testing.T) {
	memory := floats(1, 2, 3, 4, 5, 6, 7, 8)
	s, words := doubled(t, Settings{}, memory, "7") // the buffer has 6
	answer, err := s.Call("interpret.launch", []byte(words))
	if err != nil {
		t.Fatal(err)
	}
	said := answer.(map[string]any)["messages"].([]string)
	if len(said) != 1 || !strings.Contains(said[0], "x: element 6 of 6") || !strings.Contains(said[0], "program (1, 0, 0), lane 2") {
		t.Errorf("said %q", said)
	}
	if r := s.runs[0].Report(); len(r.Findings) != 1 {
		t.Errorf("findings: %v", r.Findings)
	}
}

func TestBadWords(t *testing.T) {
	s, good := doubled(t, Settings{}, make([]byte, 24), "6")
	for _, words := range []string{"", "7 0 1 1 1", "0 7 1 1 1", "0 0 1 1", "0 0 1 1 1 q 7", "0 0 1 1 1 n x", "0 0 1 1 1 p 1000", "0 0 1 1 1 d 99 1", "0 0 1 1 1 d 1 4 1 0 p", "0 0 0 1 1 p 1000 24 1000 0 n 6 n 2.0", "0 0 1 1 1 n 6"} {
		answer, err := s.Call("interpret.launch", []byte(words))
		if said, _ := answer.(map[string]any); err == nil && said["error_text"] == nil {
			t.Errorf("%q is launched: %v", words, answer)
		}
	}
	if answer, err := s.Call("interpret.launch", []byte(good)); answer != nil || err != nil {
		t.Error(answer, err)
	}
}

// TestBadSettings: a setting that cannot be read is named, in words that are not Go's.
func TestBadSettings(t *testing.T) {
	for settings, want := range map[string]string{
		`{"order": 3}`:                "the setting order takes a text, and is a number",
		`{"sample": "7"}`:             "the setting sample takes a whole number that is not too large, and is a text",
		`{"sample": 1.5}`:             "the setting sample takes a whole number that is not too large, and is 1.5",
		`{"keep_going": 1}`:           "the setting keep_going takes True or False, and is a number",
		`{"check": true}`:             "the setting check takes a list, and is True or False",
		`{"check": [1]}`:              "the setting check takes a text, and is a number",
		`{"programs": [3]}`:           "the setting programs takes a list of three numbers, and is a number",
		`{"max_seconds": {"a": "b"}}`: "the setting max_seconds takes a number, and is a dictionary",
		`{"ordre": "serial"}`:         `there is no setting "ordre"; there are kernels, order, seed, workers, `,
	} {
		_, err := new(Service).Call("interpret.begin", []byte(`{"settings": `+settings+`}`))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "json") || strings.Contains(err.Error(), "Go") {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
}

// TestSaved: a saved launch has the inputs, gives the same bytes when it is run again, and says so if it does not.
func TestSaved(t *testing.T) {
	folder := t.TempDir()
	memory := floats(1, 2, 3, 4, 5, 6)
	s, words := doubled(t, Settings{Save: folder}, memory, "6")
	for range 2 {
		if answer, err := s.Call("interpret.launch", []byte(words)); answer != nil || err != nil {
			t.Fatal(answer, err)
		}
	}
	for i, want := range [][]byte{floats(2, 4, 6, 8, 10, 12), floats(4, 8, 12, 16, 20, 24)} {
		l, err := Read(filepath.Join(folder, []string{"1-double", "2-double"}[i]))
		if err != nil {
			t.Fatal(err)
		}
		r, _ := New(Settings{})
		if _, err := r.Launch(context.Background(), l, nil, nil); err != nil {
			t.Fatal(err)
		}
		out := l.Outputs()["x"]
		if string(l.Buffers["x"].Data()) != string(want) || out.SHA256 != out.Before || out.Before == "" {
			t.Errorf("launch %d gives %x, want %x; %+v", i+1, l.Buffers["x"].Data(), want, out)
		}
	}
	npy := filepath.Join(folder, "1-double", "x.npy")
	raw, err := os.ReadFile(npy)
	if err != nil || len(raw) != 128+24 {
		t.Fatal(len(raw), err)
	}
	raw[128] ^= 1
	if err := os.WriteFile(npy, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := Read(filepath.Join(folder, "1-double"))
	if err != nil {
		t.Fatal(err)
	}
	r, _ := New(Settings{})
	if _, err := r.Launch(context.Background(), l, nil, nil); err != nil {
		t.Fatal(err)
	}
	if out := l.Outputs()["x"]; out.SHA256 == out.Before {
		t.Error("another input is not noticed")
	}
}

// BenchmarkLaunch is a launch of two program instances from the words of Python to the answer.
func BenchmarkLaunch(b *testing.B) {
	s, words := doubled(b, Settings{}, floats(1, 2, 3, 4, 5, 6), "6")
	for b.Loop() {
		if answer, err := s.Call("interpret.launch", []byte(words)); answer != nil || err != nil {
			b.Fatal(answer, err)
		}
	}
}

// TestTooManyPaths: launches in scopes beyond what is kept apart are counted below one name, which is said once.
func TestTooManyPaths(t *testing.T) {
	r, err := New(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxPaths + 10 {
		r.kernel(&counts.Kernel{Name: "k", Path: []string{fmt.Sprint("step ", i)}}).Launches++
	}
	report := r.Report()
	last := report.Kernels[len(report.Kernels)-1]
	if len(report.Kernels) != maxPaths+1 || len(report.Warnings) != 1 || last.Launches != 10 || !slices.Equal(last.Path, []string{OtherScopes}) {
		t.Errorf("%d kernels, %v, %+v", len(report.Kernels), report.Warnings, last.Kernel)
	}
	r.kernel(&counts.Kernel{Name: "k"}) // without scopes it has a place of its own
	if report := r.Report(); len(report.Kernels) != maxPaths+2 {
		t.Errorf("%d kernels", len(report.Kernels))
	}
}
