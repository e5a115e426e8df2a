package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/term"
)

func TestLine(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(here, name) }
	cases := []struct {
		name string
		of   summary
		want string // of a profile that goes to standard output if it has no file
	}{
		{"one file", summary{Kernels: 1, GPUTimeNanos: 999, Files: []string{file("a.hatchet")}, Processes: make([]runinfo.Status, 1)},
			"1 kernel, 999 ns of GPU time, 0 dropped; wrote a.hatchet; view: proton viewer a.hatchet"},
		{"losses, a path with a space elsewhere", summary{Kernels: 1000, GPUTimeNanos: 2_500_000_000, Lost: 12, Unattributed: 3, Files: []string{"/else where/a.hatchet"}, Processes: make([]runinfo.Status, 1)},
			"1,000 kernels, 2.500 s of GPU time, 12 dropped, 3 without a call path; wrote /else where/a.hatchet; view: proton viewer '/else where/a.hatchet'"},
		{"samples", summary{Kernels: 2, Sampling: runinfo.Sampling{Period: 65536, Samples: 200000, Apportioned: 50000, Unlaunched: 1, BufferFull: true}},
			"2 kernels, 0 ns of GPU time, 0 dropped, 200,000 samples (25.0% apportioned by kernel time, <0.1% of functions not seen launching, more missing as the GPU's buffer was full: use a longer interval or a larger buffer); printed to standard output"},
		{"exact samples", summary{Kernels: 2, Sampling: runinfo.Sampling{Period: 65536, Samples: 1}}, "2 kernels, 0 ns of GPU time, 0 dropped, 1 sample; printed to standard output"},
		{"standard output", summary{Kernels: 2, GPUTimeNanos: 1_234_567}, "2 kernels, 1.235 ms of GPU time, 0 dropped; printed to standard output"},
		{"many files", summary{Kernels: 5, Files: []string{file("1"), file("2"), file("3"), file("4"), file("5")}, Processes: make([]runinfo.Status, 5)},
			"5 kernels, 0 ns of GPU time, 0 dropped, 5 processes; wrote 5 files: 1, 2, 3, 4, …; view the first: proton viewer 1"},
		{"ranks", summary{Kernels: 2, Files: []string{file("w 1.rank0.hatchet"), file("w 1.rank1.node7.hatchet")}, Processes: make([]runinfo.Status, 2)},
			"2 kernels, 0 ns of GPU time, 0 dropped, 2 processes; wrote 2 files: w 1.rank0.hatchet, w 1.rank1.node7.hatchet; add them up: proton merge 'w 1' -o 'w 1.hatchet'"},
		{"timelines of ranks", summary{Kernels: 2, Files: []string{file("w.rank0.chrome_trace"), file("w.rank1.chrome_trace")}, Processes: make([]runinfo.Status, 2)},
			"2 kernels, 0 ns of GPU time, 0 dropped, 2 processes; wrote 2 files: w.rank0.chrome_trace, w.rank1.chrome_trace; on one clock: proton merge --timeline w -o w.chrome_trace"},
		{"not only ranks", summary{Kernels: 2, Files: []string{file("w.hatchet"), file("w.rank1.hatchet")}, Processes: make([]runinfo.Status, 2)},
			"2 kernels, 0 ns of GPU time, 0 dropped, 2 processes; wrote 2 files: w.hatchet, w.rank1.hatchet; view the first: proton viewer w.hatchet"},
	}
	for _, c := range cases {
		if got := c.of.line(true, false); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	if got, want := (summary{Kernels: 2, GPUTimeNanos: 500}).line(true, true), "2 kernels, 500 ns of GPU time in kernels (memcpy and memset not counted), 0 dropped; printed to standard output"; got != want {
		t.Errorf("with copies:\ngot  %s\nwant %s", got, want)
	}
	if got, want := (summary{Kernels: 1}).line(false, false), "1 kernel, 0 ns of GPU time, 0 dropped; the profile was not written"; got != want {
		t.Errorf("a disk that is full:\ngot  %s\nwant %s", got, want)
	}
}

func TestQuoted(t *testing.T) {
	if got, want := term.ShellWord("it's"), `'it'\''s'`; got != want {
		t.Errorf("quoted: got %s, want %s", got, want)
	}
}

