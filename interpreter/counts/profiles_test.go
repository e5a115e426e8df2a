package counts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/triton/ttir"
)

// text is a kernel of 16 elements a program: it adds 1 in a function that was inlined twice, and multiplies in f16.
const text = `module {
  tt.func public @add(%x: !tt.ptr<f32>, %n: i32) {
    %c16 = arith.constant 16 : i32
    %one = arith.constant dense<1.0> : tensor<16xf32>
    %pid = tt.get_program_id x : i32
    %from = arith.muli %pid, %c16 : i32
    %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %start = tt.splat %from : i32 -> tensor<16xi32>
    %at = arith.addi %start, %range : tensor<16xi32>
    %bound = tt.splat %n : i32 -> tensor<16xi32>
    %mask = arith.cmpi slt, %at, %bound : tensor<16xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %ps = tt.addptr %p, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %v = tt.load %ps, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":7:8)
    %w = arith.addf %v, %one : tensor<16xf32> loc(callsite("h.py":2:4 at "k.py":8:8))
    %y = arith.addf %w, %one : tensor<16xf32> loc(callsite("h.py":2:4 at "k.py":9:8))
    %h = arith.truncf %y : tensor<16xf32> to tensor<16xf16> loc("k.py":10:8)
    %g = arith.mulf %h, %h : tensor<16xf16> loc("k.py":10:8)
    %z = tt.load %ps, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":11:8)
    tt.store %ps, %y, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":12:4)
    tt.return
  }
}
`

func launched(t *testing.T, n int64, o interpreter.Options) *interpreter.Result {
	t.Helper()
	p, err := interpreter.Load(ttir.Parse(text))
	if err != nil {
		t.Fatal(err)
	}
	x := &interpreter.Buffer{Name: "x", Data: make([]byte, 4*40)}
	r, err := p.Launch("", [3]int32{3, 1, 1}, []interpreter.Argument{interpreter.Pointer(x, 0), interpreter.Int(n)}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines are the nodes of a profile with their metrics.
func lines(p *profile.Profile) string {
	var b strings.Builder
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		fmt.Fprintf(&b, "%s%s", strings.Repeat(" ", depth), n.Name)
		slices.SortFunc(n.Metrics, func(a, b profile.Metric) int { return strings.Compare(a.Name, b.Name) })
		for _, m := range n.Metrics {
			fmt.Fprintf(&b, " %s=%d", m.Name, m.Value.Int())
		}
		b.WriteByte('\n')
		return true
	})
	return strings.TrimSpace(b.String())
}

// TestProfile: two launches of three instances, of which 40 and 20 elements of 48 are active.
func TestProfile(t *testing.T) {
	k := Kernel{Name: "add"}
	k.Add(launched(t, 40, interpreter.Options{Touched: true}), 3)
	k.Add(launched(t, 20, interpreter.Options{Touched: true}), 3)
	p := Profile([]*Kernel{&k})
	want := `add count=2 kinds_of_work=2
  k.py:7 active_bytes=240 bytes=240 loads=6 offered_bytes=384
  k.py:8
   h.py:2 flops_fp32=96
  k.py:9
   h.py:2 flops_fp32=96
  k.py:10 flops16=96
  k.py:11 active_bytes=240 loads=6 offered_bytes=384
  k.py:12 active_bytes=240 bytes=240 offered_bytes=384 stores=6`
	if got := lines(p); got != want {
		t.Errorf("\n%s", got)
	}
	for metric, kind := range p.Kinds {
		if (kind == profile.Property) != (metric == "kinds_of_work") {
			t.Errorf("%s is %s", metric, kind)
		}
	}
	if p.Info[profile.InfoNote] != "" {
		t.Error(p.Info)
	}
}

// TestProfileOfSampled: counts of some instances are scaled, and different bytes are at most those of the buffer.
func TestProfileOfSampled(t *testing.T) {
	k := Kernel{Name: "add"}
	k.Add(launched(t, 40, interpreter.Options{Touched: true, Programs: [][3]int32{{0, 0, 0}}}), 3)
	p := Profile([]*Kernel{&k})
	got := lines(p)
	for _, want := range []string{"k.py:7 active_bytes=192 bytes=160 loads=3 offered_bytes=192", "k.py:10 flops16=48", "k.py:12 active_bytes=192 bytes=160"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if note := p.Info[profile.InfoNote]; note != "1 of 3 program instances of add ran, and its counts are scaled" {
		t.Error(note)
	}
	all := Kernel{Name: "add"}
	all.Add(launched(t, 40, interpreter.Options{}), 3)
	if note := Profile([]*Kernel{&all}).Info[profile.InfoNote]; !strings.Contains(note, "whatever caches spare") {
		t.Error(note)
	}
}
