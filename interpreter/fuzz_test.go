package interpreter

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

var parts = regexp.MustCompile(`%[\w$.#-]+|\b\d+\b|\b(?:i|f|bf)\d+\b|\b(?:arith|tt|math|scf)\.[a-z_]+\b`)

// mutate replaces parts of a text by others of it.
func mutate(text string, r *rand.Rand) string {
	places := parts.FindAllStringIndex(text, -1)
	for range 1 + r.IntN(3) {
		a, b := places[r.IntN(len(places))], places[r.IntN(len(places))]
		if a[1] > len(text) || b[1] > len(text) {
			continue
		}
		text = text[:a[0]] + text[b[0]:b[1]] + text[a[1]:]
	}
	return text
}

// launchAny runs a text with buffers for its pointers. It must end in a value or in an error that says what is wrong with the kernel.
func launchAny(t *testing.T, text string) (ran bool) {
	p, err := Load(ttir.Parse(text))
	if err != nil {
		return false
	}
	f := p.module.Kernel()
	var list []Argument
	for i := range f.Arguments {
		switch a := f.Type(f.Arguments[i].Value); {
		case a == nil:
			return false
		case a.Kind == ttir.PointerType:
			list = append(list, Pointer(&Buffer{Name: "b", Data: make([]byte, 1<<14)}, 0))
		case a.Kind == ttir.DescriptorType:
			list = append(list, Descriptor(&Buffer{Name: "d", Data: make([]byte, 1<<14)}, 0, []int64{16, 16}, []int64{16, 1}, false))
		case a.Kind == ttir.FloatType:
			list = append(list, Float(0.5))
		default:
			list = append(list, Int(3))
		}
	}
	begin := time.Now()
	_, err = p.Launch("", [3]int32{2, 1, 1}, list, Options{MaxSteps: 1 << 20})
	if err != nil && strings.Contains(err.Error(), "the interpreter failed") {
		t.Errorf("%.1500v\n%s", err, text)
	}
	_, checked := p.Launch("", [3]int32{2, 1, 1}, list, Options{MaxSteps: 1 << 20, Checks: check.All, KeepGoing: true})
	if checked != nil && strings.Contains(checked.Error(), "the interpreter failed") || err == nil && checked != nil {
		t.Errorf("with checks: %.1500v\n%s", checked, text)
	}
	if d := time.Since(begin); d > 20*time.Second {
		t.Errorf("it took %v:\n%s", d, text)
	}
	return err == nil
}

// TestChanged: texts of kernels that were changed at random are refused, run, or end in a finding.
func TestChanged(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	ran := 0
	list := launches(t)
	for range 1200 {
		text := mutate(list[r.IntN(len(list))].TTIR, r)
		if launchAny(t, text) {
			ran++
		}
		if t.Failed() {
			return
		}
	}
	if ran < 10 {
		t.Errorf("only %d of the texts ran", ran)
	}
	t.Logf("%d ran", ran)
}

// FuzzLaunch does the same with other texts.
func FuzzLaunch(f *testing.F) {
	f.Add(adding)
	f.Fuzz(func(t *testing.T, text string) { launchAny(t, text) })
}
