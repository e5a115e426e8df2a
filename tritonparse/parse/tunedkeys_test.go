package parse

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// tunedResult is an autotune record.
func tunedResultRecord(site, key, best string) string {
	return fmt.Sprintf(`{"event_type":"autotune","pid":1,"kernel_name":"k","cache_key":"k","best_config":%q,"configs_timings":{%q:[1.0,2.0,3.0]},"duration":0.5,"cache_hit":false,"autotune_key":%q,"stack":%s,"timestamp":"t"}`,
		best, best, key, won(site))
}

func number(kind string, v any) string { return fmt.Sprintf(`{"type":%q,"value":%v}`, kind, v) }

// keysOfSites are records of call sites that are tuned for several keys, each in another way.
func keysOfSites() []string {
	var all []string
	add := func(lines ...string) { all = append(all, lines...) }
	compile := func(hash, site string, warps int) { add(compiledRecord(hash, "k", "cuda", timed(site), warps, "")) }
	launch := func(hash, stack, arguments string) { add(launchRecord(hash, "k", stack, 1, arguments)) }
	// tune times two configurations for arguments twice each, and launches the better one.
	tune := func(site string, hashes [2]string, better int, arguments func(configuration int) string) {
		for i, h := range hashes {
			for range 2 {
				launch(h, timed(site), arguments(i))
			}
		}
		launch(hashes[better], won(site), arguments(better))
	}

	site := "/m.py:10:sizes" // one session for each size; the results come before the launches, as GoProton records them
	compile("a1", site, 4)
	compile("a2", site, 8)
	for i, n := range []int{100, 200, 300} {
		add(tunedResultRecord(site, fmt.Sprintf("(%d, 'torch.float16')", n), fmt.Sprintf("B: %d, num_warps: 4", 64<<(i%2))))
	}
	for i, n := range []int{100, 200, 300} {
		tune(site, [2]string{"a1", "a2"}, i%2, func(c int) string {
			return `"x":` + tensorArgument(n, n) + `,"n":` + number("int", n) + `,"B":` + number("int", 64<<c) + `,"eps":` + number("float", 1e-05) + `,"big":` + number("float", "1e+22")
		})
	}
	launch("a1", won(site), `"x":`+tensorArgument(100, 7)+`,"n":`+number("int", 100)+`,"B":`+number("int", 64)+`,"eps":`+number("float", 1e-06)+`,"big":`+number("float", "1e+22"))

	site = "/m.py:20:seeds" // each launch has another seed, which is not part of the key
	compile("b1", site, 4)
	compile("b2", site, 8)
	for i, n := range []int{1, 2} {
		tune(site, [2]string{"b1", "b2"}, 0, func(c int) string {
			return `"n":` + number("int", n) + `,"seed":` + number("int", 50+i) + `,"B":` + number("int", 64<<c)
		})
		add(tunedResultRecord(site, fmt.Sprintf("(%d,)", n), "B: 64, num_warps: 4, num_stages: 2"))
	}
	for i := range 3 {
		launch("b1", won(site), `"n":`+number("int", 1+i%2)+`,"seed":`+number("int", 60+i)+`,"B":`+number("int", 64))
	}

	site = "/m.py:30:constants" // the key is a constexpr, so each key has compilations of its own
	for i, k := range []int{16, 32} {
		hashes := [2]string{fmt.Sprint("c", i, 0), fmt.Sprint("c", i, 1)}
		for _, h := range hashes {
			compile(h, site, 4)
		}
		tune(site, hashes, 1, func(c int) string {
			return `"x":` + tensorArgument(64, 1) + `,"K":` + number("int", k) + `,"B":` + number("int", 64<<c)
		})
		add(tunedResultRecord(site, fmt.Sprintf("(%d, 'torch.float16')", k), "B: 128, num_warps: 4"))
	}

	site = "/m.py:40:descriptors" // a hook changes a member of an argument; one launch is captured
	compile("d1", site, 4)
	compile("d2", site, 8)
	for _, n := range []int{64, 128} {
		tune(site, [2]string{"d1", "d2"}, 0, func(c int) string {
			return `"x":` + strings.Replace(descriptorArgument(n, n), `"block_shape":[16]`, fmt.Sprintf(`"block_shape":[%d]`, 16<<c), 1) + `,"flag":` + number("bool", c == 0) + `,"tuple":{"type":"tuple","repr":"(1, 2)"}`
		})
		launch("d1", won(site), `"_note":"argument extraction skipped during CUDA graph capture"`)
		add(tunedResultRecord(site, fmt.Sprintf("('a, b', %d)", n), "flag: True, tuple: (1, 2), num_warps: 4, BLOCK: 5"))
	}

	site = "/m.py:50:captured" // nothing but captured launches
	compile("e1", site, 4)
	compile("e2", site, 8)
	for _, h := range []string{"e1", "e2", "e1"} {
		launch(h, timed(site), `"_note":"argument extraction skipped during CUDA graph capture"`)
	}

	site = "/m.py:60:unnamed" // launches without arguments, and one whose compilation another site made
	compile("f1", site, 4)
	compile("f2", site, 8)
	for range 2 {
		tune(site, [2]string{"f1", "a1"}, 1, func(int) string { return "" })
	}
	add(tunedResultRecord(site, "(1,)", "num_warps: 4"), tunedResultRecord(site, "(2,)", "num_warps: 8"))

	site = "/m.py:70:members" // an argument that is a number or nothing; groups of warps with different work
	add(strings.Replace(compiledRecord("g1", "k", "cuda", timed(site), 12, ""), `\"ttg.num-warps\" = 4`, `\"ttg.num-warps\" = 8`, 1))
	add(strings.Replace(compiledRecord("g2", "k", "cuda", timed(site), 12, ""), `"num_warps":12`, `"num_warps":12,"num_warps_base":8`, 1))
	for _, n := range []int{5, 6} {
		tune(site, [2]string{"g1", "g2"}, n%2, func(c int) string {
			optional := `{"type":"NoneType","repr":"None"}`
			if c == 1 {
				optional = number("int", 3)
			}
			return `"n":` + number("int", n) + `,"optional":` + optional + `,"s":` + number("str", `"é\u2028"`)
		})
		add(tunedResultRecord(site, fmt.Sprintf("(%d,)", n), "optional: "+[]string{"None", "3"}[n%2]+", num_warps: "+[]string{"4", "8"}[n%2]))
	}
	return all
}

