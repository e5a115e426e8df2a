package tree_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
)

// A file may declare any kind for a metric, also one that its values cannot have.
func TestTextIsAProperty(t *testing.T) {
	const node = `[{"frame":{"name":"ROOT"},"metrics":{"device_id":1},"kinds":{"text":%q,"device_id":%[1]q},"children":[{"frame":{"name":"k"},"metrics":{"text":"x"},"children":[]}]}]`
	for _, kind := range []profile.Kind{profile.Exclusive, profile.Inclusive, profile.Property} {
		file := fmt.Sprintf(node, kind)
		fromHatchet, err := hatchet.Read(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if got := fromHatchet.Kinds; got["text"] != profile.Property || got["device_id"] != kind {
			t.Errorf("%v: %v", kind, got)
		}
	}
}

// A metric of ours may have a name that llnl-hatchet gives the sums of another.
func TestNamesOfHatchetsSums(t *testing.T) {
	root := &profile.Node{Name: "ROOT", Metrics: []profile.Metric{{Name: "x", Value: profile.IntValue(1)}, {Name: "x (inc)", Value: profile.IntValue(7)}}}
	var file bytes.Buffer
	if err := hatchet.Write(&file, &profile.Profile{Root: root, Kinds: profile.Kinds{"x": profile.Inclusive, "x (inc)": profile.Inclusive}}); err != nil {
		t.Fatal(err)
	}
	back, err := hatchet.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := back.Root.Metric("x (inc)"); v.Int() != 7 {
		t.Errorf("read back: %v", back.Root.Metrics)
	}
}
