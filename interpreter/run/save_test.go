package run

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadLaunches: of a launch.json that cannot be run, one sentence says why.
func TestBadLaunches(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("kernel.ttir", double)
	write("empty.ttir", "module {}")
	npy := func(header, data string) string {
		return npyMagic + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header + data
	}
	write("fortran.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }\n", "1234"))
	write("big.npy", npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }\n", "1234"))
	write("short.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n", "1234"))
	write("cut.npy", npyMagic+"\xff\xff")
	write("one.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", "1234"))
	write("raw.bin", "1234")
	write("text.npy", "some text that is longer than a header")
	for text, want := range map[string]string{
		`{`:                                    "unexpected end",
		`{"version": 2, "ttir": "x"}`:          "its version is 2, and this proton reads version 1",
		`{"version": 1, "ttir": "gone.ttir"}`:  "gone.ttir: no such file",
		`{"version": 1, "ttir": "empty.ttir"}`: "its TTIR has no function",
		`{"version": 1, "ttir": "kernel.ttir", "kernel": "halve"}`:                                                                    "the kernel halve is not in its TTIR",
		`{"version": 1, "ttir": "kernel.ttir", "args": [{"name": "x", "buffer": "y"}]}`:                                               `the argument x (0) is in the buffer "y", which there is not`,
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": null}}`:                                                               "the buffer x is null",
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"file": "fortran.npy"}}}`:                                            "fortran.npy: its elements are in Fortran's order",
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"file": "big.npy"}}}`:                                                "big.npy: its elements are big-endian",
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"file": "short.npy"}}}`:                                              "short.npy: it has 4 bytes of elements, and its header says 8",
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"file": "cut.npy"}}}`:                                                "cut.npy: ",
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"file": "text.npy"}}}`:                                               "text.npy: it is not a .npy file",
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"bytes": -1}}}`:                                                      "bytes is -1",
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"bytes": 8, "type": "f7", "fill": {"iota": true}}}}`:                 `elements of the type "f7" cannot be made up`,
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"bytes": 8, "type": "f32", "fill": {"itoa": true}}}}`:                `unknown field "itoa"`,
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"bytes": 8, "type": "f32", "fill": {"iota": true, "constant": 1}}}}`: "it has 2 kinds of fill: give one of",
		`{"version": 1, "ttir": "kernel.ttir", "grid": [8]}`:                                                                          "its grid is [8]: give three whole numbers",
		`{"version": 1, "ttir": "kernel.ttir", "grid": [1, 2, 3, 4]}`:                                                                 "its grid is [1, 2, 3, 4]: give three",
		`{"version": 1, "ttir": "kernel.ttir", "grid": [1, 2, 3000000000]}`:                                                           "its grid is [1, 2, 3000000000]: give three",
		`{"version": 1, "ttir": "kernel.ttir", "grid": "8"}`:                                                                          `its grid is "8": give three`,
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"bytes": 8, "type": "float32"}}}`:                                    `the buffer x: its type is "float32"`,
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"bytes": 8, "file": "raw.bin"}}}`:                                    "the buffer x: raw.bin: it has 4 bytes of elements, and its launch says 8",
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {"bytes": 8, "file": "one.npy"}}}`:                                    "the buffer x: one.npy: it has 4 bytes of elements, and its launch says 8",
		`{"version": 1, "ttir": "kernel.ttir", "buffers": {"x": {}}, "args": [{"buffer": "x", "value": 1}]}`:                          "(0) has a value in addition to its buffer",
		`{"version": 1, "ttir": "kernel.ttir", "args": [{"value": 1, "descriptor": {}}]}`:                                             "(0) has a value in addition to its buffer or descriptor",
		`{"version": 1, "ttir": "kernel.ttir", "args": [{"value": "many"}]}`:                                                          `"many" is not a number`,
	} {
		write(launchFile, text)
		if _, err := Read(folder); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestFills: made-up elements are those of their types.
func TestFills(t *testing.T) {
	number := Number{Float: 1.5, IsFloat: true}
	for _, c := range []struct {
		kind string
		fill *Fill
		want string
	}{
		{"f16", &Fill{Constant: &number}, "\x00\x3e\x00\x3e\x00\x3e\x00\x3e"}, {"bf16", &Fill{Constant: &number}, "\xc0\x3f\xc0\x3f\xc0\x3f\xc0\x3f"},
		{"f64", &Fill{Constant: &number}, "\x00\x00\x00\x00\x00\x00\xf8\x3f"}, {"i32", &Fill{Iota: true}, "\x00\x00\x00\x00\x01\x00\x00\x00"},
		{"i16", nil, "\x00\x00\x00\x00\x00\x00\x00\x00"},
	} {
		b := Buffer{Type: c.kind, Bytes: 8, Fill: c.fill}
		if got, err := b.filled(); err != nil || string(got) != c.want {
			t.Errorf("%s: %x, %v, want %x", c.kind, got, err, c.want)
		}
	}
	b := Buffer{Type: "f32", Bytes: 4 << 10, Fill: &Fill{Normal: true, Seed: 3}}
	data, err := b.filled()
	if err != nil {
		t.Fatal(err)
	}
	sum, squares := 0.0, 0.0
	for i := 0; i < len(data); i += 4 {
		v := float64(math.Float32frombits(binary.LittleEndian.Uint32(data[i:])))
		sum, squares = sum+v, squares+v*v
	}
	if n := float64(len(data) / 4); math.Abs(sum/n) > 0.15 || math.Abs(squares/n-1) > 0.25 {
		t.Errorf("mean %g, variance %g", sum/n, squares/n)
	}
}

// TestNumbers: numbers of launch.json are read as they were written.
func TestNumbers(t *testing.T) {
	for _, n := range []Number{{Int: -7}, {Int: math.MinInt64}, {Float: 5, IsFloat: true}, {Float: -0.1, IsFloat: true}, {Float: math.Inf(-1), IsFloat: true}, {Float: 1e300, IsFloat: true}, {Float: math.NaN(), IsFloat: true}} {
		text, err := n.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var got Number
		if err := got.UnmarshalJSON(text); err != nil || got != n && (got.IsFloat != n.IsFloat || !math.IsNaN(got.Float) || !math.IsNaN(n.Float)) {
			t.Errorf("%+v is written as %s and read as %+v, %v", n, text, got, err)
		}
	}
}
