package agent

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer/kernels"
)

type explainIn struct {
	Profile string `json:"profile" jsonschema:"a profile: a .hatchet or .chrome_trace file, a trace of torch.profiler, and so on"`
	Kernel  string `json:"kernel,omitempty" jsonschema:"only kernels whose names match, as matmul_*"`
	Trace   string `json:"trace,omitempty" jsonschema:"trace of the same run, which run with trace wrote"`
	Top     int    `json:"top,omitempty" jsonschema:"how many findings; by default as many as fit"`
}

type viewIn struct {
	Profile string `json:"profile"`
	Metrics string `json:"metrics,omitempty" jsonschema:"names with commas between them, as util,tflop/s,time; list shows them"`
	Include string `json:"include,omitempty" jsonschema:"only call paths through frames that match the regular expression"`
	Top     int    `json:"top,omitempty" jsonschema:"so many frames by name, those with most of their own; without it the tree"`
	Depth   int    `json:"depth,omitempty" jsonschema:"levels of the tree; 6 by default"`
	List    bool   `json:"list,omitempty" jsonschema:"the metrics of the profile, and nothing else"`
	Idle    bool   `json:"idle,omitempty" jsonschema:"when GPUs had nothing to do, and why; of timelines"`
}

type diffIn struct {
	Before    string `json:"before"`
	After     string `json:"after"`
	Metrics   string `json:"metrics,omitempty"`
	Threshold string `json:"threshold,omitempty" jsonschema:"hide smaller changes: 5% or 1ms"`
	Depth     int    `json:"depth,omitempty"`
}

type gateIn struct {
	Baseline []string `json:"baseline" jsonschema:"profiles of runs before the change"`
	After    []string `json:"after" jsonschema:"profiles of runs after it"`
	FailOn   []string `json:"fail_on,omitempty" jsonschema:"rules, as time > 5%"`
}

type sourceIn struct {
	Profile string `json:"profile" jsonschema:"a profile with samples"`
	Kernel  string `json:"kernel,omitempty" jsonschema:"kernels whose names match; the hottest by default"`
	Trace   string `json:"trace,omitempty" jsonschema:"trace of the same run, for the IR of each line"`
	Context int    `json:"context,omitempty" jsonschema:"lines around lines with samples"`
	Text    bool   `json:"text,omitempty" jsonschema:"the listing for people in place of JSON"`
}

type lineIn struct {
	Profile string `json:"profile,omitempty" jsonschema:"a profile that kept the lines; without it the file is read"`
	File    string `json:"file" jsonschema:"as a finding names it"`
	Line    int    `json:"line"`
	Context int    `json:"context,omitempty" jsonschema:"lines before and after it; 10 by default"`
}

type runIn struct {
	Command  []string `json:"command" jsonschema:"script and arguments, or a program, or -m MODULE"`
	Name     string   `json:"name" jsonschema:"the profile is NAME.hatchet, or NAME.chrome_trace with timeline"`
	Samples  bool     `json:"samples,omitempty" jsonschema:"sample instructions, which names the lines"`
	Counters string   `json:"counters,omitempty" jsonschema:"instead of samples: measure a launch of each kernel with hardware counters: roofline, memory, compute or agent; or lines, which source then shows"`
	Timeline bool     `json:"timeline,omitempty" jsonschema:"record what happened when, which shows why the GPU was idle"`
	Inside   string   `json:"inside,omitempty" jsonschema:"scopes inside the Triton kernels that match"`
	Torch    bool     `json:"torch,omitempty" jsonschema:"operators and modules of PyTorch, with their flops"`
	Trace    string   `json:"trace,omitempty" jsonschema:"folder for the trace of what Triton compiles and launches"`
	Timeout  int      `json:"timeout_s,omitempty" jsonschema:"600 by default"`
}

