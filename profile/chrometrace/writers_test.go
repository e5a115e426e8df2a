package chrometrace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// gpuTimes lists the call paths with GPU time in us, in the order of the tree, then those with CPU time.
func gpuTimes(p *profile.Profile) string {
	var gpu, cpu []string
	var path []string
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		path = append(path[:depth], n.Name)
		at := strings.Join(path[1:], ">")
		if v, ok := n.Metric(profile.TimeMetric); ok && depth > 0 {
			gpu = append(gpu, fmt.Sprintf("%s %d", at, v.Int()/1000))
		}
		if v, ok := n.Metric(profile.CPUTimeMetric); ok && depth > 0 {
			cpu = append(cpu, fmt.Sprintf("%s %d", at, v.Int()/1000))
		}
		return true
	})
	return strings.Join(gpu, ", ") + "; cpu: " + strings.Join(cpu, ", ")
}

// lanesOf lists the lanes with work: device, stream and name.
func lanesOf(p *profile.Profile) string {
	var list []string
	for _, l := range p.Timeline.Lanes {
		for _, s := range p.Timeline.Slices {
			if s.Lane == l.ID && s.IsWork() {
				list = append(list, fmt.Sprintf("%s/%d %s", l.Device, l.Stream, l.Name))
				break
			}
		}
	}
	return strings.Join(list, ", ")
}

// traceOf is the text of a trace. Lines are "process PID NAME", "thread PID TID NAME", "B|X PID TID TS DUR CAT NAME ARGS" and arrows "s PID TID
// TS ID". "-" is an event without category, _ stands for a space in names and ids, and ~ for _.
func traceOf(lines ...string) string {
	var list []string
	for _, line := range lines {
		w := strings.Fields(line)
		for i := range w {
			w[i] = strings.NewReplacer("_", " ", "~", "_").Replace(w[i])
		}
		quote := func(id string) string {
			if strings.Trim(id, "0123456789") == "" {
				return id
			}
			return fmt.Sprintf("%q", id)
		}
		switch w[0] {
		case "process":
			list = append(list, fmt.Sprintf(`{"ph":"M","name":"process_name","pid":%s,"args":{"name":%q}}`, quote(w[1]), w[2]))
		case "thread":
			list = append(list, fmt.Sprintf(`{"ph":"M","name":"thread_name","pid":%s,"tid":%s,"args":{"name":%q}}`, quote(w[1]), quote(w[2]), w[3]))
		case "s", "f":
			list = append(list, fmt.Sprintf(`{"ph":%q,"cat":"link","name":"x","pid":%s,"tid":%s,"ts":%s,"id":%s}`, w[0], quote(w[1]), quote(w[2]), w[3], w[4]))
		default:
			cat, args := "", ""
			if w[5] != "-" {
				cat = fmt.Sprintf(`"cat":%q,`, strings.ReplaceAll(w[5], " ", "_"))
			}
			if len(w) > 7 {
				args = `,"args":` + strings.ReplaceAll(w[7], " ", "_")
			}
			list = append(list, fmt.Sprintf(`{"ph":"X","name":%q,%s"pid":%s,"tid":%s,"ts":%s,"dur":%s%s}`, w[6], cat, quote(w[1]), quote(w[2]), w[3], w[4], args))
		}
	}
	return `{"traceEvents":[` + strings.Join(append(list, "{}"), ",\n") + "]}"
}

