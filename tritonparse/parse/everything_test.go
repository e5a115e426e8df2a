package parse

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// frames are a stack: file:line:name, outermost first.
func frames(all ...string) string {
	var out []string
	for _, f := range all {
		p := strings.Split(f, ":")
		out = append(out, fmt.Sprintf(`{"line":%s,"name":%q,"filename":%q,"loc":"x"}`, p[1], p[2], p[0]))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// The stacks of a call site that is tuned: a configuration is timed, and then the best one is launched.
func timed(site string) string {
	return frames(site, "/x/triton/runtime/jit.py:1:<lambda>", "/x/triton/runtime/autotuner.py:10:run", "/x/triton/runtime/autotuner.py:20:_bench")
}

func won(site string) string {
	return frames(site, "/x/triton/runtime/jit.py:1:<lambda>", "/x/triton/runtime/autotuner.py:10:run")
}

// The same by torch.compile's tuner.
func timedByInductor(site string) string {
	return frames(site, "/x/torch/_inductor/runtime/triton_heuristics.py:10:run", "/x/torch/_inductor/runtime/triton_heuristics.py:11:autotune_to_one_config",
		"/x/torch/_inductor/runtime/triton_heuristics.py:12:bench")
}

func launchedByInductor(site string) string {
	return frames(site, "/x/torch/_inductor/runtime/triton_heuristics.py:10:run")
}

const gemm = `#loc = loc(\"/k.py\":1:1)\nmodule {\n  tt.func public @k(%a: !tt.ptr<f16> loc(\"a\"(#loc)), %n: i32 loc(\"n\"(#loc))) {\n` +
	`    %0 = tt.get_program_id x : i32 loc(\"/k.py\":2:1)\n    %1 = tt.load %a : !tt.ptr<f16> loc(\"/k.py\":3:1)\n    tt.return loc(#loc)\n  } loc(#loc)\n} loc(#loc)\n`

// compiledRecord is a compilation; more goes into its payload.
func compiledRecord(hash, name, backend, stack string, warps int, more string) string {
	b := "null"
	if backend != "" {
		b = strconv.Quote(backend)
	}
	return fmt.Sprintf(`{"event_type":"compilation","pid":1,"stack":%s,"timestamp":"t","payload":{"metadata":{"hash":%q,"name":%q,"num_warps":%d,"num_stages":2,"maxnreg":null,"backend_name":%s},`+
		`"file_path":{"%s.ttir":"/c/%s.ttir"},"file_content":{"%s.ttir":"%s","%s.ttgir":"module attributes {\"ttg.num-warps\" = 4 : i32} {\n}\n"},`+
		`"python_source":{"file_path":"/k.py","start_line":1,"end_line":3,"code":"def k():\n  a\n  b"}%s}}`, stack, hash, name, warps, b, name, name, name, gemm, name, more)
}

// launchRecord is a launch with arguments, which may be empty.
func launchRecord(hash, name, stack string, function int, arguments string) string {
	metadata := ""
	if hash != "" {
		metadata = fmt.Sprintf(`"compilation_metadata":{"hash":%q,"name":%q,"num_warps":4,"num_stages":2,"maxnreg":null},"extracted_args":{%s},"extracted_inductor_args":{},`, hash, name, arguments)
	}
	return fmt.Sprintf(`{"event_type":"launch","pid":%d,"name":%q,"function":%d,"stream":0,"grid":[%d,2],%s"stack":%s,"timestamp":"t%d"}`, function, name, function, 1+function%3, metadata, stack, function)
}

func tensorArgument(n, at int) string {
	return fmt.Sprintf(`{"type":"tensor","shape":[%d],"dtype":"torch.float16","device":"cuda:0","stride":[1],"numel":%d,"element_size":2,"data_ptr":"0x%x"}`, n, n, at)
}

func descriptorArgument(n, at int) string {
	return fmt.Sprintf(`{"type":"TensorDescriptor","base":%s,"shape":[%d],"strides":[1],"block_shape":[16],"padding":"zero"}`, tensorArgument(n, at), n)
}

// everything is traces that have, of all that a trace can say, something.
func everything(t *testing.T, without ...string) string {
	site, other := "/m.py:5:main", "/m.py:9:main"
	var tuned []string
	for i, hash := range []string{"c1", "c2"} {
		tuned = append(tuned, compiledRecord(hash, "tuned", "cuda", timed(site), 4<<i, ""))
		for k := range 3 {
			tuned = append(tuned, launchRecord(hash, "tuned", timed(site), 10+i, fmt.Sprintf(`"x":%s,"BLOCK":{"type":"int","value":%d},"flag":{"type":"bool","value":%t},"s":{"type":"str","value":"é\u2028\"","length":3}`, tensorArgument(64+i, k), 16<<i, k == 0)))
		}
	}
	tuned = append(tuned, fmt.Sprintf(`{"event_type":"autotune","pid":1,"kernel_name":"tuned","cache_key":"k","best_config":"BLOCK: 32, num_warps: 8","configs_timings":{"BLOCK: 16":[0.5,0.4,0.625],"BLOCK: 32":0.25},"duration":1.5,"cache_hit":false,"autotune_key":"(1,)","stack":%s,"timestamp":"t"}`, won(site)))
	for k := range 4 {
		tuned = append(tuned, launchRecord("c2", "tuned", won(site), 11, fmt.Sprintf(`"x":%s,"BLOCK":{"type":"int","value":32}`, tensorArgument(65+k%2, k))))
	}
	tuned = append(tuned, launchRecord("c2", "tuned", won(other), 11, `"x":`+tensorArgument(65, 1))) // chosen before
	plain := frames("/m.py:20:main")
	return testkit.RawTraces(t, withoutLines(map[string][]string{
		"u_rank_none_pid_1_host_h": {compiledRecord("early", "early", "cuda", plain, 8, "")},
		"u_rank_0_pid_1_host_h":    append(tuned, launchRecord("early", "early", plain, 3, `"a":`+descriptorArgument(64, 1)), launchRecord("early", "early", plain, 3, `"a":`+descriptorArgument(64, 2)+`,"n":{"type":"int","value":7}`)),
		"u_rank_0_pid_2_host_h": {
			compiledRecord("early", "early", "cuda", plain, 8, ""),
			compiledRecord("hip", "amd", "hip", plain, 4, ""),
			compiledRecord("npu", "ascend", "cann", plain, 4, ""),
			compiledRecord("odd", "odd", "", plain, 4, ""),
			compiledRecord("pt", "generated", "cuda", plain, 4, `,"pt_info":{"frame_id":1,"frame_compile_id":2,"attempt":3,"compiled_autograd_id":4}`),
			compiledRecord("pt0", "generated", "cuda", plain, 4, `,"pt_info":{"frame_id":1,"frame_compile_id":null,"attempt":0}`),
			compiledRecord("ptx", "generated", "cuda", plain, 4, `,"pt_info":{"attempt":1}`),
			launchRecord("pt", "generated", plain, 5, `"in_out_ptr0":`+tensorArgument(8, 1)+`,"xnumel":{"type":"int","value":8}`),
			launchRecord("odd", "odd", plain, 5, ""),
			launchRecord("", "inductor_without_hook", plain, 5, ""),
			launchRecord("fake", "untraced", timed("/m.py:30:main"), 6, `"x":{"type":"NoneType","repr":"None"}`),
			launchRecord("fake", "untraced", timed("/m.py:30:main"), 6, `"y":{"type":"dtype","repr":"fp16"}`),
			launchRecord("", "tuned_without_hook", timed(site), 7, ""),
			compiledRecord("hip", "amd", "hip", timed("/m.py:40:main"), 4, ""), // as pid 2 did before, elsewhere
			launchRecord("hip", "amd", timed("/m.py:40:main"), 8, ""),
			launchRecord("hip", "amd", timed("/m.py:40:main"), 8, `"n":{"type":"int","value":1}`),
			launchRecord("early", "early", frames("/x/triton/runtime/autotuner.py:10:run"), 3, `"_note":"argument extraction skipped during CUDA graph capture"`),
			`{"event_type":"something_new","x":1}`, "not JSON",
		},
		"u_rank_1_pid_3_host_h":    {launchRecord("alone", "alone", plain, 1, `"x":`+tensorArgument(4, 1)), launchRecord("alone", "alone", plain, 1, `"x":`+tensorArgument(4, 2))},
		"u_rank_none_pid_9_host_h": {compiledRecord("single", "single", "cuda", plain, 4, "")},
	}, without))
}

func withoutLines(files map[string][]string, parts []string) map[string][]string {
	for name, lines := range files {
		files[name] = slices.DeleteFunc(lines, func(l string) bool {
			return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(l, p) })
		})
	}
	return files
}

