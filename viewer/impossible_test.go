package viewer

import (
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/profile"
)

// A file may say anything: counters that no GPU counts are left out, and said.
func TestImpossibleCounters(t *testing.T) {
	for name, change := range map[string]func(n *profile.Node){
		"more measured than launched": func(n *profile.Node) { n.Set(counters.Launches, profile.FloatValue(1e300)) },
		"fewer than none":             func(n *profile.Node) { n.Set(counters.Launches, profile.IntValue(-2)) },
		"bytes below 0":               func(n *profile.Node) { n.Set(readBytes, profile.FloatValue(-5)) },
		"bytes without an end":        func(n *profile.Node) { n.Set(readBytes, profile.FloatValue(math.Inf(1))) },
	} {
		t.Run(name, func(t *testing.T) {
			p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}}
			good, bad := &profile.Node{Name: "good"}, &profile.Node{Name: "bad"}
			p.Root.Children = []*profile.Node{good, bad}
			for _, n := range []*profile.Node{good, bad} {
				n.Set(profile.TimeMetric, profile.IntValue(1000))
				n.Set(profile.CountMetric, profile.IntValue(4))
				count(n, 2, 4096, -1)
			}
			change(bad)
			table, err := NewTable(p, Options{Metrics: []string{"dram_bytes"}})
			if err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(table.Notes, "\n"); !strings.Contains(notes, "the hardware counters of 1 frame are left out") {
				t.Errorf("the notes are %q", notes)
			}
			if above, _ := counters.Find("dram_bytes").At(good); above != 4*4096 {
				t.Errorf("the other frame has %v bytes", above)
			}
			if above, _ := counters.Find("dram_bytes").At(bad); !math.IsNaN(above) || !math.IsNaN(counters.Total(bad, readBytes)) {
				t.Errorf("it has %v bytes", above)
			}
		})
	}
}

// AMD's counters keep their spelling, and are asked for in any.
func TestCountersOfAMDAreListed(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}}
	n := &profile.Node{Name: "k"}
	p.Root.Children = []*profile.Node{n}
	n.Set(profile.CountMetric, profile.IntValue(4))
	n.Set(counters.Launches, profile.IntValue(2))
	n.Set("SQ_INSTS_VALU", profile.FloatValue(10))
	var b strings.Builder
	if err := List(&b, p); err != nil || !strings.Contains(b.String(), "a sum means nothing\n  SQ_INSTS_VALU\n") {
		t.Errorf("%v, the list is\n%s", err, b.String())
	}
	for _, name := range []string{"SQ_INSTS_VALU", "sq_insts_valu"} {
		table, err := NewTable(p, Options{Metrics: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		if got := table.Columns[0]; !got.Additive || got.Label != "SQ_INSTS_VALU" {
			t.Errorf("%s: column %+v", name, got)
		}
	}
	if _, err := NewTable(p, Options{Metrics: []string{"SQ_INSTS_VALUE"}}); err == nil || !strings.Contains(err.Error(), "did you mean SQ_INSTS_VALU?") {
		t.Errorf("a wrong name: %v", err)
	}
}

// A wrong name in a profile with many counters does not print them all.
func TestUnknownMetricAmongCounters(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}}
	n := &profile.Node{Name: "k"}
	p.Root.Children = []*profile.Node{n}
	n.Set(profile.CountMetric, profile.IntValue(1))
	count(n, 1, 4096, 4096)
	for asked, want := range map[string]string{
		"dram_raed":  "there is no metric dram_raed in this profile; did you mean dram_read? (proton viewer --list shows all)",
		"nonsensezz": "hardware counters; computed are",
	} {
		_, err := NewTable(p, Options{Metrics: []string{asked}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), readBytes) {
			t.Errorf("%s: %v", asked, err)
		}
	}
}