// TestWorkOfOtherWriters: what a GPU did is GPU time, whichever program wrote it, and what repeats it is not counted twice.
func TestWorkOfOtherWriters(t *testing.T) {
	for name, test := range map[string]struct{ text, want, lanes string }{
		"XProf": {traceOf("process 1 /device:GPU:0", "thread 1 14 Stream_#14(Compute)", "thread 1 15 Stream_#15(MemcpyH2D)", "thread 1 2 XLA_Modules", "thread 1 3 XLA_Ops",
			"thread 1 4 Framework_Name_Scope", "process 2 /device:GPU:1", "thread 2 20 Stream_#20(Compute)", "process 701 /host:CPU", "thread 701 5 python",
			"X 701 5 100 50 - step", "X 701 5 110 10 - cuLaunchKernel {\"correlation_id\":\"77\"}", "X 1 14 200 30 - fusion {\"correlation_id\":\"77\"}", "X 1 14 240 20 - dot",
			"X 1 15 180 10 - MemcpyH2D", "X 1 2 200 60 - jit_step(1)", "X 1 3 200 30 - fusion.1", "X 1 4 200 60 - step", "X 2 20 200 7 - dot"),
			"step>fusion 30, MemcpyH2D 10, dot 27; cpu: step 50", "0/14 Stream #14(Compute), 0/15 Stream #15(MemcpyH2D), 1/20 Stream #20(Compute)"},
		"autograd before torch.profiler": {traceOf("X CPU_functions 1 100 50 - add", "s CPU_functions 1 100 0", "f CUDA_functions 0 110 0", "X CUDA_functions 0 110 20 - add"),
			"add>add 20; cpu: add 50", "0/0 Thread 0"},
		"nsys2json": {traceOf("X Device_0 Stream_7 100 30 cuda gemm", "X Device_0 Stream_8 150 5 cuda relu", "X Device_0 NVTX_Thread_12 80 20 nvtx forward",
			"X Device_0 CUDA_API_Thread_12 85 5 cuda_api cudaLaunchKernel {\"correlationId\":4}", "X Device_0 NVTX_Kernel_Thread_12 100 55 nvtx-kernel forward"),
			"gemm 30, relu 5; cpu: forward 20", "0/7 Stream 7, 0/8 Stream 8"},
		"nvprof2json": {traceOf("X [1:2]_Overview Compute 100 30 cuda gemm", "X [1:2]_Overview MemCpy_(HtoD) 90 5 cuda MemCpy_(HtoD)", "X [12]_Process Thread_3:_Runtime_API 80 5 cuda cudaLaunch"),
			"MemCpy (HtoD) 5, gemm 30; cpu: cudaLaunch 5", "1/0 Compute, 1/0 MemCpy (HtoD)"},
		"TensorFlow's timeline": {traceOf("process 1 /device:GPU:0/stream:all_Compute", "process 2 /device:GPU:0/stream:12_Compute", "process 3 /device:GPU:0/memcpy_Compute",
			"process 4 /job:localhost/replica:0/task:0/device:GPU:0_Compute", "X 1 0 100 30 Op MatMul", "X 1 0 140 5 Op MemcpyHtoD", "X 2 0 100 30 Op MatMul", "X 3 0 140 5 Op MemcpyHtoD", "X 4 0 90 3 Op MatMul"),
			"MatMul 30, MemcpyHtoD 5; cpu: MatMul 3", "0/0 Thread 0"},
		"Ascend": {traceOf("process 1 Ascend_Hardware", "thread 1 2 Stream_2", "process 3 CANN", "process 4 Overlap_Analysis", "thread 4 1 Computing", "process 5 Communication",
			"X 3 9 90 50 - AscendCL@aclnnMatMul", "s 3 9 95 8", "f 1 2 100 8", "X 1 2 100 30 - MatMul", "X 1 2 140 5 - EVENT~WAIT", "X 4 1 100 30 - Computing", "X 5 1 100 30 - hcom_allReduce"),
			"AscendCL@aclnnMatMul>MatMul 30; cpu: AscendCL@aclnnMatMul 50", "/2 Stream 2"},
		"rocprof":  {traceOf("process 2 CPU_HIP_API", "process 1 COPY", "process 6 GPU0", "X 6 1 100 30 - gemm", "X 1 0 90 5 - CopyHostToDevice"), "CopyHostToDevice 5, gemm 30; cpu: ", "0/0 Thread 1, /0 Thread 0"},
		"unitrace": {traceOf("X 1 2 90 50 cpu_op zeCommandListAppendLaunchKernel", "X 3 4 100 30 gpu_op gemm", "X 3 4 140 5 gpu_op zeCommandListAppendMemoryCopy(M2D)"), "gemm 30, zeCommandListAppendMemoryCopy(M2D) 5; cpu: zeCommandListAppendLaunchKernel 50", "/4 GPU Stream 4"},
		"Kineto for others": {traceOf("X 1 2 90 50 cpu_op mm", "X 1 2 92 5 xpu_runtime urEnqueueKernelLaunch {\"correlation\":1}", "X 0 7 100 30 kernel gemm {\"correlation\":1,\"device\":0,\"stream\":7}",
			"X 1 2 100 5 mtia_runtime runtimeLaunch {\"correlation\":2}", "X 0 7 140 3 mtia_ccp_events k {\"correlation\":2}", "X 0 7 120 9 mtia_ccp_events event~wait", "X 0 0 90 50 cuda_profiler_range gemm", "X 1 2 110 2 privateuse1_driver dLaunch {\"correlation\":3}", "X 0 7 150 1 hpu_op h {\"correlation\":3}"),
			"mm>gemm 30, mm>k 3, mm>h 1; cpu: mm 50", "0/7 GPU Stream 7"},
		"Cambricon": {traceOf("X 1 2 90 50 cpu_op mm", "X 1 2 92 5 mlu_runtime cnInvokeKernel {\"correlation\":1}", "X 1 2 98 2 mlu_runtime cnrtMemcpyAsync {\"correlation\":2}", "X 1 2 120 9 mlu_runtime cnrtQueueSync",
			"X 0 1 100 30 kernel gemm {\"correlation\":1,\"device\":0,\"stream\":1}", "X 0 1 135 4 mlu_memcpy Memcpy_HtoD {\"correlation\":2,\"device\":0,\"stream\":1}", "X 0 1 140 2 mlu_memset Memset {\"device\":0,\"stream\":1}",
			"X 0 1 100 42 mlu_user_annotation step", "X 0 1 131 1 mlu_notifier wait"),
			"mm>gemm 30, mm>Memcpy HtoD 4, Memset 2; cpu: mm 50", "0/1 GPU Stream 1"},
		"Paddle": {traceOf("X 1 2 90 50 Operator mm", "X 1 2 92 5 CudaRuntime cudaLaunchKernel {\"correlation_id\":1}", "X 0 7 100 30 Kernel gemm {\"correlation_id\":1}"), "mm>gemm 30; cpu: mm 50", "/7 GPU Stream 7"},
	} {
		p := read(t, test.text)
		if got := gpuTimes(p); got != test.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, test.want)
		}
		if got := lanesOf(p); got != test.lanes {
			t.Errorf("%s: lanes are %s, want %s", name, got, test.lanes)
		}
		if note := p.Info[profile.InfoNote]; note != "" {
			t.Errorf("%s: the note is %q", name, note)
		}
	}
}

