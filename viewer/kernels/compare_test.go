package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// compareModels returns a profile, and one with twice the samples in matmul's lines but 48, other numbers for the reasons, and another period.
func compareModels(t *testing.T) (a, b *profile.Profile) {
	t.Helper()
	a, b = model(t), model(t)
	last := uint16(len(b.Sampling.Reasons) - 1)
	b.Sampling.Reasons = reversed(b.Sampling.Reasons)
	b.Sampling.Period *= 2
	b.Root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Samples {
			f := &b.Sampling.Functions[n.Samples[i].Function]
			for j := range n.Samples[i].PCs {
				pc := &n.Samples[i].PCs[j]
				frames := f.At(pc.Offset)
				for s := range pc.Stalls {
					pc.Stalls[s].Reason = last - pc.Stalls[s].Reason
					if f.Name == "matmul" && len(frames) > 0 && frames[len(frames)-1].Line != 48 {
						pc.Stalls[s].Samples *= 2
					}
				}
			}
		}
		return true
	})
	return a, b
}

func comparison(t *testing.T, a, b *profile.Profile, o CompareOptions) *Comparison {
	t.Helper()
	c, err := CompareSamples([2]*Run{collect(t, Options{Profile: a}), collect(t, Options{Profile: b})}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func reversed(names []string) (out []string) {
	for i := range names {
		out = append(out, names[len(names)-1-i])
	}
	return out
}

// Every sample of both sides is in the comparison once: by kernel, by line, by reason.
func TestComparisonHasEverySampleOnce(t *testing.T) {
	a, b := compareModels(t)
	c := comparison(t, a, b, CompareOptions{Kernel: "."})
	for side, r := range c.Sides {
		s := r.Samples
		of := func(old, new Counts) Counts { return [2]Counts{old, new}[side] }
		sum, names := uint64(0), map[string]uint64{}
		for _, k := range c.Kernels {
			lines, all := of(k.OldUnplaced, k.Unplaced).Samples, of(k.Old, k.Counts)
			for _, l := range k.Lines {
				lines += of(l.Old, l.Counts).Samples
			}
			if lines != all.Samples {
				t.Errorf("side %d: the lines of %s have %d samples of %d", side, k.Name, lines, all.Samples)
			}
			sum += lines
			for i, n := range all.Reasons {
				names[c.Joint.Reasons[i]] += n
			}
		}
		if sum != s.Total {
			t.Errorf("side %d has %d samples, and in the comparison %d", side, s.Total, sum)
		}
		for _, f := range s.AllFunctions() {
			for i, n := range f.Reasons {
				names[s.Reasons[i]] -= n
			}
		}
		for name, left := range names {
			if left != 0 {
				t.Errorf("side %d: reason %s is off by %d", side, name, int64(left))
			}
		}
	}
	if n := len(c.Kernels); n != 5 { // matmul, inlined (two compilations), second, first
		t.Errorf("%d kernels", n)
	}
	if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, "compare shares, not numbers of samples") {
		t.Errorf("other periods are not said: %s", notes)
	}
}

// TestSamplesAreNotComparedWithCounts: a line that executes much need not take much time.
func TestSamplesAreNotComparedWithCounts(t *testing.T) {
	counted := model(t)
	counted.Sampling.Mode = profile.CountedByLine
	counted.Sampling.Reasons = slices.Repeat([]string{instructionsCounter}, len(counted.Sampling.Reasons))
	runs, err := CollectPair([2]Options{{Profile: model(t), Kernel: "."}, {Profile: counted, Kernel: "."}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CompareSamples(runs, CompareOptions{}); err == nil || !strings.Contains(err.Error(), "A has samples by line and B has instructions, which cannot") {
		t.Error(err)
	}
	if c, err := CompareSamples([2]*Run{runs[1], runs[1]}, CompareOptions{}); err != nil || c.Joint.Unit != "instruction" {
		t.Error(err)
	}
}

// A kernel that only one side has, and one that was renamed.
func TestComparisonOfRenamedKernels(t *testing.T) {
	a, b := model(t), model(t)
	for i := range b.Sampling.Functions {
		if f := &b.Sampling.Functions[i]; f.Name == "first" {
			f.Name = "first_v2"
		}
	}
	c := comparison(t, a, b, CompareOptions{Kernel: "^first"})
	if len(c.Kernels) != 2 || c.Kernels[0].Old.Samples+c.Kernels[0].Samples != c.Kernels[1].Old.Samples+c.Kernels[1].Samples {
		t.Fatalf("%+v", c)
	}
	cut := func(name string) string { return strings.TrimSuffix(name, "_v2") }
	c = comparison(t, a, b, CompareOptions{Kernel: "^first", Rename: cut})
	if len(c.Kernels) != 1 {
		t.Fatalf("%+v", c)
	}
	for _, l := range c.Kernels[0].Lines {
		if before, after := c.Kernels[0].Shares(l.Old, l.Counts); before != after {
			t.Errorf("line %d: %v, %v", l.Number, before, after)
		}
	}
}

// What aligned finds is a common subsequence, and none is longer.
func TestAligned(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() (lines []string) {
		for range random.IntN(9) {
			lines = append(lines, fmt.Sprint(random.IntN(4)))
		}
		return lines
	}
	for range 2000 {
		a, b := text(), text()
		to := aligned(a, b)
		length, before := 0, 0
		for i, line := range to {
			if line == 0 {
				continue
			}
			if line <= before || a[i-1] != b[line-1] {
				t.Fatalf("%v, %v: %v", a, b, to)
			}
			length, before = length+1, line
		}
		if best := longestCommon(a, b); length != best {
			t.Fatalf("%v, %v: %v has %d of %d", a, b, to, length, best)
		}
	}
	long := make([]string, 1<<12)
	for i := range long {
		long[i] = fmt.Sprint(i)
	}
	if aligned(long, reversed(long)) != nil {
		t.Error("texts with nothing in common were compared in a table without bounds")
	}
}

func longestCommon(a, b []string) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return 1 + longestCommon(a[1:], b[1:])
	}
	return max(longestCommon(a[1:], b), longestCommon(a, b[1:]))
}

// compilations is a profile with functions of one name, with samples for one reason each.
func compilations(functions []profile.SampledFunction, samples ...uint64) *profile.Profile {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Sampling: &profile.Sampling{Reasons: []string{"wait", "barrier", "drain"}, Functions: functions}}
	for i, n := range samples {
		p.Root.Samples = append(p.Root.Samples, profile.FunctionSamples{
			Function: i, PCs: []profile.PCSamples{{Stalls: []profile.Stall{{Reason: uint16(i % 3), Samples: n}}}},
		})
	}
	return p
}

