package interpreter

import (
	"bytes"
	"errors"
	"testing"

	"github.com/goproton/goproton/triton/ttir"
)

// recorder counts what it hears, and ends a launch at an operation.
type recorder struct {
	begun, ended, found, depth, deepest int
	before                              map[*ttir.Op]int
	at                                  func(p *Point)
}

func (r *recorder) Begin(*Instance) error { r.begun++; r.depth = 0; return nil }
func (r *recorder) Found(*Finding)        { r.found++ }
func (r *recorder) End(*Finding) error    { r.ended++; return nil }
func (r *recorder) Before(p *Point) {
	if r.before[p.Op]++; r.at != nil {
		r.at(p)
	}
}
func (r *recorder) Enter(*Point, *ttir.Function) { r.depth++; r.deepest = max(r.deepest, r.depth) }
func (r *recorder) Leave(*Point)                 { r.depth-- }

// TestObserved: a launch with an observer gives the same bits, each operation outside of regions that combine elements is reported as often as
// its block runs, and functions are left as often as they are entered.
func TestObserved(t *testing.T) {
	deepest := 0
	for _, l := range launches(t) {
		want, plain := l.run(t, Options{})
		r := &recorder{before: map[*ttir.Op]int{}}
		got, seen := l.run(t, Options{Observer: r, Workers: 4})
		for name := range want {
			if !bytes.Equal(want[name].Data, got[name].Data) {
				t.Errorf("%s, %s: %s differs", l.Name, l.Form, name)
			}
		}
		if int64(r.begun) != plain.Programs || r.ended != r.begun || r.depth != 0 || len(r.before) == 0 || len(plain.Lines) != len(seen.Lines) {
			t.Errorf("%s, %s: %d instances began and %d ended of %d; depth %d", l.Name, l.Form, r.begun, r.ended, plain.Programs, r.depth)
		}
		deepest = max(deepest, r.deepest)
	}
	if deepest == 0 {
		t.Error("no function was entered")
	}
}

// TestObservedValues: an observer reads operands, results, and copies that later operations do not change; its panic ends the launch.
func TestObservedValues(t *testing.T) {
	stop := errors.New("enough")
	var kept Value
	var loads []float64
	r := &recorder{before: map[*ttir.Op]int{}}
	var last *Point
	r.at = func(p *Point) {
		if last != nil && last.Op.Name == "tt.load" {
			loads = append(loads, last.Results[0].Elements().([]float64)[3])
			if kept = last.Results[0].Copy(kept); len(loads) == 2 {
				panic(stop)
			}
		}
		last = p
	}
	x := &Buffer{Name: "x", Data: make([]byte, 4*40)}
	for i := range 40 {
		little.PutUint32(x.Data[4*i:], uint32(0x3F800000)+uint32(i)<<16)
	}
	_, err := program(t, adding).Launch("", [3]int32{3, 1, 1}, []Argument{Pointer(x, 0), Int(40)}, Options{Observer: r})
	if !errors.Is(err, stop) || len(loads) != 2 || loads[0] == loads[1] || kept.Elements().([]float64)[3] != loads[1] || r.begun != 2 || r.ended != 1 {
		t.Errorf("%v: %v, %+v", err, loads, r)
	}
	if _, err := program(t, adding).Launch("", [3]int32{3, 1, 1}, []Argument{Pointer(x, 0), Int(41)}, Options{Observer: &recorder{before: map[*ttir.Op]int{}}}); err == nil {
		t.Error("an access outside was not found")
	}
	r = &recorder{before: map[*ttir.Op]int{}}
	if _, err := program(t, adding).Launch("", [3]int32{3, 1, 1}, []Argument{Pointer(x, 0), Int(41)}, Options{Observer: r, KeepGoing: true}); err != nil || r.found == 0 || r.ended != 3 {
		t.Errorf("%v: %+v", err, r)
	}
}
