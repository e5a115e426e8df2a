package kernels

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
)

// halves reads as many numbers of x as the loop has turns, which the tensor says, and of each turn n of 1024 elements.
const halves = `module {
  tt.func public @k(%x: !tt.ptr<f32>, %turns: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<1024xf32>
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %s = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %p = tt.addptr %s, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %b = tt.splat %n : i32 -> tensor<1024xi32>
    %m = arith.cmpi slt, %r, %b : tensor<1024xi32>
    %t = BOUND : !tt.ptr<i32>
    %sum = scf.for %i = %c0 to %t step %c1 iter_args(%a = %zero) -> (tensor<1024xf32>) : i32 {
      %v = tt.load %p, %m : tensor<1024x!tt.ptr<f32>>
      %w = arith.addf %a, %v : tensor<1024xf32>
      scf.yield %w : tensor<1024xf32>
    }
    tt.return
  }
}`

func tracedWorkOf(t *testing.T, text string, n int) Work {
	t.Helper()
	tensor := `{"type":"tensor","shape":[%[1]d],"stride":[1],"dtype":"torch.%[2]s","numel":%[1]d,"element_size":4,"data_ptr":"0x%[3]x","min":3,"max":3,"mean":3,"std":0}`
	folder, lines := t.TempDir(), []string{
		`{"event_type":"compilation","pid":1,"stack":[],"payload":{"metadata":{"hash":"h1","name":"k"},"file_content":{"k.ttir":` + string(jsontext.Quote(text)) + `}}}`,
		fmt.Sprintf(`{"event_type":"launch","pid":1,"name":"k","grid":[2],"compilation_metadata":{"hash":"h1"},"extracted_args":{"x":%s,"turns":%s,"n":{"type":"int","value":%d}}}`,
			fmt.Sprintf(tensor, 1<<20, "float32", 1<<30), fmt.Sprintf(tensor, 1, "int32", 1<<20), n),
	}
	if err := os.WriteFile(folder+"/dedicated_log_triton_trace_a_.ndjson", []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	trace, err := tritonparse.Open(folder, tritonparse.OpenOptions{Kinds: true})
	if err != nil {
		t.Fatal(err)
	}
	kinds, _ := trace.Kinds()
	l, err := kinds[0].Record()
	if err != nil {
		t.Fatal(err)
	}
	j := joiner{Run: &Run{options: Options{Trace: trace}}}
	return j.tracedWork(trace.Compilation("h1"), l)
}

// TestWorkThatDependsOnValues: where the code does not say how often a loop runs, or which elements a mask leaves out, the kernel is run.
func TestWorkThatDependsOnValues(t *testing.T) {
	loaded := strings.Replace(halves, "BOUND", "tt.load %turns", 1)
	w := tracedWorkOf(t, loaded, 100) // 2 instances, 3 turns of 100 active elements, and the number of turns
	if w.Bytes != 2*(3*100*4+4) || w.BytesFrom != "run" || w.Flops != 2*3*1024 || w.FlopsFrom != "run" || w.Type != "fp32" || strings.Join(w.Notes, "; ") != "counted by running 2 of 2 program instances on made-up values" {
		t.Errorf("%+v", w)
	}
	// A launch that cannot be run has what its code says: the loop once, with all elements.
	if w := tracedWorkOf(t, strings.Replace(loaded, "%zero = arith", "%never = tt.unknown_operation : i32\n %zero = arith", 1), 100); w.BytesFrom != "code" || w.Bytes != 2*(1024*4+4) {
		t.Errorf("%+v", w)
	}
}
