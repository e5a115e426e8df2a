package counters

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// names reads testdata/names.txt: by metric without rollup, the chips that have it.
func names(t *testing.T) (chips []string, has map[string][]string) {
	has = map[string][]string{}
	for lines := bufio.NewScanner(strings.NewReader(testkit.Read(t, "testdata/names.txt"))); lines.Scan(); {
		name, list, ok := strings.Cut(lines.Text(), ": ")
		switch {
		case !ok:
		case name == "all chips":
			chips = strings.Fields(list)
		case list == "all":
			has[name] = chips
		case strings.HasPrefix(list, "all but "):
			lack := strings.Fields(strings.TrimPrefix(list, "all but "))
			has[name] = slices.DeleteFunc(slices.Clone(chips), func(c string) bool { return slices.Contains(lack, c) })
		default:
			has[name] = strings.Fields(list)
		}
	}
	if len(chips) != 24 || len(has) < 50 {
		t.Fatalf("%d chips, %d names: the list was not read", len(chips), len(has))
	}
	return chips, has
}

// exists says whether a chip has a metric, by its name without rollup.
func exists(has map[string][]string, metric, chip string) bool {
	base, _, _ := strings.Cut(metric, ".")
	return slices.Contains(has[base], chip)
}

// TestNamesExist: what a set or figure asks of a chip is among the metrics that the vendor's library lists for it; and a figure that
// has no form there has none because the chip lacks a metric of every form.
func TestNamesExist(t *testing.T) {
	chips, has := names(t)
	for _, chip := range chips {
		for _, set := range SetNames() {
			if set == LinesSet { // of another interface of the library
				continue
			}
			metrics, err := Set(set, chip)
			if err != nil || len(metrics) < 9 || metrics[0] != Time {
				t.Errorf("%s on %s: %v, %v", set, chip, metrics, err)
			}
			for _, m := range metrics {
				if !exists(has, m, chip) {
					t.Errorf("%s on %s asks for %s, which the chip has not", set, chip, m)
				}
			}
		}
		for i := range Figures {
			f := &Figures[i]
			if f.ByLine() {
				continue
			}
			if form, ok := f.Of(chip); ok {
				for _, m := range form.Metrics() {
					if !exists(has, m, chip) {
						t.Errorf("%s on %s asks for %s, which the chip has not", f.Name, chip, m)
					}
				}
				continue
			}
			for _, form := range f.Forms {
				if !slices.ContainsFunc(form.Metrics(), func(m string) bool { return !exists(has, m, chip) }) {
					t.Errorf("%s is said to be unknown on %s, which has %v", f.Name, chip, form.Metrics())
				}
			}
			if _, err := Set(f.Name, chip); err == nil || !strings.Contains(err.Error(), chip) {
				t.Errorf("%s on %s: error %v", f.Name, chip, err)
			}
		}
	}
}

// TestAgentHasWhatKernelAgentReads: KernelAgent (meta-pytorch, a3001c7) has Nsight Compute measure these on every candidate. Five more are
// facts of the binary and the launch (launch__…), and two are of older chips, which no chip of names.txt has.
func TestAgentHasWhatKernelAgentReads(t *testing.T) {
	_, has := names(t)
	set, err := Set("agent", "GH100")
	if err != nil {
		t.Fatal(err)
	}
	read := strings.Fields(`sm__cycles_active.avg sm__warps_active.avg.pct_of_peak_sustained_active sm__inst_executed.sum
		sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active dram__bytes_read.sum dram__bytes_write.sum
		dram__throughput.avg.pct_of_peak_sustained_elapsed dram__bytes.sum.per_second gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed
		l1tex__t_sector_hit_rate.pct l1tex__throughput.avg.pct_of_peak_sustained_active lts__t_sector_hit_rate.pct
		lts__throughput.avg.pct_of_peak_sustained_active sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed
		smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct smsp__sass_average_branch_targets_threads_uniform.pct
		smsp__warp_issue_stalled_short_scoreboard_per_warp_active.pct smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct
		smsp__warp_issue_stalled_barrier_per_warp_active.pct smsp__warp_issue_stalled_branch_resolving_per_warp_active.pct
		sm__throughput.avg.pct_of_peak_sustained_elapsed gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed`)
	for _, name := range read {
		if !exists(has, name, "GH100") {
			t.Errorf("GH100 has no %s", name)
		}
		if slices.Contains(set, name) {
			continue
		}
		figure := Find(name)
		if figure == nil {
			t.Errorf("agent has no %s", name)
			continue
		}
		if _, _, ok := figure.Parts(func(m string) (float64, bool) { return 1, slices.Contains(set, m) }); !ok {
			t.Errorf("agent cannot compute %s as %s: it has %v", name, figure.Name, set)
		}
	}
	for _, gone := range []string{"sm__inst_executed_pipe_fp32", "smsp__warp_issue_stalled_memory_dependency_per_warp_active"} {
		if len(has[gone]) > 0 {
			t.Errorf("%s exists after all", gone)
		}
	}
}

