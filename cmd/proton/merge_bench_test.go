package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profile/merge"
)

// BenchmarkMergeThousandFiles merges a thousand files of 10,000 nodes, reading included, once per run:
//
//	go test ./cmd/proton -run '^$' -bench MergeThousandFiles -benchtime 1x
//
// It reports the largest resident memory of the process, which holds the sum and one file at a time.
func BenchmarkMergeThousandFiles(b *testing.B) {
	const files, nodes = 1000, 10_000
	for _, by := range []merge.By{merge.None, merge.ByRank} {
		b.Run("by="+string(by), func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "rank.hatchet")
			if err := writeRank(file, nodes); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				m := merging{sum: merge.New(merge.Options{}), who: merge.Identifier{By: by}}
				for range files {
					if err := m.addFile(file); err != nil {
						b.Fatal(err)
					}
				}
				if p := m.sum.Profile(); len(p.Root.Children) != 10 {
					b.Fatalf("the merged root has %d children", len(p.Root.Children))
				}
			}
			var usage unix.Rusage
			if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err == nil {
				b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MiB")
			}
		})
	}
}

// writeRank writes a profile with ten children to a node, of scopes, kernels and what those recorded.
func writeRank(file string, nodes int) error {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive},
		Devices: []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", NumSMs: 132}}}
	queue := []*profile.Node{p.Root}
	for made := 0; made < nodes; made++ {
		parent := queue[made/10]
		n := &profile.Node{Name: fmt.Sprintf("module_%d/kernel_%d_%s", made%977, made%10, strings.Repeat("x", 20))}
		n.Set("time (ns)", profile.IntValue(int64(1000+made)))
		n.Set("count", profile.IntValue(1))
		n.Set("device_id", profile.StringValue("0"))
		n.Set("device_type", profile.StringValue("CUDA"))
		parent.Children = append(parent.Children, n)
		queue = append(queue, n)
	}
	target, err := formats.TargetOf(file, nil)
	if err != nil {
		return err
	}
	return target.WriteFile(file, p)
}

func TestFilesOfTheMergeBenchmark(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rank.hatchet")
	if err := writeRank(file, 200); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() < 10_000 {
		t.Fatalf("the benchmark's file is not what it says: %v %v", info, err)
	}
	m := merging{sum: merge.New(merge.Options{})}
	for range 3 {
		if err := m.addFile(file); err != nil {
			t.Fatal(err)
		}
	}
	nodes, sum := 0, int64(0)
	m.sum.Profile().Root.Walk(func(n *profile.Node, _ int) bool {
		nodes++
		v, _ := n.Metric("time (ns)")
		sum += v.Int()
		return true
	})
	if want := int64(3 * (200*1000 + 199*200/2)); nodes != 201 || sum != want {
		t.Errorf("merged to %d nodes and %d ns, want 201 and %d", nodes, sum, want)
	}
}

func (m *merging) addFile(file string) error {
	p, err := readProfile(file, nil, fromFlag{})
	if err != nil {
		return err
	}
	source, err := m.who.Identify(file, p)
	if err != nil {
		return err
	}
	return m.add(p, source)
}
