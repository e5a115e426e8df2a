package report

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/goproton/goproton/profile"
)

// h200 is the GPU of the samples.
var h200 = profile.Device{Type: "CUDA", ID: "0", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132}

var sampleKernels = []string{
	"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3>>(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3>)",
	"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas",
	"flash_fwd_kernel", "layer_norm_fwd", "_rope_kernel", "silu_and_mul", "triton_poi_fused_add_mul_3", "reduce_kernel<512, 1>",
	"softmax_warp_forward", "cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_f16>", "nccl:all_reduce_ring_ll", "embedding_dense_backward", "copy_kernel",
}

// model is a profile with the shape of a training run: steps, layers, parts and kernels. It has about n frames.
// faster divides the time of some kernels, and drops and adds some, for comparisons.
func model(n int, faster float64) *profile.Profile {
	r := rand.New(rand.NewPCG(1, 2))
	p := &profile.Profile{
		Root:    &profile.Node{Name: "ROOT"},
		Kinds:   profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "bytes": profile.Inclusive, "flops16": profile.Inclusive, "device_id": profile.Property, "device_type": profile.Property},
		Devices: []profile.Device{h200},
		Info:    profile.Info{profile.InfoHost: "node-17", profile.InfoName: "pretrain", profile.InfoPID: "4711", profile.InfoStart: "1790000000000000000", profile.InfoEnd: "1790000060000000000", profile.InfoRank: "0", profile.InfoWorld: "8"},
	}
	frames := 1
	add := func(parent *profile.Node, name string) *profile.Node {
		c := &profile.Node{Name: name}
		parent.Children = append(parent.Children, c)
		frames++
		return c
	}
	for step := 0; frames < n; step++ {
		s := add(p.Root, fmt.Sprintf("step %d", step))
		for _, phase := range []string{"forward", "backward", "optimizer"} {
			ph := add(s, phase)
			for layer := 0; layer < 24 && frames < n; layer++ {
				l := add(ph, fmt.Sprintf("/home/user/src/train/model/transformer.py:%d@Block.%s[%d]", 120+layer, phase, layer))
				for _, part := range []string{"attention", "mlp"} {
					pt := add(l, part)
					for k := range 4 + r.IntN(5) {
						kernel(add(pt, sampleKernels[(k*3+len(part)+layer%2)%len(sampleKernels)]), r, faster)
					}
				}
			}
		}
	}
	return p
}

// kernel gives a frame the metrics and the distribution of a kernel.
func kernel(n *profile.Node, r *rand.Rand, faster float64) {
	count := int64(1 + r.IntN(4))
	h := fnv.New32()
	h.Write([]byte(n.Name))
	own := float64(h.Sum32()%1000) / 1000 // what sets this kernel apart
	each := 2000 + own*r.Float64()*r.Float64()*4e5
	if len(n.Name)%3 == 0 {
		each /= faster
	}
	time := int64(each) * count
	n.Metrics = []profile.Metric{
		{Name: "time (ns)", Value: profile.IntValue(time)}, {Name: "count", Value: profile.IntValue(count)},
		{Name: "bytes", Value: profile.IntValue(int64(float64(time) * (0.9 - 0.8*own) * (0.9 + 0.1*r.Float64()) * 4.8e12 / 1e9))},
		{Name: "flops16", Value: profile.FloatValue(float64(time) * own * own * own * (0.8 + 0.2*r.Float64()) * 800e12 / 1e9)},
		{Name: "device_id", Value: profile.StringValue("0")}, {Name: "device_type", Value: profile.StringValue("CUDA")},
	}
	n.Times = &profile.Sketch{}
	for range count {
		n.Times.Add(uint64(each * (0.95 + 0.1*r.Float64())))
	}
}

// withTimeline gives a profile a timeline of about n slices: a thread with scopes and launches, a stream with kernels,
// a stream with copies.
func withTimeline(p *profile.Profile, n int) *profile.Profile {
	t := &profile.Timeline{Lanes: []profile.Lane{
		{ID: 1, Kind: profile.ThreadLane, Name: "CPU Thread 4711", Thread: 4711},
		{ID: 2, Kind: profile.StreamLane, Name: "GPU 0 Stream 7", Device: "0", Stream: 7},
		{ID: 3, Kind: profile.StreamLane, Name: "GPU 0 Stream 13", Device: "0", Stream: 13},
	}}
	r := rand.New(rand.NewPCG(3, 4))
	const epoch = int64(1_790_000_000_000_000_000)
	cpu, gpu := epoch, epoch+5000
	for step := 0; len(t.Slices) < n; step++ {
		name := fmt.Sprintf("step %d", step)
		start := cpu
		path := []string{"ROOT", name, "forward"}
		for k := range 40 {
			id := uint64(len(t.Slices))
			kernelPath := append(append([]string{}, path...), sampleKernels[k%len(sampleKernels)])
			launch := cpu + int64(1000+r.IntN(3000))
			t.Slices = append(t.Slices, profile.Slice{Lane: 1, Kind: profile.LaunchSlice, Name: "cuLaunchKernel", Start: launch, Duration: 2500, Path: path, ID: id})
			gpu = max(gpu+int64(r.IntN(3000)), launch+4000)
			length := int64(2000 + r.Float64()*r.Float64()*30000)
			t.Slices = append(t.Slices, profile.Slice{Lane: 2, Kind: profile.KernelSlice, Name: kernelPath[3], Start: gpu, Duration: length, Path: kernelPath, ID: id})
			t.Flows = append(t.Flows, profile.Flow{ID: id, From: 1, To: 2, Start: launch + 100, End: gpu})
			gpu += length
			cpu = launch + 6000
		}
		t.Slices = append(t.Slices,
			profile.Slice{Lane: 3, Kind: profile.CopySlice, Name: "Memcpy HtoD", Start: start + 9000, Duration: 60000, Path: []string{"ROOT", name, "Memcpy HtoD"},
				Metrics: []profile.Metric{{Name: "bytes", Value: profile.IntValue(3 << 20)}}},
			profile.Slice{Lane: 1, Kind: profile.ScopeSlice, Name: name, Start: start, Duration: cpu - start, Path: path[:2]},
			profile.Slice{Lane: 1, Kind: profile.ScopeSlice, Name: "forward", Start: start + 500, Duration: cpu - start - 1000, Path: path})
		cpu += 3000
	}
	p.Timeline = t
	return p
}