type reproduceIn struct {
	Trace   string `json:"trace"`
	Kernel  string `json:"kernel,omitempty"`
	Profile string `json:"profile,omitempty" jsonschema:"with it, the launch with the most time"`
	Out     string `json:"out,omitempty" jsonschema:"folder for the script"`
	Run     bool   `json:"run,omitempty" jsonschema:"check and time it now, on this machine's GPU"`
	Compare string `json:"compare,omitempty" jsonschema:"another trace or script: which is faster, and are the outputs equal"`
	Timeout int    `json:"timeout_s,omitempty" jsonschema:"600 by default"`
}

type candidateIn struct {
	Trace     string  `json:"trace" jsonschema:"has the launch, as run with trace records it, or a script of reproduce"`
	File      string  `json:"file" jsonschema:"Python file with the candidate"`
	Function  string  `json:"function,omitempty" jsonschema:"Triton kernel, launched with the recorded grid, or Python function that launches what it likes; both get the recorded arguments by name; by default the one that is called like the kernel"`
	Kernel    string  `json:"kernel,omitempty" jsonschema:"the kernel whose place it takes; the first launch by default"`
	Profile   string  `json:"profile,omitempty" jsonschema:"with it, the launch with the most time"`
	Out       string  `json:"out,omitempty" jsonschema:"folder for the script and the profile"`
	Tolerance float64 `json:"tolerance,omitempty" jsonschema:"largest difference of equal outputs as a share of the largest value; by default by type"`
	Timeout   int     `json:"timeout_s,omitempty" jsonschema:"600 by default"`
}

type interpretIn struct {
	Command []string `json:"command" jsonschema:"script and arguments"`
	Kernel  string   `json:"kernel,omitempty" jsonschema:"only kernels that match"`
	Check   string   `json:"check,omitempty" jsonschema:"checks, with commas: races, uninitialised and others; all by default"`
	Count   bool     `json:"count,omitempty" jsonschema:"bytes and flops by line"`
	GPU     string   `json:"gpu,omitempty" jsonschema:"with count, the least time on this GPU, as H200"`
	Timeout int      `json:"timeout_s,omitempty" jsonschema:"600 by default"`
}

// readers are tools that read files.
func (s *server) readers() {
	offer(s, "explain", "Why is it slow, and what next: the few facts that cost most time, with kernel, line, evidence, confidence, what each saves at most and the next command", func(in *explainIn, l *line) {
		l.add("explain", "--json").flag("kernel", in.Kernel).fileFlag("trace", in.Trace).number("top", in.Top).files(in.Profile)
	})
	offer(s, "view", "A profile as a table: call paths or frames with metrics", func(in *viewIn, l *line) {
		l.add("viewer", "--json").flag("metrics", in.Metrics).flag("include", in.Include).number("top", in.Top)
		if in.Depth == 0 && in.Top == 0 && !in.List && !in.Idle {
			in.Depth = 6
		}
		l.number("depth", in.Depth).when(in.List, "--list").when(in.Idle, "--idle").files(in.Profile)
	})
	offer(s, "source", "Where the samples of a kernel are: its source lines, with what warps wait for", func(in *sourceIn, l *line) {
		kernel := "--source"
		if in.Kernel != "" {
			kernel += "=" + in.Kernel
		}
		l.add("viewer", "--no-pager", kernel).when(!in.Text, "--json").number("context", in.Context).fileFlag("trace", in.Trace).files(in.Profile)
	})
	mcp.AddTool(s.offered, &mcp.Tool{Name: "line", Description: "The text of a source line and of the lines around it, as the profile kept them or as the file has them"},
		func(_ context.Context, _ *mcp.CallToolRequest, in lineIn) (*mcp.CallToolResult, Result, error) {
			text, err := s.line(&in)
			return nil, Result{Text: text}, err
		})
	offer(s, "diff", "What changed between two profiles, call path by call path", func(in *diffIn, l *line) {
		l.add("diff", "--view=json").flag("metrics", in.Metrics).flag("threshold", in.Threshold).number("depth", in.Depth).files(in.Before, in.After)
	})
	offer(s, "gate", "Whether runs after a change are slower than those before, by rules and with statistics", func(in *gateIn, l *line) {
		l.add("gate", "--json")
		for _, rule := range in.FailOn {
			l.flag("fail-on", rule)
		}
		for _, file := range in.Baseline {
			l.flag("baseline", l.path(file))
		}
		l.add("--").files(in.After...)
	})
}

