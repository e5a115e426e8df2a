package fromtrace_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/interpreter/fromtrace"
	"github.com/goproton/goproton/tritonparse/parse"
)

// turns reads n of 128 numbers of x as often as the loop turns, which a tensor says, and stores them once.
const turns = `module {
  tt.func public @k(%x: !tt.ptr<f32>, %turns: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<128xf32>
    %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %s = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %p = tt.addptr %s, %r : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %b = tt.splat %n : i32 -> tensor<128xi32>
    %m = arith.cmpi slt, %r, %b : tensor<128xi32>
    %t = tt.load %turns : !tt.ptr<i32>
    %sum = scf.for %i = %c0 to %t step %c1 iter_args(%a = %zero) -> (tensor<128xf32>) : i32 {
      %v = tt.load %p, %m : tensor<128x!tt.ptr<f32>>
      %w = arith.addf %a, %v : tensor<128xf32>
      scf.yield %w : tensor<128xf32>
    }
    tt.store %p, %sum, %m : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}`

// parsed is the roofline event that is written of launches with a grid, of which the tensor says so many turns, and n.
func parsed(t *testing.T, text string, launches ...[3]int) string {
	t.Helper()
	tensor := `{"type":"tensor","shape":[%[1]d],"stride":[1],"dtype":"torch.%[2]s","numel":%[1]d,"element_size":4,"data_ptr":"0x%[3]x","min":%[4]d,"max":%[4]d,"mean":%[4]d,"std":0}`
	lines := []string{`{"event_type":"compilation","pid":1,"stack":[],"payload":{"metadata":{"hash":"h1","name":"k","backend_name":"cuda"},"file_content":{"k.ttir":` + string(jsontext.Quote(text)) + `}}}`}
	for _, l := range launches {
		lines = append(lines, fmt.Sprintf(`{"event_type":"launch","pid":1,"name":"k","grid":[%d],"stack":[],"compilation_metadata":{"hash":"h1"},"extracted_args":{"x":%s,"turns":%s,"n":{"type":"int","value":%d}}}`,
			l[0], strings.Replace(fmt.Sprintf(tensor, 1<<20, "float32", 1<<30, 1), `"shape":[1048576],"stride":[1]`, cmp.Or(lied, `"shape":[1048576],"stride":[1]`), 1), fmt.Sprintf(tensor, 1, "int32", 1<<20, l[1]), l[2]))
	}
	folder, out := t.TempDir(), t.TempDir()
	if err := os.WriteFile(folder+"/dedicated_log_triton_trace_a_.ndjson", []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	o := parse.Options{Analyses: []string{"roofline"}, Run: func(compilation, launch []byte) (parse.Ran, error) { return fromtrace.Run(folder, compilation, launch) }}
	if _, err := parse.Parse(folder, out, o); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(out + "/*mapped.ndjson.gz")
	for line := range strings.SplitSeq(string(testkit.Gunzip(t, files[0])), "\n") {
		if strings.Contains(line, `"event_type":"roofline"`) {
			return line
		}
	}
	t.Fatal("no roofline")
	return ""
}

// TestHugeTensors: what a record says of a tensor takes no more memory than is allowed, however it says it.
func TestHugeTensors(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, lie := range []string{`"shape":[4000000000],"stride":[1]`, `"shape":[4000000000],"stride":[0]`, `"shape":[10],"stride":[1000000000]`, `"shape":[-5],"stride":[1]`, `"shape":[1099511627776,1099511627776],"stride":[1,1]`} {
		lied = lie
		if event := parsed(t, turns, [3]int{2, 3, 100}); !strings.Contains(event, "not run: ") {
			t.Errorf("%s: %s", lie, event)
		}
	}
	lied = ""
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 256<<20 {
		t.Errorf("%d MiB", (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}

// lied replaces the shape of x.
var lied string

// TestParsedRoofline: the roofline of a parsed trace has what a run says where the code does not, and says how it was run, or why not.
func TestParsedRoofline(t *testing.T) {
	has := func(event string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(event, part) {
				t.Errorf("%s is not in %s", part, event)
			}
		}
	}
	moved := func(grid, turns, n int) string {
		return fmt.Sprintf(`"bytes_moved":%d,`, grid*(4+(turns+1)*n*4)) // the number of turns, and x of each turn and of the store
	}
	has(parsed(t, turns, [3]int{2, 3, 100}, [3]int{2, 3, 100}, [3]int{128, 5, 7}), moved(2, 3, 100), moved(128, 5, 7), `"flops":768,`, fmt.Sprintf(`"flops":%d,`, 128*5*128),
		`"bytes_breakdown_per_cta":{"load":1204,"store":400}`, "counted by running 2 of 2 program instances on made-up values", "counted by running 64 of 128 program instances")
	has(parsed(t, turns, [3]int{4, 20000, 1}), moved(4, 20000, 1), "counted by running 1 of 4 program instances") // the steps of all would be too many
	has(parsed(t, turns, [3]int{1, 2000000000, 1}), "it is counted once", "masked elements count as moved", "not run: one program instance takes more than 262144 operations")
	has(parsed(t, strings.Replace(turns, "%zero = arith", "%never = tt.unknown_operation : i32\n %zero = arith", 1), [3]int{1, 3, 1}), "it is counted once", "not run: ", "tt.unknown_operation")
	var kinds [][3]int
	for i := range 6 {
		kinds = append(kinds, [3]int{1, i + 1, 10 + i})
	}
	event := parsed(t, turns, kinds...)
	for i, k := range kinds {
		if want := i < 4; strings.Contains(event, moved(k[0], k[1], k[2])) != want {
			t.Errorf("launch %d was run: %v, in %s", i, !want, event)
		}
	}
	has(event, "of a kernel 4 kinds of launches are run")
}
