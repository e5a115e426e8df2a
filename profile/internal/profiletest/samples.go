package profiletest

import (
	"fmt"
	"math/rand/v2"

	"github.com/goproton/goproton/profile"
)

// Sample adds instruction samples to a profile: some nodes have some of a few functions, with and without lines.
func Sample(p *profile.Profile, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	s := &profile.Sampling{
		Mode: "continuous", Period: 1 << r.IntN(32), Reasons: []string{"long_scoreboard", "selected", "wait \"\\ä"}[:1+r.IntN(3)],
		Total: uint64(r.Int64()), Dropped: r.Uint64N(3), NonUser: r.Uint64N(3), Apportioned: r.Uint64N(3), BufferFull: r.IntN(2) == 0,
	}
	for i := range 1 + r.IntN(4) {
		s.Functions = append(s.Functions, sampledFunction(r, i))
	}
	s.Sources = sources(rand.New(rand.NewPCG(seed, 3)))
	p.Sampling = s
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for at := range s.Functions {
			if r.IntN(3) == 0 {
				n.Samples = append(n.Samples, profile.FunctionSamples{Function: at, PCs: samplesOf(r, len(s.Reasons))})
			}
		}
		return true
	})
}

func sampledFunction(r *rand.Rand, i int) profile.SampledFunction {
	f := profile.SampledFunction{Name: fmt.Sprint("_Z6kernel", i), Module: fmt.Sprintf("%016x", r.Uint64()), Index: r.IntN(9)}
	if r.IntN(3) == 0 {
		return f
	}
	f.Arch, f.Size, f.Registers, f.Shared, f.Frame, f.LocalLoads, f.LocalStores = []string{"90", "gfx942", "090", "100"}[i%4], r.Uint64N(1e6), r.IntN(256), r.Uint64N(1e6), r.Uint64N(99), r.IntN(9), r.IntN(9)
	for offset := uint64(0); r.IntN(5) > 0; offset += 16 * (1 + r.Uint64N(3)) {
		var frames []profile.SourceFrame
		for range 1 + r.IntN(3) {
			frames = append(frames, profile.SourceFrame{File: fmt.Sprintf("/a/%d.py", r.IntN(3)), Line: r.IntN(5), Func: []string{"", "f", "g"}[r.IntN(3)]})
		}
		f.Places = append(f.Places, profile.Place{Offset: offset, Frames: frames})
	}
	return f
}

func sources(r *rand.Rand) (list []profile.SourceText) {
	for i := range r.IntN(3) {
		s := profile.SourceText{File: fmt.Sprintf("/a/%d.py", i), SHA256: fmt.Sprintf("%064x", r.Uint64()), Lines: []profile.SourceLine{{Number: 1 + r.IntN(3), Text: "x = 1"}}}
		for at := s.Lines[0].Number; r.IntN(4) > 0; {
			at += 1 + r.IntN(9)
			s.Lines = append(s.Lines, profile.SourceLine{Number: at, Text: []string{"", "\tfor ü in \"x\":", "  y"}[r.IntN(3)]})
		}
		list = append(list, s)
	}
	return list
}

func samplesOf(r *rand.Rand, reasons int) (pcs []profile.PCSamples) {
	for offset := uint64(0); r.IntN(4) > 0; offset += 16 * (1 + r.Uint64N(3)) {
		pc := profile.PCSamples{Offset: offset, Stalls: []profile.Stall{}}
		for reason := range reasons {
			if samples := amount(r); r.IntN(2) == 0 {
				pc.Stalls = append(pc.Stalls, profile.Stall{Reason: uint16(reason), Samples: samples, NotIssued: r.Uint64N(samples + 1)})
			}
		}
		pcs = append(pcs, pc)
	}
	return pcs
}
