package inside_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/internal/testkit"
)

// upstreamMode is what Triton's Proton passes on for backend="instrumentation" without a mode.
const upstreamMode = "cuda:default:metric_type=METRIC_TYPE.CYCLE:sampling_strategy=SAMPLING_STRATEGY.%s:sampling_options=%s:" +
	"granularity=GRANULARITY.WARP:buffer_strategy=BUFFER_STRATEGY.CIRCULAR:buffer_type=BUFFER_TYPE.SHARED:buffer_size=0:optimizations=%s"

type oracleKernel struct {
	Name    string   `json:"name"`
	Scopes  [][2]any `json:"scopes"`
	Parents [][2]int `json:"parents"`
	Scratch int      `json:"scratch"`
	Warps   int      `json:"warps"`
}

type oracleLaunch struct {
	Kernel int      `json:"kernel"`
	Scopes []string `json:"scopes"`
	Buffer []byte   `json:"buffer"`
}

type oracleRequest struct {
	Data     string         `json:"data"`
	Mode     string         `json:"mode"`
	Kernels  []oracleKernel `json:"kernels"`
	Launches []oracleLaunch `json:"launches"`
}

func (r *oracleRequest) add(l *inside.Launch, scopes ...string) {
	k := oracleKernel{Name: l.Kernel.Name, Scratch: l.Kernel.SlotSize, Warps: l.Kernel.Warps, Parents: [][2]int{}}
	for _, s := range l.Kernel.Scopes {
		k.Scopes = append(k.Scopes, [2]any{s.ID, s.Name})
		if s.Parent >= 0 {
			k.Parents = append(k.Parents, [2]int{s.ID, s.Parent})
		}
	}
	if scopes == nil {
		scopes = []string{}
	}
	r.Launches = append(r.Launches, oracleLaunch{len(r.Kernels), scopes, l.Buffer})
	r.Kernels = append(r.Kernels, k)
}

// ask returns the file that a release of Triton's Proton writes.
func (r *oracleRequest) ask(t *testing.T, triton string) []byte {
	t.Helper()
	driver := filepath.Join(t.TempDir(), "libcuda.so.1")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-w", "-o", driver, "testdata/driver.c").CombinedOutput(); err != nil {
		t.Fatalf("build a libcuda: %v\n%s", err, out)
	}
	request, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testkit.Fetched(t, "bin/python"), "testdata/oracle.py")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "LD_LIBRARY_PATH="+filepath.Dir(driver), "PYTHONPATH="+testkit.Fetched(t, "oracles/"+triton))
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", triton, err, stderr.String())
	}
	return out
}

// launches makes launches of kernels with nested scopes, whose names and numbers are random. Rings do not overflow.
func launches(r *rand.Rand, n int) (list []*inside.Launch) {
	for i := range n {
		warps := 1 + r.IntN(4)
		k := kernel(warps, nil, 512*warps)
		k.Name = fmt.Sprint("kernel_", i)
		for id := range k.Scopes {
			k.Scopes[id].Parent = id - 1
		}
		blocks := make([]hotpathtest.InsideBlock, 1+r.IntN(4))
		begin := 1e9 + r.Uint64N(1e6)
		for b := range blocks {
			init := begin + r.Uint64N(1e4)
			blocks[b] = hotpathtest.InsideBlock{SM: uint32(r.IntN(132)), Init: init, PreFinal: init + 1e5, PostFinal: init + 1e5 + r.Uint64N(1e3), Warps: map[int][]hotpathtest.InsideRecord{}}
			for w := range warps {
				blocks[b].Warps[w] = program(r, 2*r.IntN(32), 1<<40+r.Uint64N(1e5))
			}
		}
		list = append(list, &inside.Launch{Kernel: k, Grid: [3]uint32{uint32(len(blocks)), 1, 1}, Buffer: hotpathtest.InsideBuffer(k, 0, blocks)})
	}
	return list
}

type hatchetNode struct {
	Frame    struct{ Name string }
	Metrics  map[string]any
	Children []*hatchetNode
}

// cycles collects cycles and normalized_cycles by call path.
func (n *hatchetNode) cycles(path string, to map[string][2]float64) {
	path += "/" + n.Frame.Name
	if c, ok := n.Metrics["cycles"].(float64); ok && c > 0 {
		to[path] = [2]float64{c, n.Metrics["normalized_cycles"].(float64)}
	}
	for _, child := range n.Children {
		child.cycles(path, to)
	}
}