func TestReadSummary(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("7.json", `{"pid": 7, "kernels": 2, "lost": 1, "files": ["out.pid7.hatchet"], "problems": ["p", "q"], "finished": true}`)
	write("12.json", `{"pid": 12, "kernels": 3, "gpu": "NVIDIA H200", "files": ["out.hatchet"], "problems": ["p"], "finished": false}`)
	write("12.json.part", `{"pid"`)
	write("claim-0011223344556677", "7")
	s, err := readSummary(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Processes) != 2 || s.Kernels != 5 || s.Lost != 1 || len(s.Files) != 2 || s.Files[0] != "out.hatchet" || len(s.Problems) != 2 || len(s.Unfinished) != 1 || s.GPU != "NVIDIA H200" {
		t.Errorf("got %+v", s)
	}
	write("9.json", `{"pid": "nine"}`)
	if _, err := readSummary(folder); err == nil {
		t.Error("a status file with a wrong type: no error")
	}
}

// A cause is named only where it is certain.
func TestWhyEmpty(t *testing.T) {
	none, status := t.TempDir(), t.TempDir()
	driver := t.TempDir()
	if err := os.MkdirAll(filepath.Join(driver, "dev/nvidiactl"), 0o777); err != nil {
		t.Fatal(err)
	}
	old := t.TempDir() // as the bootstrap leaves it in a Python that is too old
	if err := os.WriteFile(filepath.Join(old, "old-python"), []byte("3.8"), 0o666); err != nil {
		t.Fatal(err)
	}
	finished, begun := runinfo.Status{PID: 7, Command: "x", Finished: true}, runinfo.Status{PID: 7, Command: "x"}
	used := finished
	used.UsedGPU = true
	of := func(list ...runinfo.Status) summary {
		s := summary{Processes: list}
		for _, p := range list {
			s.Problems = appendNew(s.Problems, p.Problems)
		}
		return s
	}
	for _, c := range []struct {
		name         string
		of           summary
		root, status string
		signal       int
		want         string
	}{
		{"a process that began and reported nothing, without a driver", of(begun), none, status, 0, "process 7 (x) reported its beginning and nothing after it"},
		{"and with one", of(begun), driver, status, 0, "process 7 (x) reported its beginning and nothing after it"},
		{"one of two", of(finished, begun), none, status, 0, "process 7 (x) reported its beginning and nothing after it"},
		{"no process, without a driver", of(), none, status, 0, "no process of the target loaded the profiler, and this machine shows no NVIDIA driver"},
		{"no process, with a driver", of(), driver, status, 0, "no process of the target loaded the profiler: check that"},
		{"an old Python", of(), none, old, 0, "the target ran in Python 3.8, and GoProton needs Python 3.9 or newer"},
		{"a process without CUDA and an old Python", of(finished), driver, old, 0, "1 process was watched"},
		{"no process could write", of(), none, filepath.Join(status, "gone"), 0, "processes could not report: open "},
		{"a process without CUDA and without a driver", of(finished), none, status, 0, "no process used CUDA or HIP, and this machine shows no NVIDIA driver"},
		{"a process without CUDA", of(finished), driver, status, 0, "1 process was watched and none used CUDA"},
		{"a process that used CUDA, whatever the device is called", of(used), none, status, 0, "1 process was watched; 1 used CUDA or HIP and launched no kernel"},
		{"a signal", of(begun), none, status, 9, "signal 9 (killed) ended the target before its first checkpoint"},
		{"a signal after the profile was finished", of(used), none, status, 9, "1 process was watched; 1 used CUDA"},
		{"a problem", of(runinfo.Status{Problems: []string{"p"}}), none, status, 9, "p"},
	} {
		if got := c.of.whyEmpty(c.root, c.status, false, c.signal); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestWhetherCopiesAreRecorded(t *testing.T) {
	for _, c := range []struct {
		data, activities string
		want             bool
	}{{"tree", "", false}, {"trace", "", true}, {"trace", "kernel", false}, {"tree", "sync", false}, {"tree", "sync,Memcpy", true}, {"trace", "memset", true}} {
		o := Options{Config: runinfo.Config{Session: runinfo.Session{Data: c.data, Activities: c.activities}}}
		if got := o.recordsCopies(); got != c.want {
			t.Errorf("--data %s --activities %q: %v", c.data, c.activities, got)
		}
	}
}

func TestPatternsWithoutAKernel(t *testing.T) {
	inside := func(kernels, matched []string) runinfo.Status {
		return runinfo.Status{Inside: &runinfo.Inside{Kernels: kernels, Matched: matched}}
	}
	many := []string{"k9", "k8", "k7", "k6", "k5", "k4", "k3", "k2", "k1"}
	cases := []struct {
		name     string
		of       summary
		patterns string
		want     string
	}{
		{"nothing asked", summary{Processes: []runinfo.Status{inside([]string{"add"}, nil)}}, "", ""},
		{"matched", summary{Processes: []runinfo.Status{inside([]string{"add"}, []string{"add"})}}, "add", ""},
		{"matched in another process", summary{Processes: []runinfo.Status{inside(nil, nil), inside([]string{"add"}, []string{"a*"})}}, "a*", ""},
		{"no match", summary{Processes: []runinfo.Status{inside([]string{"mul", "add"}, []string{"add"}), inside([]string{"add"}, nil)}}, "add, matmul",
			"--inside: no kernel is named matmul; the program launched add, mul"},
		{"many kernels", summary{Processes: []runinfo.Status{inside(many, nil)}}, "m*", "--inside: no kernel is named 'm*'; the program launched k1, k2, k3, k4, k5, k6, k7, k8 and 1 more"},
		{"no Triton", summary{Processes: make([]runinfo.Status, 1)}, "m", "--inside: no kernel is named m; the program launched no Triton kernel"},
	}
	for _, c := range cases {
		if got := strings.Join(c.of.withoutScopes(c.patterns), "\n"); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	var out strings.Builder
	s := summary{Kernels: 1, Files: []string{"a.hatchet"}, Notes: []string{"scopes in kernel add cost: nothing"}, Processes: []runinfo.Status{inside([]string{"add"}, nil)}}
	s.report(&out, Options{Config: runinfo.Config{Inside: "mul"}}, "", "", 0)
	if !strings.HasPrefix(out.String(), "proton: warning: --inside: no kernel is named mul; the program launched add\nproton: scopes in kernel add cost: nothing\nproton: 1 kernel") {
		t.Errorf("got %s", out.String())
	}
}

// Processes that used the GPU and of which nothing was recorded are named, whatever others have recorded.
func TestKilledBeforeTheFirstCheckpoint(t *testing.T) {
	const gone = 1 << 22 // above the largest number of a process
	recorded := runinfo.Status{PID: 7, Kernels: 3, Files: []string{"a.hatchet"}, Finished: true}
	killed := func(n int) runinfo.Status {
		return runinfo.Status{PID: gone + n, Command: "python w.py", UsedGPU: true}
	}
	idle, replaced, file, lives, outside, inside := killed(1), killed(2), killed(3), killed(4), killed(8), killed(9)
	idle.UsedGPU, replaced.Replaced, file.Files, lives.PID = false, true, []string{"b.hatchet"}, os.Getpid()
	outside.Windows, inside.Windows = &runinfo.Windows{}, &runinfo.Windows{Opened: 1, Open: true}
	for _, c := range []struct {
		of   []runinfo.Status
		want string
	}{
		{[]runinfo.Status{recorded, idle, replaced, file, lives, outside}, ""},
		{[]runinfo.Status{recorded, killed(5)}, "warning: process 4194309 (python w.py) used the GPU and ended early, without exit handlers: what it launched is missing"},
		{[]runinfo.Status{recorded, inside}, "warning: process 4194313 (python w.py) used"},
		{[]runinfo.Status{killed(5), recorded, killed(6)}, "warning: processes 4194309 (python w.py), 4194310 (python w.py) used the GPU and ended early, without exit handlers: what they launched is missing"},
	} {
		var s summary
		for _, p := range c.of {
			s.Processes = append(s.Processes, p)
			s.add(p)
		}
		var out strings.Builder
		s.report(&out, Options{}, "", t.TempDir(), 0)
		if said := out.String(); strings.Contains(said, "ended early") != (c.want != "") || !strings.Contains(said, c.want) {
			t.Errorf("%+v: it says %q, want %q", c.of, said, c.want)
		}
	}
}
