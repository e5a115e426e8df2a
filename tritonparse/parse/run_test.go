package parse

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// TestRunLaunches: kinds whose work depends on values are run, a few of each kernel and each once, whether or not the kernel stays in memory, and
// none after one that failed; tritonparse runs none.
func TestRunLaunches(t *testing.T) {
	text := `module {
  tt.func public @k(%turns: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %t = tt.load %turns : !tt.ptr<i32>
    scf.for %i = %c0 to %t step %c1 : i32 {
      tt.store %turns, %n : !tt.ptr<i32>
    }
    tt.return
  }
}`
	var lines []string
	const launches = 200 // of more kinds than have irrelevant arguments
	for _, hash := range []string{"aa", "bb"} {
		lines = append(lines, `{"event_type":"compilation","pid":1,"stack":[],"payload":{"metadata":{"hash":"`+hash+`","name":"k","backend_name":"cuda"},"file_content":{"k.ttir":`+string(jsontext.Quote(text))+`}}}`)
	}
	for i := range launches {
		for _, hash := range []string{"aa", "bb"} {
			lines = append(lines, launchRecord(hash, "k", `[]`, 1, `"turns":`+tensorArgument(4, 1)+fmt.Sprintf(`,"n":{"type":"int","value":%d}`, i/2)))
		}
	}
	events := func(o Options, fails bool) (string, []string) {
		var mu sync.Mutex
		var ran []string
		o.Run = func(compilation, launch []byte) (Ran, error) {
			_, l, err := tritonparse.OfRecords("x", compilation, launch)
			if err != nil || l.Arg("n") == nil {
				t.Error(err, string(launch))
				return Ran{}, err
			}
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, l.Hash+" "+l.Arg("n").Brief())
			if fails {
				return Ran{}, errors.New("no")
			}
			return Ran{Loaded: 1000, Stored: 7, Flops: 3, Note: "as it was run"}, nil
		}
		var out strings.Builder
		for _, e := range parsedEvents(t, testkit.RawTraces(t, map[string][]string{"u": lines}), tritonparse.Prefix+"u__mapped.ndjson.gz", o) {
			if at(e, "event_type") == "roofline" {
				for i, l := range list(at(e, "roofline", "per_launch")) {
					if i < 10 || i == launches-1 {
						fmt.Fprint(&out, at(l, "bytes_from_ir_x_grid"), " ")
					}
				}
				fmt.Fprintln(&out, at(e, "roofline", "notes"))
			}
		}
		return out.String(), ran
	}
	got, ran := events(Options{}, false)
	if want := strings.Repeat("1007 1007 1007 1007 1007 1007 1007 1007 32 32 32 [as it was run line 6: how often the loop runs is not known before the launch; it is counted once "+notAll+" figures of one program are those of the first launch: they depend on the arguments]\n", 2); got != want || len(ran) != 8 {
		t.Errorf("%s%v", got, ran)
	}
	small := usualRoom
	small.kernels = 1
	if again, ran := events(Options{room: small}, false); again != got || len(ran) != 8 {
		t.Errorf("out of memory: %s%v", again, ran)
	}
	if got, ran := events(Options{}, true); strings.Count(got, "not run: no") != 2 || strings.Contains(got, "1007") || len(ran) != 2 {
		t.Errorf("%s%v", got, ran)
	}
	if got, ran := events(Options{Compat: true}, false); strings.Contains(got, "1007") || len(ran) != 0 {
		t.Errorf("%s%v", got, ran)
	}
}
