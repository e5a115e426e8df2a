package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

var classes = []string{"launch", "data movement", "compute", "occupancy", "synchronisation", "layout", "spill", "communication", "host"}

func TestRulesAreWellFormed(t *testing.T) {
	names := map[string]bool{}
	for i := range rules {
		r := &rules[i]
		if names[r.Name] {
			t.Errorf("two rules are called %s", r.Name)
		}
		names[r.Name] = true
		if _, err := parseConditions(r.When); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		if !slices.Contains(classes, r.Class) || r.Says == "" || r.Try == "" || r.Next == "" || r.Saves == "" || (r.Least > 0) && r.Stalls == nil {
			t.Errorf("%s is not complete", r.Name)
		}
	}
}

func TestRulesOnThePage(t *testing.T) {
	var b strings.Builder
	b.WriteString("| rule | class | holds if | saves at most |\n|---|---|---|---|\n")
	for i := range rules {
		r := &rules[i]
		when := r.When
		for _, common := range []string{enough + "; ", "; " + enough, own + "; ", big + "; "} {
			when = strings.ReplaceAll(when, common, "")
		}
		if when == own || when == big {
			when = ""
		}
		if r.Least > 0 {
			when = strings.TrimSuffix(fmt.Sprintf("stalls %s >= %v; %s", strings.Join(r.Stalls, " + "), r.Least, when), "; ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Name, r.Class, strings.ReplaceAll(when, "; ", ", "), r.Saves)
	}
	b.WriteString("\nRules about kernels also need 5 % of the GPU time, and a kernel that is not of a library; those about stalls need 100 samples.\n")
	testkit.Between(t, "../../docs/explain.md", "<!-- rules: written by go test ./viewer/explain -update -->\n", "<!-- end of rules -->", b.String())
}

func TestConditionsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "a", "a > 1", "a >= x", "a >= 1 or", "a >= 1 or unknown x"} {
		if all, err := parseConditions(text); err == nil {
			t.Errorf("%q is read as %v", text, all)
		}
	}
}

// Evidence is shown of everything that a finding says, and bounds are bounds.
func TestFindingsAreConsistent(t *testing.T) {
	for _, c := range madeCases {
		for _, in := range []Input{c.slow(), c.silent()} {
			d := explained(t, in)
			last := int64(math.MaxInt64)
			for _, f := range d.Findings {
				if len(f.Evidence) == 0 || f.Says == "" || f.Next == "" || strings.ContainsAny(f.Says+f.Next, "{}") {
					t.Errorf("%s: a finding is not complete: %+v", c.rule, f)
				}
				if f.Saves > last || f.Saves < 0 || float64(f.Saves) > f.whole*1.000001 || f.Share < 0 || f.Share > 1.001 {
					t.Errorf("%s: %s saves %d of %d, with a share of %v, after one that saves %d", c.rule, f.Rule, f.Saves, f.Time, f.Share, last)
				}
				last = f.Saves
				for _, e := range f.Evidence {
					if e.Value-e.Value != 0 {
						t.Errorf("%s: %s is %v", f.Rule, e.Metric, e.Value)
					}
				}
			}
		}
	}
}

func TestJSONFits(t *testing.T) {
	var many []kernelOf
	for i := range 18 {
		many = append(many, kernelOf{name: fmt.Sprintf("kernel_with_quite_a_long_name_%02d", i), stalls: "long_scoreboard=70", roof: 0.2})
	}
	d := explained(t, Input{Profile: profileOf(many...)})
	all := len(d.Findings)
	var b bytes.Buffer
	if err := d.WriteJSON(&b, MostBytes); err != nil {
		t.Fatal(err)
	}
	var back Document
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if b.Len() > MostBytes || len(back.Findings) < 3 || len(back.Findings)+back.LeftOut < all || all < 18 {
		t.Errorf("%d bytes, %d of %d findings, %d left out", b.Len(), len(back.Findings), all, back.LeftOut)
	}
}

// TestIdleTreeNamesTheLongest: a tree says of no gap how long it was, so the path with the most idle time counts.
func TestIdleTreeNamesTheLongest(t *testing.T) {
	p := profileOf(kernelOf{scope: "a", name: "short"}, kernelOf{scope: "b", name: "long"}, kernelOf{scope: "c", name: "shorter"})
	for i, idle := range []int64{3e6, 50e6, 1e6} {
		n := p.Root.Children[i].Children[0]
		n.Set(profile.BusyMetric, profile.IntValue(10e6))
		n.Set(profile.IdleMetric, profile.IntValue(idle))
		n.Set(profile.IdleGapsMetric, profile.IntValue(9))
	}
	for _, m := range []string{profile.BusyMetric, profile.IdleMetric, profile.IdleGapsMetric} {
		p.Kinds[m] = profile.Inclusive
	}
	doc := explained(t, Input{Profile: p})
	if !slices.ContainsFunc(doc.Findings, func(f Finding) bool { return f.Rule == "idle_before" && f.Path == "b > long" && f.Saves == 54e6 }) {
		t.Error(text(doc))
	}
}

