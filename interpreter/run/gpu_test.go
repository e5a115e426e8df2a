package run

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/interpreter"
)

// tolerated is how far outputs may be from what an H200 left there (testdata/h200, made by record.py); all others have the same bits, but that
// one NaN is as good as another. units: in the last place, for what a GPU approximates. part: of the largest element, for what tensor cores sum up
// with fewer bits than f32 has, or a GPU in another order.
var tolerated = map[string]struct{ units, part float64 }{
	"attention/out":  {part: 1e-6},
	"dropout/out":    {units: 1},  // a division
	"functions/out":  {units: 12}, // exp and sigmoid of arguments near 10; all others 2
	"layer_norm/out": {units: 1},
	"matmul/c":       {units: 1},
	"matmul_tf32/c":  {part: 1e-6},
	"scaled/c":       {part: 1e-6},
	"scan/out":       {part: 1e-6},
	"softmax/out":    {units: 5},
}

func TestAsOnGPU(t *testing.T) {
	folders, err := filepath.Glob("testdata/h200/*/launch.json")
	if err != nil || len(folders) < 12 {
		t.Fatalf("%d launches are recorded (%v)", len(folders), err)
	}
	for _, path := range folders {
		folder := filepath.Dir(path)
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			l, err := Read(folder)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Kernel.Program.Launch(l.Kernel.Name, l.Grid, l.given(), interpreter.Options{Context: context.Background()}); err != nil {
				t.Fatal(err)
			}
			for _, b := range l.List {
				asOnGPU(t, name, folder, b)
			}
		})
	}
}

func asOnGPU(t *testing.T, kernel, folder string, b *Buffer) {
	after := strings.TrimSuffix(b.File, ".npy") + ".after.npy"
	if _, err := os.Stat(filepath.Join(folder, after)); err != nil {
		after = b.File // it is not written to
	}
	want, err := (&Buffer{File: after, Type: b.Type}).contents(folder)
	if err != nil {
		t.Fatal(err)
	}
	worst, largest := difference{}, 0.0
	for i := range len(want) / elements[b.Type].size {
		d := differ(b.Type, b.Data(), want, i)
		if d.units > worst.units {
			worst.units, worst.element = d.units, i
		}
		worst.value, largest = max(worst.value, d.value), max(largest, d.largest)
	}
	may := tolerated[kernel+"/"+b.Name]
	if part := worst.value / largest; worst.units > may.units && (may.part == 0 || part > may.part) {
		at := worst.element
		t.Errorf("%s of %s differs by %g units in the last place, and %g of the largest; element %d is %#x, and on the GPU %#x",
			b.Name, kernel, worst.units, part, at, pattern(b.Type, b.Data(), at), pattern(b.Type, want, at))
	}
}

// difference is how far elements are from each other: in units of the last place, and as numbers.
type difference struct {
	element               int
	units, value, largest float64
}

func differ(of string, got, want []byte, i int) (d difference) {
	a, b := pattern(of, got, i), pattern(of, want, i)
	if a == b || of[0] == 'f' && nan(of, a) && nan(of, b) {
		return d
	}
	d.units = math.Abs(ordered(of, a) - ordered(of, b))
	if of == "f32" {
		x, y := float64(math.Float32frombits(uint32(a))), float64(math.Float32frombits(uint32(b)))
		d.value, d.largest = math.Abs(x-y), math.Abs(y)
	}
	return d
}

func nan(of string, p uint64) bool {
	switch of {
	case "f32":
		return p<<33 > 0x7F800000<<33
	case "f16":
		return p&0x7FFF > 0x7C00
	case "f8E5M2":
		return p&0x7F > 0x7C
	}
	return false
}

// pattern is the bits of an element.
func pattern(of string, data []byte, i int) uint64 {
	var raw [8]byte
	copy(raw[:], data[i*elements[of].size:(i+1)*elements[of].size])
	return binary.LittleEndian.Uint64(raw[:])
}

// ordered numbers the values of a type in their order.
func ordered(of string, p uint64) float64 {
	if sign := uint64(1) << (elements[of].size*8 - 1); p&sign != 0 {
		return -float64(p &^ sign)
	}
	return float64(p)
}
