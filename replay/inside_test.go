package replay

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// scopesOf is a capture of one launch of a kernel with a scope, whose record comes before or after what the scope left.
func scopesOf(recordFirst bool) events {
	k := &inside.Kernel{Name: "add", Warps: 1, BufferSize: 64, SlotSize: hotpathtest.SlotSize(1, 64), Scopes: []inside.Scope{{ID: 0, Name: "load", Parent: -1}}}
	block := hotpathtest.InsideBlock{SM: 5, Init: 1000, PreFinal: 1500, Warps: map[int][]hotpathtest.InsideRecord{0: {hotpathtest.InsideIn(0, 10), hotpathtest.InsideOut(0, 460)}}}
	table, _ := json.Marshal(k)
	slots := hotpathtest.InsideBuffer(k, 0, []hotpathtest.InsideBlock{block, block})
	left := append(numbers(2, 2, 1, 1, 1, 0, 7, 41), slots...)
	record := buffer(kernelKind, kernelSize, kernelName, kernelWith(1))
	e := program(String, table)
	if recordFirst {
		return e.add(Buffer, 2, record).add(Inside, 3, left)
	}
	return e.add(Inside, 3, left).add(Buffer, 2, record)
}

// A replay puts the scopes inside of a launch below its kernel, whatever comes first.
func TestScopesInsideOfAReplay(t *testing.T) {
	built(t)
	for _, recordFirst := range []bool{false, true} {
		folder := t.TempDir()
		o := playWithEnv(t, scopesOf(recordFirst), map[string]string{"name": folder + "/out"})
		if o.check(t); !o.ok {
			t.Fatal(o.text)
		}
		p, err := formats.ReadFile(filepath.Join(folder, "out.hatchet"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := outline(p), "ROOT  count 0  time (ns) 0\n  add  count 1  time (ns) 700\n    load  cycles 900  normalized_cycles 450\n"; got != want {
			t.Errorf("record first %v: got\n%s\nwant\n%s", recordFirst, got, want)
		}
	}
}

// What a launch left may be anything.
func TestHostileScopes(t *testing.T) {
	built(t)
	for _, payload := range [][]byte{nil, numbers(1, 1), numbers(1, 1<<40, 1<<40, 1, 1, 1<<63, 0, 41), append(numbers(1, 2, 1, 1, 1, 0, 0, 41), make([]byte, 900)...)} {
		playBytes(t, program(Inside, payload), "").check(t)
	}
	plain := scopesOf(true)
	for seed := range uint64(12) {
		playBytes(t, mutated(plain, seed), "").check(t)
	}
}

// TestRecordedScopes replays a run of an H200 and prints what a person would want to know of it.
func TestRecordedScopes(t *testing.T) {
	p, problems := playWith(t, "attention", map[string]string{"replay": "attention"})
	testkit.Golden(t, "testdata/attention.inside.txt", []byte(insidePage(p)+strings.Join(problems, "\n")))
}

// insidePage prints kernels with scopes: each scope's share of the warps' time, how long a warp was in it, and who was longest.
func insidePage(p *profile.Profile) string {
	var out strings.Builder
	var kernel *profile.InsideKernel
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		switch {
		case n.Inside == nil:
			return true
		case n.Inside.Kernel != nil:
			kernel = n.Inside.Kernel
			time, _ := n.Metric(profile.TimeMetric)
			fmt.Fprintf(&out, "%s: %d launches in %s, %d blocks of %.0f to %.0f ns, %d warps, %.2f cycles a ns, losses: %v\n", n.Name, kernel.Launches,
				figures.Time(uint64(time.Int())), kernel.Blocks, kernel.Times.Quantile(0), kernel.Times.Quantile(1), kernel.Warps, kernel.Rate(), kernel.Losses.Any())
			fmt.Fprintf(&out, "%-20s %6s %7s %7s %7s %7s %7s  %s\n", "scope", "times", "share", "median", "p95", "longest", "warp 0", "begins")
			return true
		}
		s := n.Inside.Scope
		share := float64(s.Cycles) / float64(kernel.Cycles)
		fmt.Fprintf(&out, "%-20s %6d %6.1f%% %7.0f %7.0f %7.0f %6.1f%%  %s:%d\n", strings.Repeat("  ", depth-3)+n.Name, s.Count(), 100*share,
			s.Each.Quantile(0.5), s.Each.Quantile(0.95), s.Each.Quantile(1), 100*float64(s.ByWarp[0].Amount)/float64(s.Cycles), filepath.Base(s.Lines[0].File), s.Lines[0].Line)
		return true
	})
	return out.String()
}
