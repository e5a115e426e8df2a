package main

import (
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/goproton/goproton/internal/ctl"
)

func topAnswers(at int64, kernels ...ctl.Kernel) map[int]ctl.Answer {
	a := ctl.Answer{PID: 7, State: ctl.Recording, Command: "train.py --lr 1", At: at * 1e9, GPU: "NVIDIA H200", Names: kernels}
	for _, k := range kernels {
		a.Kernels += k.Count
		a.Nanos += k.Nanos
	}
	return map[int]ctl.Answer{7: a}
}

func TestTopIsTheLastInterval(t *testing.T) {
	before := topAnswers(10, ctl.Kernel{Name: "gemm", Count: 100, Nanos: 5e9}, ctl.Kernel{Name: "old", Count: 9, Nanos: 1e9})
	now := topAnswers(12, ctl.Kernel{Name: "gemm", Count: 110, Nanos: 5.5e9}, ctl.Kernel{Name: "old", Count: 9, Nanos: 1e9}, ctl.Kernel{Name: "new", Count: 30, Nanos: 1e9})
	v := since(before, now)
	if v.Seconds != 2 || v.Busy != 0.75 || v.Launches != 40 || len(v.Kernels) != 2 || v.Kernels[0] != (topKernel{"new", 30, 1e9, 2. / 3}) || v.Kernels[1].Nanos != 5e8 {
		t.Errorf("%+v", v)
	}
	// Another process is counted from its second look on, and a new phase of one from its beginning.
	now[8] = ctl.Answer{PID: 8, At: 12e9, Kernels: 1000, Nanos: 9e9, Names: []ctl.Kernel{{Name: "gemm", Count: 1000, Nanos: 9e9}}}
	if v := since(before, now); v.Launches != 40 || len(v.PIDs) != 2 || v.Seconds != 2 || v.Busy != 0.375 {
		t.Errorf("with a new process: %+v", v)
	}
	now[8] = ctl.Answer{PID: 8, State: ctl.Paused, At: 12e9}
	if v := since(before, now); v.State != "1 "+ctl.Paused+", 1 "+ctl.Recording {
		t.Errorf("one of two is paused: %q", v.State)
	}
	phase := topAnswers(14, ctl.Kernel{Name: "gemm", Count: 3, Nanos: 2e8})
	if v := since(now, phase); v.Launches != 3 || v.Kernels[0].Nanos != 2e8 {
		t.Errorf("a new phase: %+v", v)
	}
	if v := since(now, now); len(v.Kernels) != 0 || v.Busy != 0 {
		t.Errorf("nothing: %+v", v)
	}
}

func TestTopFitsTheScreen(t *testing.T) {
	before := topAnswers(10)
	now := topAnswers(11, ctl.Kernel{Name: "kernel_with_a_name_" + strings.Repeat("that_is_long_", 9), Count: 123456, Nanos: 4e8}, ctl.Kernel{Name: "b\x1b[2J", Count: 1, Nanos: 1})
	v := since(before, now)
	v.Budget, v.Overhead, v.Lost = 0.01, 0.0084, 12
	for _, size := range [][2]int{{80, 24}, {40, 4}, {20, 1}, {0, 0}} {
		var out strings.Builder
		if err := v.write(&out, size[0], size[1]); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if size[1] > 0 && len(lines) > size[1] || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%d lines of %d: %q", len(lines), size[1], out.String())
		}
		for _, line := range lines {
			if size[0] > 0 && runewidth.StringWidth(line) > size[0] {
				t.Errorf("%d columns: %q", size[0], line)
			}
		}
	}
	var out strings.Builder
	_ = v.write(&out, 0, 0)
	if !strings.Contains(out.String(), "overhead 0.84% of a budget of 1.0%; 12 records lost") || !strings.Contains(out.String(), "process 7, recording: train.py --lr 1") {
		t.Error(out.String())
	}
}
