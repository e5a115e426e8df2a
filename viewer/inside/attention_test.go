package inside

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/kernels"
)

// attention is what two runs of tutorials/inside recorded on an H200: the scopes of the kernel, and its instruction samples.
func attention(t *testing.T) (scopes, samples *profile.Profile, files *kernels.Files) {
	t.Helper()
	read := func(name string) *profile.Profile {
		p, err := formats.ReadFile("../testdata/recorded/attention_" + name + ".hatchet.gz")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	scopes, samples = read("inside"), read("sampled")
	files = &kernels.Files{}
	files.Keep(samples.Sampling.Sources)
	return scopes, samples, files
}

// TestAttention prints the kernel as a reader sees it: by scope, and by line of the source.
func TestAttention(t *testing.T) {
	for _, c := range []struct {
		name    string
		source  bool
		sampled bool
		ascii   bool
		width   int
	}{
		{"scopes", false, true, false, 80},
		{"source", true, true, false, 120},
		{"source.narrow", true, true, false, 80},
		{"source.cycles", true, false, true, 80},
	} {
		scopes, samples, files := attention(t)
		o := Options{Terminal: viewer.Terminal{Width: c.width, ASCII: c.ascii}, Files: files, Source: c.source}
		if c.sampled {
			o.Samples = samples
		}
		var b bytes.Buffer
		notes, err := Write(&b, scopes, "", o)
		if err != nil {
			t.Fatal(err)
		}
		for _, note := range notes {
			b.WriteString("note: " + note + "\n")
		}
		testkit.Golden(t, "testdata/attention."+c.name+".txt", b.String())
	}
}

// TestStallsOfAttention asks of the two runs what the tutorial says: the producer waits for places to be free, and the consumer for matrix
// instructions; and all cycles and samples are there once.
func TestStallsOfAttention(t *testing.T) {
	scopes, samples, files := attention(t)
	k := one(t, scopes)
	s, err := Join(k, samples, files)
	if err != nil {
		t.Fatal(err)
	}
	own, sampled := uint64(0), uint64(0)
	most := map[string]string{}
	for _, p := range s.Parts {
		own, sampled = own+p.Own, sampled+p.Samples
		for _, scope := range p.Scopes {
			if waits := s.facts.Waits(p.Counts); len(waits) > 0 {
				most[scope.Name] = waits[0].Name
			}
		}
		if apart := k.Share(p.Own) - p.Share(s.All); apart > 0.035 || apart < -0.035 {
			t.Errorf("%s: %.3f of the cycles, %.3f of the samples: the clock is slower while the kernel runs", p.Scopes[0].Name, k.Share(p.Own), p.Share(s.All))
		}
	}
	if own != k.Whole() || sampled != s.All {
		t.Errorf("%d of %d cycles, %d of %d samples", own, k.Whole(), sampled, s.All)
	}
	got := fmt.Sprint(most["wait k_free:32"], " ", most["wait v_free:35"], " ", most["dot:53"], " ", most["dot:64"], " ", most["store out:70"])
	if want := "long_scoreboard long_scoreboard barrier barrier lg_throttle"; got != want {
		t.Errorf("stalled by %s, want %s", got, want)
	}
}

// TestWarpsOfAttention derives the cycles of the two groups of warps from those of single warps: 0 and 4 compute, 8 produces.
func TestWarpsOfAttention(t *testing.T) {
	scopes, _, _ := attention(t)
	k := one(t, scopes)
	own, warps := uint64(0), map[uint32]uint64{}
	for _, s := range All(k.Scopes) {
		own += s.Own()
		if s.Name == "kernel" || s.Name == "partition0" {
			for _, w := range s.Data.ByWarp {
				warps[w.At] += w.Amount
			}
		}
	}
	if len(warps) != 3 || own != warps[0]+warps[4]+warps[8] || own != k.Cycles() {
		t.Errorf("own cycles %d, kernel %d; warps %v", own, k.Cycles(), warps)
	}
}

// TestJSONOfSamples adds up what programs get.
func TestJSONOfSamples(t *testing.T) {
	scopes, samples, files := attention(t)
	var b bytes.Buffer
	if err := WriteJSON(&b, scopes, "attention", Options{Files: files, Samples: samples, Source: true}); err != nil {
		t.Fatal(err)
	}
	var doc struct{ Kernels []jsonKernel }
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || len(doc.Kernels) != 1 {
		t.Fatalf("%d kernels, %v", len(doc.Kernels), err)
	}
	k := doc.Kernels[0]
	own, parts, reasons, lines := uint64(0), uint64(0), uint64(0), uint64(0)
	for _, p := range k.Samples.Parts {
		own, parts = own+p.Own, parts+p.Samples
		for _, n := range p.Reasons {
			reasons += n
		}
	}
	for _, l := range k.Samples.Lines {
		lines += l.Samples
	}
	if own != k.Cycles || parts != k.Samples.Samples || reasons != parts || lines != parts || parts != 7801 {
		t.Errorf("%d of %d cycles; samples: %d by part, %d by reason, %d by line, %d in all", own, k.Cycles, parts, reasons, lines, k.Samples.Samples)
	}
	loop := k.Scopes[0].Scopes[0].Scopes[0]
	if loop.Name != "loop:49" || loop.Lines[0].Line != 49 || loop.Lines[0].Last != 67 {
		t.Errorf("%s: %+v", loop.Name, loop.Lines)
	}
}