// runners are tools that run programs.
func (s *server) runners() {
	offer(s, "run", "Profiles a program on the GPU", func(in *runIn, l *line) {
		l.within = timeout(in.Timeout)
		l.add("run").fileFlag("name", in.Name).when(in.Samples, "--mode=pcsampling").when(in.Counters != "", "--mode=counters:set="+in.Counters).when(in.Timeline, "--data=timeline").when(in.Torch, "--torch=modules,flops")
		l.flag("inside", in.Inside).fileFlag("trace", in.Trace).program(in.Command)
	})
	offer(s, "reproduce", "One launch of a trace as a script of its own; with run, checked and timed; with compare, against another", func(in *reproduceIn, l *line) {
		l.within = timeout(in.Timeout)
		l.add("reproduce", "--json").flag("kernel", in.Kernel).fileFlag("out-dir", in.Out).fileFlag("compare", in.Compare)
		l.when(in.Profile != "", "--slowest").fileFlag("profile", in.Profile).when(in.Run, "--benchmark", "--run").files(in.Trace)
	})
	offer(s, "candidate", "A new version of a kernel, tried in one call: are its outputs equal, is it faster, and why does it take its time", func(in *candidateIn, l *line) {
		l.within = timeout(in.Timeout)
		file := l.path(in.File)
		if in.Function != "" {
			file += ":" + in.Function
		}
		l.add("reproduce", "--json", "--keep-warm=10m").flag("candidate", file).flag("kernel", in.Kernel).fileFlag("out-dir", in.Out).when(in.Profile != "", "--slowest").fileFlag("profile", in.Profile)
		if in.Tolerance != 0 {
			l.flag("tolerance", fmt.Sprint(in.Tolerance))
		}
		l.files(in.Trace)
	})
	offer(s, "interpret", "Runs the Triton kernels of a program on the CPU, without a GPU, and checks every access: races, bounds, values that were never set", func(in *interpretIn, l *line) {
		l.within = timeout(in.Timeout)
		if in.Check == "" && !in.Count {
			in.Check = "all"
		}
		l.add("interpret", "--json").flag("kernel", in.Kernel).flag("check", in.Check).when(in.Count, "--count").flag("gpu", in.GPU).program(in.Command)
	})
}

// line is the text around a source line, with numbers.
func (s *server) line(in *lineIn) (string, error) {
	files := &kernels.Files{Near: []string{s.Folder}, Below: s.Folder}
	if in.Profile != "" {
		path, err := below(s.Folder, in.Profile)
		if err != nil {
			return "", err
		}
		p, err := formats.ReadFile(filepath.Join(s.Folder, path))
		if err != nil {
			return "", err
		}
		if p.Sampling != nil {
			files.Keep(p.Sampling.Sources)
		}
	}
	around := min(cmp.Or(in.Context, 10), 200)
	text := files.Text(in.File)
	var b strings.Builder
	for n := in.Line - around; n <= in.Line+around; n++ {
		if line, known := text.Line(n); known {
			fmt.Fprintf(&b, "%d %s\n", n, line)
		}
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("line %d of %s is neither in the profile nor in a file below %s: give the profile that names it", in.Line, in.File, s.Folder)
	}
	return b.String(), nil
}

// program adds what is run: a script is a file below the folder, other words are as they are.
func (l *line) program(command []string) {
	if len(command) > 0 && strings.HasSuffix(command[0], ".py") {
		command = append([]string{l.path(command[0])}, command[1:]...)
	}
	l.add("--").add(command...)
}

func timeout(seconds int) time.Duration {
	if seconds <= 0 {
		return running
	}
	return time.Duration(seconds) * time.Second
}
