package pprofile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

func sampledProfile() *profile.Profile {
	line := func(n int, name string) profile.SourceFrame {
		return profile.SourceFrame{File: "/src/k.py", Line: n, Func: name}
	}
	k := &profile.Node{Name: "matmul"}
	k.Set("device_id", profile.StringValue("0"))
	for offset := range uint64(3) {
		k.Samples = append(k.Samples[:0], profile.FunctionSamples{PCs: append(pcs(k), profile.PCSamples{Offset: 16 * offset, Stalls: []profile.Stall{{Samples: 1 + offset}}})})
	}
	scope := &profile.Node{Name: "main.py:1@step", Children: []*profile.Node{k}}
	p := &profile.Profile{
		Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{scope}}, Kinds: profile.Kinds{"device_id": profile.Property},
		Sampling: &profile.Sampling{Reasons: []string{"wait"}, Functions: []profile.SampledFunction{{Places: []profile.Place{
			{Offset: 0, Frames: []profile.SourceFrame{line(12, "matmul")}},
			{Offset: 16, Frames: []profile.SourceFrame{line(3, "cdiv"), line(12, "matmul")}},
			{Offset: 32, Frames: []profile.SourceFrame{line(4, "div"), line(3, "cdiv"), line(12, "matmul")}},
		}}}},
	}
	p.AddLines()
	return p
}

func pcs(n *profile.Node) []profile.PCSamples {
	if n.Samples == nil {
		return nil
	}
	return n.Samples[0].PCs
}

// Lines of inlined functions are one location with the line that they were inlined in, as compilers' are.
func TestInlinedLinesAreOneLocation(t *testing.T) {
	p := sampledProfile()
	pp, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := pp.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range pp.Sample {
		var stack []string
		for _, l := range s.Location {
			var lines []string
			for _, x := range l.Line {
				lines = append(lines, fmt.Sprintf("%s:%d", x.Function.Name, x.Line))
			}
			text := strings.Join(lines, "<")
			if l.Mapping != nil {
				text += l.Mapping.File
			}
			stack = append(stack, text)
		}
		got = append(got, fmt.Sprint(s.Value[0], " ", strings.Join(stack, " ")))
	}
	want := []string{
		"0 matmul:0[gpu] step:1",
		"1 matmul:12[gpu] matmul:0[gpu] step:1",
		"2 cdiv:3<matmul:12[gpu] matmul:0[gpu] step:1",
		"3 div:4<cdiv:3<matmul:12[gpu] matmul:0[gpu] step:1",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if have, want := dump(reread(t, p)), dump(p); have != want {
		t.Errorf("comes back as\n%s\nwas\n%s", have, want)
	}
}
