package explain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/collectives"
	"github.com/goproton/goproton/viewer/kernels"
)

// kernelOf describes a kernel that ran, as a profiler would have recorded it. The zero values are those of a healthy one.
type kernelOf struct {
	name     string  // "kernel" by default
	ms       float64 // 10 by default
	launches int     // 10 by default
	stalls   string  // samples at the line, "long_scoreboard=60 wait=20"; at line 5 are 20 of "selected". "" has no samples
	text     string  // of the line
	roof     float64 // share of the roof that it reaches; 0 if its work is not known
	compute  bool    // the roof is that of arithmetic
	local    int     // instructions that access local memory, of 512
	sampled  int     // samples in all; 10,000 by default
	scope    string  // that it is below
	counters string  // of a launch, "sm__cycles_active.sum=7"; "" was not measured
}

const (
	hotLine    = 12
	sourceFile = "/home/me/kernels.py"
	bandwidth  = 4.8e12
	halfFlops  = 989.4e12
)

var h200 = profile.Device{Type: "CUDA", ID: "0", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132, Name: "NVIDIA H200"}

func metrics(n *profile.Node, ns float64, count int) {
	n.Set(profile.TimeMetric, profile.IntValue(int64(ns)))
	n.Set(profile.CountMetric, profile.IntValue(int64(count)))
	n.Set(profile.DeviceIDMetric, profile.StringValue("0"))
	n.Set(profile.DeviceTypeMetric, profile.StringValue("CUDA"))
}

// profileOf makes the profile of a run of some kernels.
func profileOf(all ...kernelOf) *profile.Profile {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Devices: []profile.Device{h200}, Info: profile.Info{}, Kinds: profile.Kinds{
		profile.TimeMetric: profile.Inclusive, profile.CountMetric: profile.Inclusive, profile.BytesMetric: profile.Inclusive, "flops16": profile.Inclusive,
		profile.DeviceIDMetric: profile.Property, profile.DeviceTypeMetric: profile.Property,
	}}
	for _, k := range all {
		n := &profile.Node{Name: cmp.Or(k.name, "kernel")}
		under := p.Root
		if k.scope != "" {
			under = &profile.Node{Name: k.scope}
			p.Root.Children = append(p.Root.Children, under)
		}
		under.Children = append(under.Children, n)
		ns := cmp.Or(k.ms, 10) * 1e6
		metrics(n, ns, cmp.Or(k.launches, 10))
		switch {
		case k.roof > 0 && k.compute:
			n.Set("flops16", profile.FloatValue(k.roof*ns*1e-9*halfFlops))
		case k.roof > 0:
			n.Set(profile.BytesMetric, profile.FloatValue(k.roof*ns*1e-9*bandwidth))
		}
		if k.stalls != "" {
			sample(p, n, &k)
		}
		for pair := range strings.FieldsSeq(k.counters) {
			name, value, _ := strings.Cut(pair, "=")
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				panic(err)
			}
			n.Set(name, profile.FloatValue(v))
			n.Set(counters.Launches, profile.IntValue(1))
		}
	}
	return p
}

// sample adds the samples of a kernel: its hot line has the stalls, and a fifth of all samples made progress at another line.
func sample(p *profile.Profile, n *profile.Node, k *kernelOf) {
	if p.Sampling == nil {
		p.Sampling = &profile.Sampling{Mode: "continuous", Period: 1 << 15}
	}
	s := p.Sampling
	reason := func(name string) uint16 {
		for i, r := range s.Reasons {
			if r == name {
				return uint16(i)
			}
		}
		s.Reasons = append(s.Reasons, name)
		return uint16(len(s.Reasons) - 1)
	}
	frame := func(line int) []profile.SourceFrame {
		return []profile.SourceFrame{{File: sourceFile, Line: line, Func: cmp.Or(k.name, "kernel")}}
	}
	all := uint64(cmp.Or(k.sampled, 10000))
	hot := profile.PCSamples{Offset: 0x100}
	for pair := range strings.FieldsSeq(k.stalls) {
		name, percent, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseUint(percent, 10, 64)
		if err != nil {
			panic(err)
		}
		hot.Stalls = append(hot.Stalls, profile.Stall{Reason: reason(name), Samples: n * all / 100, NotIssued: n * all / 100 * 9 / 10})
	}
	calm := profile.PCSamples{Offset: 0x10, Stalls: []profile.Stall{{Reason: reason("selected"), Samples: all / 5}}}
	n.Samples = []profile.FunctionSamples{{Function: len(s.Functions), PCs: []profile.PCSamples{calm, hot}}}
	s.Functions = append(s.Functions, profile.SampledFunction{
		Name: strings.TrimSuffix(cmp.Or(k.name, "kernel"), "\x00"), Module: fmt.Sprintf("%016x", len(s.Functions)), Arch: "90", Size: 512 * 16, Registers: 64, LocalLoads: k.local / 2, LocalStores: k.local - k.local/2,
		Frame: uint64(4 * k.local), Places: []profile.Place{{Offset: 0x10, Frames: frame(5)}, {Offset: 0x100, Frames: frame(hotLine)}},
	})
	s.Sources = []profile.SourceText{{File: sourceFile, Lines: []profile.SourceLine{{Number: 5, Text: "for k in range(K):"}, {Number: hotLine, Text: cmp.Or(k.text, "    x = tl.load(p)")}}}}
}

