package formats

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// deep is a single call path of that many frames, ROOT included. Every thousandth frame and the last have a metric.
func deep(frames int) *profile.Profile {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "device_id": profile.Property}}
	n := p.Root
	for i := 1; i < frames; i++ {
		c := &profile.Node{Name: "f"}
		if i%1000 == 0 || i == frames-1 {
			c.Set("time (ns)", profile.IntValue(int64(i)))
			c.Times = &profile.Sketch{}
			c.Times.Add(uint64(i))
			c.Set("device_id", profile.StringValue("0"))
		}
		n.Children = []*profile.Node{c}
		n = c
	}
	return p
}

// shape is how deep a tree is and what its times add up to.
func shape(p *profile.Profile) (frames int, total int64) {
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		frames = max(frames, depth+1)
		v, _ := n.Metric("time (ns)")
		total += v.Int()
		if v.Int() == 0 { // the name that collapsed stacks give it
			v, _ = n.Metric("samples")
			total += v.Int()
		}
		return true
	})
	return frames, total
}

// TestDeepTreesAreFolded writes call paths that are deeper than any reader takes. Each format's own reader reads the file,
// and nothing is missing from the sum; the profile that was written is as it was.
func TestDeepTreesAreFolded(t *testing.T) {
	for _, f := range All() {
		if f.Holds&Tree == 0 || f.Write == nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			p := deep(profile.MaxDepth + 2500)
			frames, total := shape(p)
			back, err := roundTrip(f, p)
			if err != nil {
				t.Fatal(err)
			}
			if gotFrames, got := shape(back); got != total || gotFrames > profile.MaxDepth+1 || gotFrames < profile.MaxDepth {
				t.Errorf("%d frames and a time of %d come back, want %d and %d", gotFrames, got, profile.MaxDepth, total)
			}
			if again, _ := shape(p); again != frames {
				t.Errorf("writing changed the profile: it has %d frames, had %d", again, frames)
			}
			if f.Holds&Info != 0 && !strings.Contains(back.Info[profile.InfoIncomplete], "2500 deeper ones are added up") {
				t.Errorf("the profile says %q of that", back.Info[profile.InfoIncomplete])
			}
			if said := strings.Join(f.Drops(p), "\n"); !strings.Contains(said, "2,500 frames deeper than 10,000") {
				t.Errorf("Drops says %q", said)
			}
			if said := strings.Join(f.Drops(deep(profile.MaxDepth)), "\n"); strings.Contains(said, "deeper") {
				t.Errorf("of a tree that fits Drops says %q", said)
			}
		})
	}
}

// TestTreesGrowLinearly: a file of a tree twice as deep is about twice as large.
func TestTreesGrowLinearly(t *testing.T) {
	for _, name := range []string{"hatchet", "hatchet_msgpack"} {
		f, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		size := func(frames int) int {
			var file bytes.Buffer
			if err := f.Write(&file, deep(frames)); err != nil {
				t.Fatal(err)
			}
			return file.Len()
		}
		once, twice := size(4000), size(8000)
		if twice > 2*once+once/10 || once > 4000*200 {
			t.Errorf("%s: %d bytes for 4000 frames, %d for 8000", name, once, twice)
		}
	}
}

// TestManyMetricsAreCut writes a frame with more metrics than a reader takes, and a tree whose frames have more names of metrics
// together than one frame may have. Each format's own reader reads the file.
func TestManyMetricsAreCut(t *testing.T) {
	wide := &profile.Node{Name: "wide"}
	spread := &profile.Node{Name: "spread"}
	for i := range profile.MaxMetrics + 500 {
		name := fmt.Sprintf("m%05d", i)
		wide.Metrics = append(wide.Metrics, profile.Metric{Name: name, Value: profile.IntValue(1)})
		spread.Children = append(spread.Children, &profile.Node{Name: name, Metrics: []profile.Metric{{Name: name, Value: profile.IntValue(1)}}})
	}
	for _, f := range []string{"hatchet", "hatchet_msgpack"} {
		for _, n := range []*profile.Node{wide, spread} {
			t.Run(f+"/"+n.Name, func(t *testing.T) {
				p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{n}}, Kinds: profile.Kinds{}}
				for i := range wide.Metrics {
					p.Kinds[wide.Metrics[i].Name] = profile.Inclusive
				}
				format, err := ByName(f)
				if err != nil {
					t.Fatal(err)
				}
				var file bytes.Buffer
				if err := format.Write(&file, p); err != nil {
					t.Fatal(err)
				}
				back, err := Read(&file)
				if err != nil {
					t.Fatal(err)
				}
				cut := n == wide
				if said := strings.Join(format.Drops(p), "\n"); strings.Contains(said, "500 metrics of frames with more than 4,096") != cut {
					t.Errorf("dropped: %s", said)
				}
				if said := back.Info[profile.InfoIncomplete]; strings.Contains(said, "500 more are left out") != cut {
					t.Errorf("incomplete: %s", said)
				}
				last := fmt.Sprintf("m%05d", profile.MaxMetrics+499)
				if !cut && back.Kinds[last] != profile.Inclusive {
					t.Errorf("%s is %s", last, back.Kinds[last])
				}
			})
		}
	}
}