// TestSetWords: words are joined by +, each metric is asked for once, and wrong words get the names that were meant.
func TestSetWords(t *testing.T) {
	joined, err := Set("dram_bytes+memory+sm__cycles_active.max", "GH100")
	if err != nil {
		t.Fatal(err)
	}
	if seen := slices.Compact(slices.Sorted(slices.Values(joined))); len(seen) != len(joined) {
		t.Errorf("some metric stands twice: %v", joined)
	}
	if joined[1] != "dram__bytes_read.sum" || joined[len(joined)-1] != "sm__cycles_active.max" {
		t.Errorf("order: %v", joined)
	}
	for word, want := range map[string]string{
		"rofline":                             "did you mean roofline?",
		"l2hit":                               "l2_hit",
		"dram_bites":                          "dram_bytes",
		"zzzzzzzz":                            "the sets are agent, compute, lines, memory, roofline",
		"":                                    "the sets are",
		"memory+":                             "the sets are",
		"dram__bytes_read":                    "a unit and a sum",
		"tensor_fp8_flops+memory":             "",
		"launch__registers_per_thread+memory": "",
		"launch__occupancy_limit_blocks":      "recorded with any set",
	} {
		if _, err := Set(word, "GH100"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Set(%q): %v, want %q", word, err, want)
		}
	}
	for _, chip := range []string{"GB10B", "GA10B"} {
		if _, err := Set("dram__throughput.avg.pct_of_peak_sustained_elapsed", chip); err == nil {
			t.Errorf("%s has DRAM", chip)
		}
	}
	if m, err := Set("roofline", "GX900"); err != nil || !slices.Contains(m, "dram__bytes_read.sum") {
		t.Errorf("a chip of the future: %v, %v", m, err)
	}
}

// TestCatalogueIsWhole: names and meanings differ, every figure has a form, and the types of flops are each counted.
func TestCatalogueIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Figures {
		for _, name := range append([]string{f.Name, f.About}, f.Same...) {
			if name == "" || seen[name] {
				t.Errorf("%s: %q stands twice or is empty", f.Name, name)
			}
			seen[name] = true
		}
		if len(f.Forms) == 0 || (f.Unit == Flops) != (f.DType != "") {
			t.Errorf("%s: %d forms, unit %q, type %q", f.Name, len(f.Forms), f.Unit, f.DType)
		}
		if sets[f.Name] != nil {
			t.Errorf("%s is a set and a figure", f.Name)
		}
		for _, form := range f.Forms {
			for _, m := range form.Metrics() {
				if !f.ByLine() && !IsMetric(m) || strings.Contains(m, ".avg") || strings.Contains(m, ".pct") {
					t.Errorf("%s: %s does not add up", f.Name, m)
				}
			}
			if share := f.Unit == Share || f.Unit == Ratio; share != (len(form.Below) > 0) {
				t.Errorf("%s: unit %s with %d terms below", f.Name, f.Unit, len(form.Below))
			}
		}
	}
}

// TestFiguresAreListed writes the table of docs/counters.md.
func TestFiguresAreListed(t *testing.T) {
	var b strings.Builder
	b.WriteString("| figure | is | sets | AMD | also called |\n|---|---|---|---|---|\n")
	for _, f := range Figures {
		var in []string
		for _, set := range SetNames() {
			if slices.Contains(sets[set], f.Name) {
				in = append(in, set)
			}
		}
		also := ""
		if len(f.Same) > 0 && f.Same[0] != f.Forms[0].Metrics()[0] {
			also = "`" + f.Same[0] + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.About, strings.Join(in, ", "), amdsOf(&f), also)
	}
	testkit.Between(t, "../../docs/counters.md", "<!-- figures: written by go test ./gpu/counters -update -->\n", "<!-- end of figures -->", b.String())
}

// amdsOf names AMD's GPUs that have a figure.
func amdsOf(f *Figure) string {
	var on []string
	for _, chip := range AMDChips {
		if _, has := f.Of(chip); has {
			on = append(on, chip)
		}
	}
	if len(on) == len(AMDChips) {
		return "yes"
	}
	return strings.Join(on, ", ")
}