// TestCompilationsAreComparedEach: a kernel that was compiled several times has a row for each compilation. Counterparts are of one binary, else
// with equal code, else of the same rank; and what has none stands alone.
func TestCompilationsAreComparedEach(t *testing.T) {
	a := compilations([]profile.SampledFunction{{Name: "k", Module: "a"}, {Name: "k", Module: "b"}, {Name: "k", Module: "c", Arch: "90", Registers: 72}, {Name: "k", Module: "d"}}, 9, 5, 3, 1)
	b := compilations([]profile.SampledFunction{{Name: "k", Module: "x"}, {Name: "k", Module: "a"}, {Name: "k", Module: "y", Arch: "90", Registers: 72}}, 8, 2, 7)
	for _, c := range []struct {
		a, b *profile.Profile
		want string
	}{
		{a, b, "a-a 9 2, b-x 5 8, c-y 3 7, d- 1 0"},
		{b, a, "x-b 8 5, y-c 7 3, a-a 2 9, -d 0 1"},
		{a, a, "a-a 9 9, b-b 5 5, c-c 3 3, d-d 1 1"},
	} {
		compared := comparison(t, c.a, c.b, CompareOptions{Kernel: "."})
		var rows []string
		for _, k := range compared.Kernels {
			modules := [2]string{}
			for side, f := range k.Sides {
				if f != nil {
					modules[side] = f.Symbol.Module
				}
			}
			rows = append(rows, fmt.Sprintf("%s-%s %d %d", modules[0], modules[1], k.Old.Samples, k.Samples))
		}
		want := strings.Split(c.want, ", ")
		slices.Sort(rows)
		slices.Sort(want)
		if !slices.Equal(rows, want) {
			t.Errorf("got %q, want %q", rows, want)
		}
	}
}

// TestReasonsOfVariants: functions of one kernel, and lines of one function, need not have the same stall reasons.
func TestReasonsOfVariants(t *testing.T) {
	p := compilations([]profile.SampledFunction{{Name: "k", Module: "a"}, {Name: "k", Module: "b"}}, 9, 5)
	all := comparison(t, p, p, CompareOptions{Kernel: "."}).Kernels
	for i, want := range [][]uint64{{9, 0}, {0, 5}} {
		if k := all[i]; !slices.Equal(k.Reasons[:2], want) || !slices.Equal(k.Old.Reasons[:2], want) {
			t.Errorf("the reasons have %v and %v samples, want %v", k.Old.Reasons, k.Reasons, want)
		}
	}
}