// files have the texts that a profile kept.
func files(p *profile.Profile) *kernels.Files {
	f := kernels.NoFiles()
	if p.Sampling != nil {
		f.Keep(p.Sampling.Sources)
	}
	return f
}

// timelineOf draws a run of one thread and one GPU. A step is "launch", "code", "wait", "copy" with its length in us, as "code:50 launch:5:20"
// for 50 us of code and a launch that takes 5 us of the thread and whose kernel runs 20 us. "queue:30" has the next kernel begin that much later.
func timelineOf(steps string, times int) *profile.Profile {
	t := &profile.Timeline{Lanes: []profile.Lane{{ID: 1, Kind: profile.ThreadLane, Name: "main"}, {ID: 2, Kind: profile.StreamLane, Name: "stream", Device: "0"}}}
	now, gpu, queue, id := int64(1000), int64(1000), int64(0), uint64(0)
	length := func(words []string, i int) int64 {
		n, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil {
			panic(err)
		}
		return n * 1000
	}
	thread := func(s profile.Slice) { s.Lane, s.Start = 1, now; t.Slices = append(t.Slices, s) }
	for range times {
		for step := range strings.FieldsSeq(steps) {
			words := strings.Split(step, ":")
			switch n := length(words, 1); words[0] {
			case "code":
				now += n
			case "queue":
				queue = n
			case "wait":
				thread(profile.Slice{Kind: profile.SyncSlice, Name: "cuStreamSynchronize", Path: []string{"ROOT", "step"}, Duration: max(0, gpu-now) + n})
				now = max(now, gpu) + n
			case "launch", "copy":
				id++
				name := map[string]string{"launch": "cuLaunchKernel", "copy": "cuMemcpyHtoDAsync"}[words[0]]
				thread(profile.Slice{Kind: profile.LaunchSlice, Name: name, Path: []string{"ROOT", "step"}, Duration: n, ID: id})
				now += n
				gpu = max(gpu, now) + queue
				queue = 0
				work := profile.Slice{Lane: 2, Kind: profile.KernelSlice, Name: "kernel", Path: []string{"ROOT", "step", "kernel"}, Start: gpu, Duration: length(words, 2), ID: id}
				gpu += work.Duration
				t.Slices = append(t.Slices, work)
			}
		}
	}
	thread(profile.Slice{Kind: profile.ScopeSlice, Name: "step", Path: []string{"ROOT", "step"}, Duration: 0})
	return ofTimeline(t)
}

func ofTimeline(t *profile.Timeline) *profile.Profile {
	p := &profile.Profile{Timeline: t, Devices: []profile.Device{h200}, Info: profile.Info{}, Kinds: profile.Kinds{}}
	p.Summarize()
	return p
}

// ranksRunning makes two ranks that compute and then reduce. The second begins a reduction late by some us, of which compute hides a part.
func ranksRunning(late, moving, hidden int64) Input {
	var in Input
	for rank := range int64(2) {
		t := &profile.Timeline{Lanes: []profile.Lane{{ID: 2, Kind: profile.StreamLane, Name: "compute", Device: "0"}, {ID: 3, Kind: profile.StreamLane, Name: "nccl", Device: "0"}}}
		at := int64(1000)
		for range 40 {
			begin := at + 1000*(500+late*rank)
			end := at + 1000*(500+late+moving)
			t.Slices = append(t.Slices,
				profile.Slice{Lane: 2, Kind: profile.KernelSlice, Name: "backward", Start: at, Duration: begin - at + 1000*hidden},
				profile.Slice{Lane: 3, Kind: profile.KernelSlice, Name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL", Start: begin, Duration: end - begin})
			at = max(end, begin+1000*hidden) + 50_000 + 1000*(begin%7)
		}
		p := ofTimeline(t)
		if rank == 0 {
			in.Profile = p
		}
		in.Ranks = append(in.Ranks, collectives.Rank{Label: fmt.Sprintf("rank%d", rank), Timeline: p.Timeline})
	}
	return in
}