// manyLaunches are launches of a few sites whose arguments agree by chance, as no autotuner would make them.
func manyLaunches(r *rand.Rand) []string {
	var all []string
	for i := range 12 {
		site := fmt.Sprintf("/r.py:%d:site%d", i, i)
		hashes := 1 + r.IntN(4)
		for h := range hashes {
			all = append(all, compiledRecord(fmt.Sprintf("r%d", h), "k", "cuda", timed(site), 4<<h, ""))
		}
		values := 1 + r.IntN(3)
		for range 4 + r.IntN(20) {
			var arguments []string
			h := r.IntN(hashes)
			for _, argument := range []string{
				`"c":` + number("int", h/2), `"d":` + descriptorArgument(1+h/2, r.IntN(9)), `"n":` + number("int", r.IntN(values)),
				`"t":` + fmt.Sprintf(`{"type":"triton_kernels.tensor.Tensor","shape":[%d],"storage":{"data":{"data_ptr":"0x%x","numel":%d}}}`, h, r.IntN(9), r.IntN(values)),
				`"x":` + tensorArgument(1+r.IntN(values), r.IntN(9)),
			} {
				if r.IntN(8) > 0 {
					arguments = append(arguments, argument)
				}
			}
			stack := timed(site)
			if r.IntN(3) == 0 {
				stack = won(site)
			}
			if r.IntN(12) == 0 {
				arguments = []string{`"_note":"captured"`}
			}
			all = append(all, launchRecord(fmt.Sprintf("r%d", h), "k", stack, 1, strings.Join(arguments, ",")))
			if r.IntN(8) == 0 {
				all = append(all, tunedResultRecord(site, "(1,)", fmt.Sprintf("n: %d, c: %d, num_stages: 2", r.IntN(values), r.IntN(2))))
			}
		}
	}
	return all
}