func TestKernelsThatAreNotThere(t *testing.T) {
	if _, err := Of(Input{Profile: profileOf(kernelOf{}), Kernel: "softmax"}); err == nil || !strings.Contains(err.Error(), "kernel") {
		t.Error(err)
	}
	if _, err := Of(Input{Profile: profileOf(kernelOf{}), Kernel: "("}); err == nil {
		t.Error("a wrong pattern is read")
	}
	if _, err := Of(Input{Profile: profileOf()}); err != ErrNoTime {
		t.Error(err)
	}
	counted := profileOf()
	counted.Sampling = &profile.Sampling{Mode: profile.CountedByLine}
	if _, err := Of(Input{Profile: counted}); err == nil || !strings.Contains(err.Error(), "nothing can be explained: the profile counts what instructions did and has no times") {
		t.Error(err)
	}
	for _, ns := range []float64{1e300, 1 << 63} {
		p := profileOf(kernelOf{})
		p.Root.Children[0].Set(profile.TimeMetric, profile.FloatValue(ns))
		if _, err := Of(Input{Profile: p}); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Error(err)
		}
	}
}

// A kernel that is asked for is explained, however little of the whole it is.
func TestSmallKernels(t *testing.T) {
	p := profileOf(kernelOf{name: "large", ms: 5000, roof: 0.8}, kernelOf{name: "small", stalls: "long_scoreboard=70", roof: 0.2})
	if d := explained(t, Input{Profile: p}); len(d.Findings) > 0 {
		t.Errorf("among others: %s", text(d))
	}
	if d := explained(t, Input{Profile: p, Kernel: "small"}); len(d.Findings) == 0 || cause(&d.Findings[0]) != "load_latency data movement kernels.py:12" {
		t.Errorf("alone: %s", text(d))
	}
}

// Of waits at a queue that shared memory has in common with others, a rule about shared memory saves its own.
func TestPartOfTheStalls(t *testing.T) {
	r := &rules[slices.IndexFunc(rules, func(r rule) bool { return r.Name == "shared_memory" })]
	on := newSubject(kernelKind, 1000, 1000)
	on.lost = map[string]float64{"mio_throttle": 0.3, "short_scoreboard": 0.2, "long_scoreboard": 0.4}
	if ns, _ := r.saves(on); ns != 500 {
		t.Errorf("where instructions are not known: %v", ns)
	}
	on.numbers["shared_memory_share"] = 0.6
	if ns, from := r.saves(on); ns != 300 || from != "stalls" {
		t.Errorf("where two fifths are at others: %v from %s", ns, from)
	}
}

func TestRounded(t *testing.T) {
	for v, want := range map[float64]float64{0.123456: 0.123, 98765.4: 98765, 0.0001239: 0.000124, 1: 1, math.Inf(1): 0} {
		if got := rounded(v); got != want {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
}

// Measurements that proton viewer has too are called as there, and reasons of stalls as in its listings; the others are in words.
func TestEvidenceInTheViewersWords(t *testing.T) {
	for e, want := range map[Evidence]string{
		{"roof_share", 0.596}:                     "util 59.6%",
		{"occupancy_share", 0.281}:                "occupancy_limit 28.1%",
		{"stall_long_scoreboard_share", 0.299}:    "stall long_scoreboard 29.9%",
		{"load_efficiency_share", 0.125}:          "load_efficiency 12.5%",
		{"conflict_share", 0.5}:                   "conflict_share 50.0%",
		{"sectors_per_load", 32}:                  "sectors_per_load 32",
		{"dram_bytes_per_launch", 1.5e6}:          "dram_bytes 1.5 MB a launch",
		{"bank_conflicts_per_launch", 12000}:      "bank_conflicts 12,000 a launch",
		{"dram_bytes_over_declared", 1.75}:        "traffic_ratio 1.750",
		{"registers_per_thread", 168}:             "registers 168",
		{"memory_bound", 1}:                       "bound by memory",
		{"memory_bound", 0}:                       "bound by compute",
		{"local_memory_instruction_share", 0.02}:  "local memory instruction 2.0%",
		{"mean_gap_ns", 12500}:                    "mean gap 12.5 us",
		{"shared_memory_bytes_per_block", 147456}: "shared memory bytes per block 147,456",
		{"filled_multiprocessors_share", 0.25}:    "filled multiprocessors 25.0%",
		{"stall_barrier_share", 0.25}:             "stall barrier 25.0%",
		{"stall_memory_share", 0.25}:              "stall_memory 25.0%",
		{"achieved_occupancy_share", 0.2}:         "achieved_occupancy 20.0%",
		{"communication_exposed_share", 0.4}:      "communication exposed 40.0%",
		{"samples", 20090}:                        "samples 20,090",
	} {
		if got := e.text(); got != want {
			t.Errorf("%s: %q, want %q", e.Metric, got, want)
		}
	}
}
