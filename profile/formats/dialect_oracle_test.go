package formats_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer/idle"
)

// What is read of a timeline is what happened, in the dialect of every writer.
func TestDialects(t *testing.T) {
	for _, d := range All {
		t.Run(d.Name, func(t *testing.T) {
			for seed := range uint64(60) {
				m := Random(rand.New(rand.NewPCG(seed, 9)), d)
				if !check(t, d, m, seed) {
					return
				}
			}
		})
	}
}

func check(t *testing.T, d *Dialect, m *Model, seed uint64) bool {
	want := d.Meaning(m)
	if len(want) == 0 {
		return true
	}
	p, err := formats.Read(bytes.NewReader(d.Write(m)))
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return false
	}
	got := sums(p)
	bad := 0
	for path, w := range want {
		if got[path] != w {
			t.Errorf("seed %d: at %s there is\n%+v, want\n%+v", seed, path, got[path], w)
			bad++
		}
	}
	for path, g := range got {
		if _, expected := want[path]; !expected {
			t.Errorf("seed %d: at %s there is\n%+v, want nothing", seed, path, g)
			bad++
		}
	}
	if bad > 0 {
		return false
	}
	var busy []int64
	for _, device := range idle.Find(p.Timeline, 0).Devices {
		busy = append(busy, device.Busy)
	}
	slices.Sort(busy)
	if w := m.Busy(); !slices.Equal(busy, w) {
		t.Errorf("seed %d: GPUs are busy for %d ns, want %d", seed, busy, w)
		return false
	}
	return true
}

func sums(p *profile.Profile) map[string]Sums {
	found := map[string]Sums{}
	var path []string
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		path = append(path[:depth], n.Name)
		value := func(metric string) int64 {
			v, _ := n.Metric(metric)
			f, _ := v.Float()
			return int64(f)
		}
		s := Sums{Time: value(profile.TimeMetric), Count: value(profile.CountMetric), CPUTime: value(profile.CPUTimeMetric),
			WaitTime: value(profile.SyncTimeMetric), WaitCount: value(profile.SyncCountMetric), Bytes: value(profile.BytesMetric)}
		if s != (Sums{}) {
			found[strings.Join(path, " > ")] = s
		}
		return true
	})
	return found
}

// TestWriteDialects leaves a file of each dialect in a folder, for tools/realworld.sh.
func TestWriteDialects(t *testing.T) {
	folder := os.Getenv("GOPROTON_DIALECTS")
	if folder == "" {
		t.Skip("GOPROTON_DIALECTS names no folder")
	}
	for i, d := range All {
		m := Random(rand.New(rand.NewPCG(uint64(i), 9)), d)
		for seed := uint64(i); len(d.Meaning(m)) == 0; seed++ {
			m = Random(rand.New(rand.NewPCG(seed, 9)), d)
		}
		name := filepath.Join(folder, fmt.Sprintf("%s-%d%s", d.Name, i%3, d.File))
		if err := os.WriteFile(name, d.Write(m), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