// TestCyclesOfUpstream compares the cycles of scopes with those that Triton's Proton finds in the same buffers.
func TestCyclesOfUpstream(t *testing.T) {
	for _, triton := range []string{"triton-3.6.0", "triton-3.9.0"} {
		t.Run(triton, func(t *testing.T) {
			list := append(launches(rand.New(rand.NewPCG(7, 8)), 12), h200(t))
			request := oracleRequest{Data: "tree", Mode: fmt.Sprintf(upstreamMode, "NONE", "", "")}
			ours := map[string][2]float64{}
			var d inside.Decoder
			var tally inside.Tally
			for _, l := range list {
				request.add(l)
				losses := d.Decode(l, func(b *inside.Block) { tally.Add(b, l.Kernel) })
				sum := tally.Take(l.Kernel, &losses)
				for _, s := range sum.Scopes {
					path := "/ROOT/" + l.Kernel.Name
					for _, name := range l.Kernel.Path(s.ID) {
						path += "/" + name
					}
					ours[path] = [2]float64{float64(s.Cycles), float64(s.Cycles) / float64(sum.Kernel.Warps)}
				}
			}
			var elements []json.RawMessage
			var root hatchetNode
			if err := json.Unmarshal(request.ask(t, triton), &elements); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(elements[0], &root); err != nil {
				t.Fatal(err)
			}
			theirs := map[string][2]float64{}
			root.cycles("", theirs)
			if len(theirs) == 0 || len(theirs) != len(ours) {
				t.Errorf("%d scopes, want %d", len(ours), len(theirs))
			}
			for path, want := range theirs {
				if got := ours[path]; got[0] != want[0] || math.Abs(got[1]-want[1]) > 1e-9*want[1] {
					t.Errorf("%s: %v, want %v", path, got, want)
				}
			}
		})
	}
}

// TestTraceOfUpstream compares whole files, byte by byte.
func TestTraceOfUpstream(t *testing.T) {
	for _, c := range []struct{ name, optimizations string }{{"plain", ""}, {"time_shift", "time_shift"}} {
		for _, triton := range []string{"triton-3.6.0", "triton-3.9.0"} {
			t.Run(c.name+" "+triton, func(t *testing.T) {
				list := append(launches(rand.New(rand.NewPCG(9, 10)), 6), crossing(), crossing())
				if triton == "triton-3.9.0" {
					list = append(list, events(), events())
				}
				request := oracleRequest{Data: "trace", Mode: fmt.Sprintf(upstreamMode, "NONE", "", c.optimizations)}
				var d inside.Decoder
				var trace inside.Trace
				for _, l := range list {
					l.Kernel.Mode, l.Kernel.Triton = c.optimizations, strings.TrimPrefix(triton, "triton-")
					request.add(l, "train", `a "step"`)
					trace.Begin(l.Kernel, []string{"ROOT", "train", `a "step"`, l.Kernel.Name})
					d.Decode(l, trace.Add)
				}
				var ours bytes.Buffer
				if err := trace.Write(&ours); err != nil {
					t.Fatal(err)
				}
				sameText(t, ours.String(), string(request.ask(t, triton)))
			})
		}
	}
}

// crossing is a launch whose scopes overlap, touch and are shorter than a record costs.
func crossing() *inside.Launch {
	k := kernel(2, nil, 512)
	k.Name = "crossing"
	block := hotpathtest.InsideBlock{SM: 3, Init: 1e9, PreFinal: 1e9 + 2e6, PostFinal: 1e9 + 2e6 + 32, Warps: map[int][]hotpathtest.InsideRecord{
		0: {hotpathtest.InsideIn(0, 100), hotpathtest.InsideIn(1, 150), hotpathtest.InsideOut(0, 200), hotpathtest.InsideIn(2, 200), hotpathtest.InsideOut(1, 300), hotpathtest.InsideOut(2, 304), hotpathtest.InsideIn(3, 304), hotpathtest.InsideOut(3, 308)},
		1: {hotpathtest.InsideIn(4, 90), hotpathtest.InsideOut(4, 92), hotpathtest.InsideIn(4, 92), hotpathtest.InsideOut(4, 93), hotpathtest.InsideIn(0, 2000000), hotpathtest.InsideOut(0, 3000123)},
	}}
	return &inside.Launch{Kernel: k, Grid: [3]uint32{1, 1, 1}, Buffer: hotpathtest.InsideBuffer(k, 0, []hotpathtest.InsideBlock{block})}
}

// events is a launch whose events end in their own warp, and in others.
func events() *inside.Launch {
	k := kernel(2, nil, 512)
	k.Name = "events"
	event := func(r hotpathtest.InsideRecord) hotpathtest.InsideRecord { r.Event = true; return r }
	block := hotpathtest.InsideBlock{SM: 3, Init: 1e9, PreFinal: 1e9 + 1e5, PostFinal: 1e9 + 1e5 + 32, Warps: map[int][]hotpathtest.InsideRecord{
		0: {hotpathtest.InsideIn(3, 95), event(hotpathtest.InsideIn(1, 100)), event(hotpathtest.InsideIn(0, 105)), event(hotpathtest.InsideOut(0, 110)), hotpathtest.InsideOut(3, 200), event(hotpathtest.InsideIn(0, 205)), event(hotpathtest.InsideOut(0, 210))},
		1: {event(hotpathtest.InsideIn(2, 90)), hotpathtest.InsideIn(4, 95), hotpathtest.InsideOut(4, 99), event(hotpathtest.InsideOut(1, 150)), event(hotpathtest.InsideOut(2, 160))},
	}}
	return &inside.Launch{Kernel: k, Grid: [3]uint32{1, 1, 1}, Buffer: hotpathtest.InsideBuffer(k, 0, []hotpathtest.InsideBlock{block})}
}

// sameText reports the first difference with some text around it.
func sameText(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(0, at-200)
	t.Errorf("differs at byte %d of %d\n--- got\n%s\n--- want\n%s", at, len(want), got[from:min(len(got), at+200)], want[from:min(len(want), at+200)])
}
