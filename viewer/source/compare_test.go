package source

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// compareModels compares a profile with one that has half of the samples of matmul's loads, twice of its other lines, none of
// the first inlined, other numbers for the reasons, and another period.
func compareModels(t *testing.T, o CompareOptions) (*Comparison, error) {
	t.Helper()
	a, b := model(t), model(t)
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
	return Compare(a, b, o)
}

func reversed(names []string) (out []string) {
	for i := range names {
		out = append(out, names[len(names)-1-i])
	}
	return out
}

// Every sample of both sides is in the comparison once: by kernel, by line, by reason.
func TestComparisonHasEverySampleOnce(t *testing.T) {
	c, err := compareModels(t, CompareOptions{Options: Options{Kernel: "."}})
	if err != nil {
		t.Fatal(err)
	}
	for side, s := range c.Sides {
		sum, names := uint64(0), map[string]uint64{}
		for _, k := range c.Kernels {
			lines := k.Unplaced[side].Samples
			for _, l := range k.Lines {
				lines += l.Counts[side].Samples
			}
			if lines != k.Counts[side].Samples {
				t.Errorf("side %d: the lines of %s have %d samples of %d", side, k.Name, lines, k.Counts[side].Samples)
			}
			sum += lines
			for i, n := range k.Counts[side].Reasons {
				names[c.reasons[i]] += n
			}
		}
		if sum != s.Total {
			t.Errorf("side %d has %d samples, and in the comparison %d", side, s.Total, sum)
		}
		for _, k := range s.Kernels {
			for i, n := range k.Reasons {
				names[s.reasons[i]] -= n
			}
		}
		for _, k := range s.Others {
			for i, n := range k.Reasons {
				names[s.reasons[i]] -= n
			}
		}
		for name, left := range names {
			if left != 0 {
				t.Errorf("side %d: reason %s is off by %d", side, name, int64(left))
			}
		}
	}
	if n := len(c.Kernels); n != 4 { // matmul, inlined (two functions), second, first
		t.Errorf("%d kernels", n)
	}
	if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, "compare shares, not numbers of samples") {
		t.Errorf("other periods are not said: %s", notes)
	}
}

func TestComparisonOfAKernelPrintsItsLines(t *testing.T) {
	c, err := compareModels(t, CompareOptions{Options: Options{Kernel: "^matmul$"}, Files: [2]*Files{sources(), sources()}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := PrintComparison(&b, c, [2]*Files{sources(), sources()}, viewer.Terminal{Width: 110}); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/compare.txt", b.Bytes())
}

// A kernel that only one side has, and one that was renamed.
func TestComparisonOfRenamedKernels(t *testing.T) {
	a, b := model(t), model(t)
	for i := range b.Sampling.Functions {
		if f := &b.Sampling.Functions[i]; f.Name == "first" {
			f.Name = "first_v2"
		}
	}
	c, err := Compare(a, b, CompareOptions{Options: Options{Kernel: "^first"}})
	if err != nil || len(c.Kernels) != 2 || c.Kernels[0].Counts[0].Samples+c.Kernels[0].Counts[1].Samples != c.Kernels[1].Counts[0].Samples+c.Kernels[1].Counts[1].Samples {
		t.Fatalf("%+v, %v", c, err)
	}
	cut := func(name string) string { return strings.TrimSuffix(name, "_v2") }
	c, err = Compare(a, b, CompareOptions{Options: Options{Kernel: "^first"}, Rename: cut})
	if err != nil || len(c.Kernels) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, l := range c.Kernels[0].Lines {
		if before, after := c.Kernels[0].Shares(l.Counts); before != after {
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
