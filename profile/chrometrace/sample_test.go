package chrometrace

import "github.com/goproton/goproton/profile"

// start is when the samples begin: 2026-11-20 12:00:00 UTC.
const start = 1_795_176_000_000_000_000

// sample is a training step on two GPUs whose streams have equal ids: it has one of everything.
func sample() *profile.Profile {
	forward, step := []string{"ROOT", "step", "forward"}, []string{"ROOT", "step"}
	at := func(us float64) int64 { return start + int64(us*1000) }
	return &profile.Profile{
		Info: profile.Info{profile.InfoName: "train.py", profile.InfoPID: "4711", profile.InfoHost: "node1"},
		Devices: []profile.Device{
			{Type: "CUDA", ID: "0", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132},
			{Type: "CUDA", ID: "1", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132},
		},
		Kinds: profile.Kinds{"flops": profile.Inclusive, "bytes": profile.Inclusive, "tokens": profile.Inclusive, "loss": profile.Property},
		Timeline: &profile.Timeline{
			Lanes: []profile.Lane{
				{ID: 1, Kind: profile.ThreadLane, Name: "CPU Thread 0", Thread: 4711},
				{ID: 2, Kind: profile.GraphLane, Name: "Graph: GPU 0 Stream 7", Device: "0", Context: 1, Stream: 7},
				{ID: 3, Kind: profile.StreamLane, Name: "GPU 0 Stream 7", Device: "0", Context: 1, Stream: 7},
				{ID: 4, Kind: profile.StreamLane, Name: "GPU 1 Stream 7", Device: "1", Context: 2, Stream: 7},
				{ID: 5, Kind: profile.StreamLane, Name: "GPU 0 Stream 7", Device: "0", Context: 3, Stream: 7},
			},
			Slices: []profile.Slice{
				{Lane: 1, Kind: profile.ScopeSlice, Name: "step", Start: at(0), Duration: 120_500, Path: step, ID: 4,
					Metrics: []profile.Metric{{Name: "tokens", Value: profile.IntValue(512)}, {Name: "loss", Value: profile.FloatValue(2.5)}}},
				{Lane: 1, Kind: profile.ScopeSlice, Name: "forward", Start: at(1), Duration: 80_000, Path: forward, ID: 5},
				{Lane: 1, Kind: profile.LaunchSlice, Name: "cuLaunchKernel", Start: at(2.5), Duration: 4_321, Path: forward, ID: 9},
				{Lane: 1, Kind: profile.SyncSlice, Name: "cuStreamSynchronize", Start: at(90), Duration: 30_001, Path: step, ID: 12},
				{Lane: 2, Kind: profile.ScopeSlice, Name: "<captured_at>", Start: at(40), Duration: 9_000},
				{Lane: 3, Kind: profile.KernelSlice, Name: "void gemm<float, \"x\\y\">(int)", Start: at(30.2), Duration: 1_100, ID: 9,
					Path:    []string{"ROOT", "step", "forward", "void gemm<float, \"x\\y\">(int)"},
					Metrics: []profile.Metric{{Name: "flops", Value: profile.FloatValue(4096)}, {Name: "sizes", Value: profile.IntsValue([]int64{4, 8})}}},
				{Lane: 3, Kind: profile.GraphSlice, Name: "<graph>", Start: at(40), Duration: 9_000, Path: []string{"ROOT", "step", "<graph>"}, ID: 10},
				{Lane: 4, Kind: profile.CopySlice, Name: "Memcpy HtoD", Start: at(31), Duration: 2_048, Path: []string{"ROOT", "step", "Memcpy HtoD"}, ID: 11,
					Metrics: []profile.Metric{{Name: "bytes", Value: profile.IntValue(65536)}}},
				{Lane: 5, Kind: profile.FillSlice, Name: "Memset", Start: at(33.007), Duration: 0, ID: 13,
					Metrics: []profile.Metric{{Name: "bytes", Value: profile.IntValue(1 << 20)}}},
			},
			Flows: []profile.Flow{
				{ID: 9, From: 1, To: 3, Start: at(2.5), End: at(30.2)},
			},
		},
	}
}