// TestEverythingAsTritonparse compares all that is written of such traces, with each option.
func TestEverythingAsTritonparse(t *testing.T) {
	o := needOracle(t)
	zero, seven, none := 0, 7, -1
	torch := t.TempDir()
	log := "V1121 12:00:00 1 torch/x.py:1] {\"inductor_output_code\":{},\"frame_id\":8,\"frame_compile_id\":0,\"attempt\":1}\n\t# kernel path: /k.py\n\tx = 1\n"
	if err := os.WriteFile(filepath.Join(torch, torchPrefix+"rank_0_x.log"), []byte(log), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		theirs  string
		options Options
	}{
		{"all", `{}`, Options{}},
		{"rank 0", `{"rank":0}`, Options{Rank: &zero}},
		{"a rank that is not there", `{"rank":7}`, Options{Rank: &seven}},
		{"no rank", `{"rank":-1}`, Options{Rank: &none}},
		{"one output", `{"split_inductor_compilations":false}`, Options{NoSplit: true}},
		{"no attribution", `{"no_pre_init_attribution":true}`, Options{NoPreInit: true}},
		{"torch's trace", `{"torch_trace_dir":"` + torch + `"}`, Options{TorchTrace: torch}},
		{"some kernels", `{"kernel_allowlist":"tun*, a[a-m]?"}`, Options{Kernels: mustNames("tun*, a[a-m]?")}},
	} {
		t.Run(c.name, func(t *testing.T) { o.compare(t, everything(t), c.theirs, c.options) })
	}
}

func mustNames(list string) *tritonparse.Names {
	names, err := tritonparse.ParseNames(list)
	if err != nil {
		panic(err)
	}
	return names
}
