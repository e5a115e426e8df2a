package tritonparse_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// TestScan: what records say of themselves is read the same way from each type of record, and damages are counted.
func TestScan(t *testing.T) {
	dir := testkit.RawTraces(t, map[string][]string{"u": {
		testkit.CompilationRecord("aa", "cuda"), "", testkit.LaunchRecord("aa", 3),
		`{"event_type":"autotune","pid":4,"kernel_name":"tuned"}`, `{"event_type":"launch_diff","hash":"bb","name":"d"}`, `{"no":"type"}`, `{"cut`,
	}})
	files, err := tritonparse.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	damages, n, err := tritonparse.Scan(files, func(h tritonparse.Header, r *tritonparse.Record) error {
		got = append(got, fmt.Sprint(r.Line, h))
		return nil
	})
	want := []string{"0 {compilation aa k 1}", "1 {launch aa k 3}", "2 {autotune  tuned 4}", "3 {launch_diff bb d 0}"}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v\n got %q\nwant %q", err, got, want)
	}
	if n != 2 || len(damages) != 2 || damages[0].Line != 6 || damages[1].Line != 7 {
		t.Errorf("%d damages: %v", n, damages)
	}
	enough := errors.New("enough")
	calls := 0
	if _, _, err := tritonparse.Scan(files, func(tritonparse.Header, *tritonparse.Record) error { calls++; return enough }); !errors.Is(err, enough) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// ExampleScan counts the launches of each kernel of a trace.
func ExampleScan() {
	files, err := tritonparse.Files("testdata/dedicated_log_triton_trace_complex_.ndjson.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	launches := map[string]int{}
	_, damaged, err := tritonparse.Scan(files, func(h tritonparse.Header, _ *tritonparse.Record) error {
		if h.Type == "launch" {
			launches[h.Name]++
		}
		return nil
	})
	fmt.Println(launches, damaged, err)
	// Output: map[fused_op_kernel:4 matmul_kernel:1553] 0 <nil>
}