// TestNamesLikeAGPU: a file in which nothing is known as work says so if something is called like a GPU, and is otherwise read without a word.
func TestNamesLikeAGPU(t *testing.T) {
	for text, want := range map[string]string{
		traceOf("process 1 GPU_engine_(simulated)", "X 1 2 90 50 - gemm"):                                           `nothing in the file is known as work of a GPU, though "GPU engine (simulated)" is called like one`,
		traceOf("thread 1 2 CUDA_stream_4", "X 1 2 90 50 - gemm"):                                                   `"CUDA stream 4" is called like one`,
		traceOf("X 1 7 90 50 - [MEMCPY]_HtoD {\"correlationId\":1}"):                                                `"[MEMCPY] HtoD" is called like one`,
		traceOf("X 1 7 90 50 - void_at::native::elementwise~kernel<4>(int)"):                                        `"void at::native::elementwise_kernel<4>(int)" is called like one`,
		traceOf("X 1 7 90 50 - memcpy", "X 1 7 190 50 - kernel~init", "X 1 7 90 50 - void_f<int>()"):                "",
		traceOf("process 1 python", "X 1 2 90 50 - gemm"):                                                           "",
		traceOf("process 1 python", "thread 1 2 GPU_worker", "X 1 2 90 50 cpu_op gemm", "X 0 7 100 30 kernel gemm"): "",
	} {
		if note := read(t, text).Info[profile.InfoNote]; !strings.Contains(note, want) || want == "" && note != "" {
			t.Errorf("the note is %q, want %q", note, want)
		}
	}
}
