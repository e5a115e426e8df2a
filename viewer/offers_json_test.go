package viewer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestListJSON reads the document that --list --json promises, and compares it with what Metrics lists.
func TestListJSON(t *testing.T) {
	p := model()
	var text bytes.Buffer
	if err := ListJSON(&text, p); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema  string
		Metrics []Metric
	}
	if err := json.Unmarshal(text.Bytes(), &doc); err != nil {
		t.Fatalf("%v:\n%s", err, text.Bytes())
	}
	want := Metrics(p)
	if doc.Schema != "goproton.metrics/1" || len(doc.Metrics) != len(want) || len(want) == 0 {
		t.Fatalf("schema %q and %d metrics, want %d", doc.Schema, len(doc.Metrics), len(want))
	}
	for i := range want {
		if doc.Metrics[i] != want[i] {
			t.Errorf("metric %d is %+v, want %+v", i, doc.Metrics[i], want[i])
		}
	}
	text.Reset()
	if err := ListJSON(&text, &profile.Profile{Root: &profile.Node{}}); err != nil || !json.Valid(text.Bytes()) {
		t.Errorf("a profile without metrics: %v\n%s", err, text.Bytes())
	}
}

// What counts copies and fills does not speak of kernels alone.
func TestStatisticsNameCopiesAndFills(t *testing.T) {
	p := tree("kernel time=900\n<memset> time=2\n<memcpy HtoD> time=5000")
	for _, n := range p.Root.Children {
		v, _ := n.Metric("time (ns)")
		n.Times = &profile.Sketch{}
		n.Times.Add(uint64(v.Int()))
	}
	for _, m := range Metrics(p) {
		if kernels := strings.Contains(m.About, "kernel"); kernels && strings.HasSuffix(m.Name, "_time") && m.Name != "roof_time" && !strings.Contains(m.About, "cop") {
			t.Errorf("%s is called %q", m.Name, m.About)
		}
	}
	table, err := NewTable(p, Options{Metrics: []string{"min_time/ns", "max_time/ns"}})
	if err != nil {
		t.Fatal(err)
	}
	for r := range table.All() {
		if r.Depth == 0 && (r.Values[0] != 2 || r.Values[1] != 5000) {
			t.Errorf("the root's times are from %v to %v", r.Values[0], r.Values[1])
		}
	}
}