// TestKeysAsTritonparse compares what is written of such sites.
func TestKeysAsTritonparse(t *testing.T) {
	o := needOracle(t)
	raw := testkit.RawTraces(t, map[string][]string{"u": keysOfSites(), "v": manyLaunches(rand.New(rand.NewPCG(1, 2)))})
	o.compare(t, raw, `{}`, Options{})
}

// TestKeys: each key is a session with its own result, and what is launched later belongs to the session whose result it used.
func TestKeys(t *testing.T) {
	sessions, counts := tunedSessions(t, testkit.RawTraces(t, map[string][]string{"u": keysOfSites()}))
	want := map[string][]string{
		// site: of each session the launches that timed, the others, the best configuration of its result
		"sizes":       {"2-5 | 6, 17 | B: 64, num_warps: 4", "7-10 | 11 | B: 128, num_warps: 4", "12-15 | 16 | B: 64, num_warps: 4"},
		"seeds":       {"20-23 | 24, 30, 32 | B: 64, num_warps: 4, num_stages: 2", "25-28 | 29, 31 | B: 64, num_warps: 4, num_stages: 2"},
		"constants":   {"35-38 | 39 | B: 128, num_warps: 4", "42-45 | 46 | B: 128, num_warps: 4"},
		"descriptors": {"49-52 | 53-54 | flag: True, tuple: (1, 2), num_warps: 4, BLOCK: 5", "55-58 | 59-60 | flag: True, tuple: (1, 2), num_warps: 4, BLOCK: 5"},
		"captured":    {"63-65 |  | <nil>"},
		"unnamed":     {"68-71, 73-76 | 72, 77 | num_warps: 4", " |  | num_warps: 8"}, // launches without arguments cannot be distinguished
		"members":     {"80-83 | 84 | optional: 3, num_warps: 8", "85-88 | 89 | optional: None, num_warps: 4"},
	}
	for site, lines := range want {
		if !slices.Equal(sessions[site], lines) {
			t.Errorf("%s:\n got %q\nwant %q", site, sessions[site], lines)
		}
	}
	if len(sessions) != len(want) {
		t.Errorf("sites %q", slices.Collect(maps.Keys(sessions)))
	}
	if got, want := fmt.Sprint(counts), "map[a1:3 a2:1 b1:2 c0 1:1 c1 1:1 d1:2 g1:1 g2:1]"; got != want {
		t.Errorf("winners are counted %s, not %s", got, want)
	}
}

// tunedSessions are the analyses by the function of the site, and the summary.
func tunedSessions(t *testing.T, raw string) (bySite map[string][]string, counts any) {
	t.Helper()
	bySite = map[string][]string{}
	ids := map[any]bool{}
	for _, e := range parsedEvents(t, raw, tritonparse.Prefix+"u__mapped.ndjson.gz", Options{}) {
		switch at(e, "event_type") {
		case "autotune_analysis":
			if id := at(e, "session_id"); ids[id] {
				t.Errorf("two sessions have the id %v", id)
			} else {
				ids[id] = true
			}
			site := at(list(at(e, "session_stack"))[0], "name").(string)
			bySite[site] = append(bySite[site], fmt.Sprintf("%v | %v | %v", at(e, "launch_ranges", "benchmark"), at(e, "launch_ranges", "winner"), at(e, "autotune_result", "best_config")))
		case "autotune_summary":
			counts = at(e, "winner_run_counts")
		}
	}
	return bySite, counts
}