// TestFiguresOfAMD: what each figure of a launch is, by AMD's own formulas, which are written here as rocprofiler-sdk defines FETCH_SIZE, WRITE_SIZE,
// L2CacheHit, MfmaUtil and OccupancyPercent (of active compute units), for counters that all differ.
func TestFiguresOfAMD(t *testing.T) {
	for _, chip := range AMDChips {
		metrics, err := Set("roofline+memory+compute+agent+bank_conflicts+active_cycles", chip)
		if err != nil {
			t.Fatal(err)
		}
		v := map[string]float64{}
		for i, m := range metrics[1:] {
			if !IsMetric(m) || !Adds(m) {
				t.Errorf("%s is not a counter that adds up", m)
			}
			v[m] = float64(1000*(i+1) + len(m))
		}
		ea := "TCC_EA0_"
		if chip == "gfx90a" {
			ea, v["TCC_BUBBLE"] = "TCC_EA_", 0
		}
		read32, read64 := v[ea+"RDREQ_32B"], v[ea+"RDREQ"]-v["TCC_BUBBLE"]-v[ea+"RDREQ_32B"]
		want := map[string]float64{
			"dram_read":          v["TCC_BUBBLE"]*128 + read64*64 + read32*32,
			"dram_write":         (v[ea+"WRREQ"]-v[ea+"WRREQ_64B"])*32 + v[ea+"WRREQ_64B"]*64,
			"l2_hit":             v["TCC_HIT"] / (v["TCC_HIT"] + v["TCC_MISS"]),
			"tensor_pipe":        v["SQ_VALU_MFMA_BUSY_CYCLES"] / v["GRBM_GUI_ACTIVE.simds"],
			"achieved_occupancy": v["SQ_WAVE_CYCLES"] / v["SQ_BUSY_CU_CYCLES"] / 32,
			"fp32_flops": 64*(v["SQ_INSTS_VALU_ADD_F32"]+v["SQ_INSTS_VALU_MUL_F32"]+2*v["SQ_INSTS_VALU_FMA_F32"]) +
				512*v["SQ_INSTS_VALU_MFMA_MOPS_F32"],
			"tensor_bf16_flops": 512 * v["SQ_INSTS_VALU_MFMA_MOPS_BF16"],
		}
		want["dram_bytes"] = want["dram_read"] + want["dram_write"]
		for name, w := range want {
			if got, ok := value(Find(name), v); !ok || math.Abs(got-w) > 1e-9*w {
				t.Errorf("%s of %s is %g, %v, want %g", name, chip, got, ok, w)
			}
		}
		for _, none := range []string{"stall_memory", "sectors_per_load", "sm__inst_executed.sum"} {
			if list, err := Set(none, chip); err == nil {
				t.Errorf("a %s has %s: %q", chip, none, list)
			}
		}
	}
	if list, err := Set("SQ_INSTS_VALU", "GH100"); err == nil {
		t.Errorf("a GH100 has %q", list)
	}
	for _, no := range []string{"TOKENS_SEEN", "SQ_", "SQ_insts", "sq_insts_valu", "SQ INSTS"} {
		if isAMDs(no) {
			t.Errorf("%q is taken for one of AMD's counters", no)
		}
	}
}

// TestSetOf: what a set measures names the set again, else the metrics do.
func TestSetOf(t *testing.T) {
	for _, word := range append(SetNames(), "compute+memory", "gpu__time_duration.sum+dram__bytes_read.sum", "gpu__time_duration.sum") {
		for _, chip := range []string{"GH100", "AD102"} {
			if word == LinesSet {
				continue
			}
			metrics, err := Set(word, chip)
			if err != nil {
				t.Fatal(err)
			}
			slices.Reverse(metrics)
			got := SetOf(metrics, chip)
			again, err := Set(got, chip)
			if err != nil || len(again) != len(metrics) || slices.ContainsFunc(again, func(m string) bool { return !slices.Contains(metrics, m) }) || !strings.Contains(word, "__") && got != word {
				t.Errorf("the metrics of %s on %s are of %s, %v", word, chip, got, err)
			}
		}
	}
	for _, none := range [][]string{nil, {Time, "a\nb"}, {"dram__bytes_read.sum"}} { // every set has the time
		if got := SetOf(none, "GH100"); got != "" {
			t.Errorf("%q are of %s", none, got)
		}
	}
}
