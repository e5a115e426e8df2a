package merge

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// TestSampledAndCounted: counts by line join the samples of another run, in either order, and change neither how these were taken nor how many there are.
func TestSampledAndCounted(t *testing.T) {
	sampled, counted := sampledRun(1), sampledRun(2)
	counted.Sampling.Mode, counted.Sampling.Period, counted.Sampling.Total = profile.CountedByLine, 0, 0
	for i, reason := range counted.Sampling.Reasons {
		counted.Sampling.Reasons[i] = "smsp__sass_" + reason
	}
	want := perInstruction(sampled, counted)
	for _, files := range [][]*profile.Profile{{sampled, counted}, {counted, sampled}} {
		var notes []string
		sum := all(t, Options{Note: func(n string) { notes = append(notes, n) }}, None, files...)
		if s := sum.Sampling; s.Mode != "continuous" || s.Period != 1024 || s.Total != sampled.Sampling.Total || len(notes) > 0 {
			t.Errorf("mode %s, every %d, %d samples, notes %q", s.Mode, s.Period, s.Total, notes)
		}
		if got := perInstruction(sum); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// sampledRun is a run whose tables are in an order of its own: the same function and reason have other numbers.
func sampledRun(seed uint64) *profile.Profile {
	r := rand.New(rand.NewPCG(seed, 7))
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{}, Sampling: &profile.Sampling{Mode: "continuous", Period: 1024}}
	s := p.Sampling
	for _, at := range r.Perm(3) {
		s.Reasons = append(s.Reasons, []string{"wait", "selected", "barrier"}[at])
	}
	for _, at := range r.Perm(4)[:1+r.IntN(4)] {
		f := profile.SampledFunction{Name: []string{"f", "f", "g", "h"}[at], Module: []string{"01", "02", "01", ""}[at], Index: at}
		if r.IntN(2) == 0 {
			f.Arch, f.Size = "90", 64
			for pc := range uint64(4) {
				f.Places = append(f.Places, profile.Place{Offset: 16 * pc, Frames: []profile.SourceFrame{{File: "a.py", Line: int(pc), Func: f.Name}}})
			}
		}
		s.Functions = append(s.Functions, f)
	}
	for _, name := range []string{"x", "y"} {
		n := &profile.Node{Name: name}
		for at := range s.Functions {
			f := profile.FunctionSamples{Function: at}
			for pc := range uint64(4) {
				stall := profile.Stall{Reason: uint16(r.IntN(3)), Samples: 1 + r.Uint64N(9), NotIssued: r.Uint64N(2)}
				f.PCs = append(f.PCs, profile.PCSamples{Offset: 16 * pc, Stalls: []profile.Stall{stall}})
				s.Total += stall.Samples
			}
			n.Samples = append(n.Samples, f)
		}
		p.Root.Children = append(p.Root.Children, n)
	}
	p.AddLines()
	return p
}

// perInstruction counts samples by what they mean, whatever the numbers are.
func perInstruction(files ...*profile.Profile) map[string]uint64 {
	type key = string
	sums := map[key]uint64{}
	for _, p := range files {
		p.Root.Walk(func(n *profile.Node, _ int) bool {
			for _, f := range n.Samples {
				of := p.Sampling.Functions[f.Function]
				for _, pc := range f.PCs {
					for _, s := range pc.Stalls {
						name := n.Name + " " + of.Module + " " + of.Name + " " + p.Sampling.Reasons[s.Reason] + " " + string(rune('0'+pc.Offset/16))
						sums[name] += s.Samples
						sums[name+" idle"] += s.NotIssued
					}
				}
			}
			return true
		})
	}
	return sums
}

func TestSamplesAddUp(t *testing.T) {
	for seed := range uint64(100) {
		a, b, c := sampledRun(3*seed), sampledRun(3*seed+1), sampledRun(3*seed+2)
		want := perInstruction(a, b, c)
		before := profiletest.Text(a)
		sum := all(t, Options{}, None, a, b, c)
		got := perInstruction(sum)
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d instructions, want %d", seed, len(got), len(want))
		}
		for key, n := range want {
			if got[key] != n {
				t.Errorf("seed %d: %s has %d samples, want %d", seed, key, got[key], n)
			}
		}
		if total := a.Sampling.Total + b.Sampling.Total + c.Sampling.Total; sum.Sampling.Total != total {
			t.Errorf("seed %d: a total of %d, want %d", seed, sum.Sampling.Total, total)
		}
		if profiletest.Text(a) != before {
			t.Errorf("seed %d: merging changed a source", seed)
		}
		again := all(t, Options{}, None, all(t, Options{}, None, a, b), c)
		if profiletest.Text(again) != profiletest.Text(sum) {
			t.Errorf("seed %d: merging in two steps gives\n%s\nwant\n%s", seed, profiletest.Text(again), profiletest.Text(sum))
		}
	}
}

func TestSamplesOfAnotherInterval(t *testing.T) {
	a, b := sampledRun(1), sampledRun(2)
	b.Sampling.Period = 4096
	var notes []string
	sum := all(t, Options{Note: func(n string) { notes = append(notes, n) }}, None, a, &profile.Profile{Root: &profile.Node{Name: "ROOT"}}, b)
	want := "2.hatchet was sampled every 4096 cycles and others every 1024: their samples are added up but do not stand for the same time"
	if len(notes) != 1 || notes[0] != want || sum.Sampling.Period != 1024 {
		t.Errorf("notes %q, period %d", notes, sum.Sampling.Period)
	}
}
