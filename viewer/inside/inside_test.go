package inside

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/kernels"
)

// recorded is what an H200 recorded of a matmul.
func recorded(t *testing.T) *profile.Profile {
	t.Helper()
	p, err := formats.ReadFile("../testdata/recorded/inside.hatchet.gz")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func one(t *testing.T, p *profile.Profile) *Kernel {
	t.Helper()
	chosen, others, err := Find(p, "")
	if err != nil || len(chosen) != 1 || len(others) != 0 {
		t.Fatalf("found %d kernels and %d others: %v", len(chosen), len(others), err)
	}
	return chosen[0]
}

// TestSumsOfARecordedKernel derives the figures a second time, from other numbers of the same records.
func TestSumsOfARecordedKernel(t *testing.T) {
	k := one(t, recorded(t))
	own := uint64(0)
	for _, s := range All(k.Scopes) {
		own += s.Own()
		bySM, byWarp := uint64(0), uint64(0)
		for _, share := range s.Data.BySM {
			bySM += share.Amount
		}
		for _, share := range s.Data.ByWarp {
			byWarp += share.Amount
		}
		if bySM != s.Cycles() || byWarp != s.Cycles() || math.Abs(s.Data.Each.Sum()/float64(s.Cycles())-1) > 1e-9 || math.Abs(s.Data.Sums.Sum()/float64(s.Cycles())-1) > 1e-9 {
			t.Errorf("%s: %d cycles; by multiprocessor %d, by warp %d, by the distributions %.0f and %.0f", s.Name, s.Cycles(), bySM, byWarp, s.Data.Each.Sum(), s.Data.Sums.Sum())
		}
	}
	if own != k.Cycles() {
		t.Errorf("own cycles add up to %d, and the outermost scopes have %d", own, k.Cycles())
	}
	block := float64(k.Data.Nanos) / float64(k.Data.Blocks)
	if whole := float64(k.Whole()) / k.Data.Rate() / float64(k.Data.Warps); math.Abs(whole/block-1) > 1e-9 {
		t.Errorf("a block ran %.1f ns, and its warps were there for %.1f ns", block, whole)
	}
	if ratio, known := k.Overhead(); !known || ratio < 1.28 || ratio > 1.30 { // proton run printed x1.290
		t.Errorf("overhead %.3f, %v", ratio, known)
	}
}

// TestScopesLieWithinEachOther checks each scope of each recorded kernel, also of those whose warps are specialised: what is inside of a scope
// is no more than the scope, and its time is that of a warp that runs it, which follows from the distribution of single warps too.
func TestScopesLieWithinEachOther(t *testing.T) {
	scopes, _, _ := attention(t)
	for _, p := range []*profile.Profile{recorded(t), scopes} {
		k := one(t, p)
		if c := k.Cycles(); c > k.Whole() {
			t.Errorf("%s: %d cycles of %d", k.Name, c, k.Whole())
		}
		for _, s := range All(k.Scopes) {
			inner := uint64(0)
			for _, i := range s.Inner {
				inner += i.Cycles()
			}
			if s.Own()+inner > s.Cycles() || s.Cycles() < s.Data.Cycles {
				t.Errorf("%s: %d own cycles and %d inside, of %d", s.Name, s.Own(), inner, s.Cycles())
			}
			low, high := s.Data.Sums.Quantile(0)/k.Data.Rate(), s.Data.Sums.Quantile(1)/k.Data.Rate()
			warps := map[uint32]bool{}
			for _, w := range s.Data.ByWarp {
				warps[w.At] = true
			}
			byWarps := float64(s.Data.Cycles) / k.Data.Rate() / float64(k.Data.Blocks*uint64(len(warps)))
			if at := s.Time(); at < low || at > high || at < byWarps*(1-1e-9) {
				t.Errorf("%s: %.1f ns; single warps took %.1f to %.1f, and %.1f if all blocks ran it", s.Name, at, low, high, byWarps)
			}
		}
	}
}

// TestTimesOfAttention asks for the figures that a reader compares: a block ran 47.36 us, and the scope around everything as long.
func TestTimesOfAttention(t *testing.T) {
	scopes, _, _ := attention(t)
	k := one(t, scopes)
	block := k.Data.Times.Quantile(0.5)
	for _, s := range All(k.Scopes) {
		switch s.Name {
		case "kernel":
			if s.Time() < 0.98*block || s.Time() > 1.01*block || k.Share(s.Cycles()) < 0.94 {
				t.Errorf("the kernel took %.0f ns of %.0f, %.3f of its cycles", s.Time(), block, k.Share(s.Cycles()))
			}
		case "partition0":
			if s.Time() < 39e3 || s.Time() > 42.5e3 {
				t.Errorf("partition0 took %.0f ns", s.Time())
			}
		}
	}
}

// TestCallPathsAddUp launches the kernel from a second place.
func TestCallPathsAddUp(t *testing.T) {
	single, double := recorded(t), recorded(t)
	again := recorded(t)
	again.Root.Name = "a scope of the program"
	double.Root.Children = append(double.Root.Children, again.Root)
	a, b := one(t, single), one(t, double)
	was, is := All(a.Scopes), All(b.Scopes)
	if len(was) != len(is) || b.Data.Blocks != 2*a.Data.Blocks {
		t.Fatalf("%d scopes in %d blocks of one call path, %d in %d of two", len(was), a.Data.Blocks, len(is), b.Data.Blocks)
	}
	for i := range was {
		if is[i].Cycles() != 2*was[i].Cycles() || is[i].Data.Count() != 2*was[i].Data.Count() || math.Abs(a.Share(was[i].Cycles())-b.Share(is[i].Cycles())) > 1e-12 {
			t.Errorf("%s: %d cycles of one call path, %d of two", was[i].Name, was[i].Cycles(), is[i].Cycles())
		}
	}
	if one(t, single).Cycles() != a.Cycles() {
		t.Error("the profile was changed")
	}
}

// TestScopesWithoutTimes has an outer scope whose records were all overwritten.
func TestScopesWithoutTimes(t *testing.T) {
	p := recorded(t)
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		if n.Name == "loop:23" {
			n.Inside = nil
		}
		return true
	})
	for _, s := range All(one(t, p).Scopes) {
		if s.Name == "loop:23" && (s.Data != nil || s.Cycles() != 18438149+58011532+23532246+45104407+43666629 || s.Own() != 0) {
			t.Errorf("the loop has %d cycles, %d of its own", s.Cycles(), s.Own())
		}
	}
	var b bytes.Buffer
	if _, err := Write(&b, p, "", Options{}); err != nil || !regexp.MustCompile(`(?m)^ *44.2% .* 189M +- +- +- +- +- +- +- +├─ loop:23$`).MatchString(b.String()) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestImbalance(t *testing.T) {
	by := []profile.InsideShare{{At: 3, Amount: 10}, {At: 4, Amount: 30}, {At: 9, Amount: 20}}
	for _, c := range []struct {
		multiprocessors int
		want            float64
	}{{0, 1.5}, {3, 1.5}, {6, 3}} {
		if got, busiest := Imbalance(by, c.multiprocessors); got != c.want || busiest != 4 {
			t.Errorf("%d multiprocessors: %g, the busiest is %d", c.multiprocessors, got, busiest)
		}
	}
	if got, _ := Imbalance(nil, 0); got == got {
		t.Errorf("of nothing: %g", got)
	}
}

