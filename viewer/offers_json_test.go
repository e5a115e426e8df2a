package viewer

import (
	"bytes"
	"encoding/json"
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