// TestAnyProfileIsPrinted cuts recorded profiles into pieces: whatever is missing, every width has a table, and JSON stays JSON.
func TestAnyProfileIsPrinted(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	for range 200 {
		p := recorded(t)
		p.Root.Walk(func(n *profile.Node, _ int) bool {
			if n.Inside == nil || random.IntN(3) > 0 {
				return true
			}
			switch s := n.Inside.Scope; {
			case s == nil:
				n.Inside.Kernel = &profile.InsideKernel{Warps: random.Uint64N(2), Cycles: random.Uint64N(2), Losses: profile.InsideLosses{Overwritten: random.Uint64N(3), Launches: random.Uint64N(2)}}
			case random.IntN(2) == 0:
				n.Inside = nil
			default:
				n.Inside.Scope = &profile.InsideScope{Cycles: random.Uint64(), Lines: []profile.InsideLine{{File: "a\x1b[31m", Line: random.IntN(7) - 1}, {File: "b", Line: math.MaxInt - random.IntN(2)}}}
				n.Name = "\x1b]0;" + n.Name
			}
			return true
		})
		o := Options{Terminal: viewer.Terminal{Width: random.IntN(200), ASCII: random.IntN(2) == 0}, Source: random.IntN(2) == 0, Files: kernels.NoFiles()}
		o.Files.Add("a\x1b[31m", 1, "def f(x):\n\tfor i in x:\n\n\t\ty[0](\x1b[31m\n\t\t\t0)\n")
		var b bytes.Buffer
		_, err := Write(&b, p, "", o)
		if err != nil || strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "NaN") {
			t.Fatalf("%v\n%s", err, b.String())
		}
		b.Reset()
		if err := WriteJSON(&b, p, "", o); err != nil || !json.Valid(b.Bytes()) {
			t.Fatalf("%v\n%s", err, b.String())
		}
	}
}

// TestJSONIsDocumented finds every key of the document in docs/viewer.md.
func TestJSONIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/viewer.md")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, recorded(t), "", Options{}); err != nil {
		t.Fatal(err)
	}
	scopes, samples, files := attention(t)
	if err := WriteJSON(&b, scopes, "", Options{Files: files, Samples: samples, Source: true}); err != nil {
		t.Fatal(err)
	}
	for _, key := range regexp.MustCompile(`"([a-z_0-9]+)":`).FindAllStringSubmatch(regexp.MustCompile(`("reasons"|"losses"):{[^}]*}`).ReplaceAllString(b.String(), "$1:{}"), -1) {
		if !regexp.MustCompile("[`.]" + key[1] + "`").Match(page) {
			t.Errorf("docs/viewer.md does not have `%s`", key[1])
		}
	}
}
