package chrometrace

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestCategoriesOfOlderKineto: until 2022 categories began with a capital letter. Everything else is the same, so the tree is.
func TestCategoriesOfOlderKineto(t *testing.T) {
	text, err := os.ReadFile("../../testdata/upstream/torch-2.11.kineto.json")
	if err != nil {
		t.Fatal(err)
	}
	outline := func(text []byte) string {
		p, err := Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		p.Root.Walk(func(n *profile.Node, depth int) bool {
			fmt.Fprintln(&b, strings.Repeat(" ", depth), n.Name, n.Metrics)
			return true
		})
		return b.String()
	}
	old := strings.NewReplacer(`"cat": "kernel"`, `"cat": "Kernel"`, `"cat": "gpu_memcpy"`, `"cat": "Memcpy"`, `"cat": "cpu_op"`, `"cat": "Operator"`,
		`"cat": "cuda_runtime"`, `"cat": "Runtime"`).Replace(string(text))
	if old == string(text) {
		t.Fatal("the file has no categories to rename")
	}
	want, got := outline(text), outline([]byte(old))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(want, "time (ns)") {
		t.Errorf("no kernel has a time:\n%s", want)
	}
}

// TestUnknownCategoryIsNamed: only where it holds most of the time.
func TestUnknownCategoryIsNamed(t *testing.T) {
	for most, note := range map[int]bool{900: true, 90: false} {
		text := fmt.Sprintf(`{"traceEvents":[{"ph":"X","cat":"npu_kernel","name":"a","pid":0,"tid":1,"ts":0,"dur":%d},
			{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":0,"dur":100}]}`, most)
		p, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Info[profile.InfoNote]; strings.Contains(got, `"npu_kernel"`) != note || note && !strings.Contains(got, "90%") {
			t.Errorf("%d µs of an unknown category next to 100 µs of kernels: %q", most, got)
		}
	}
}

// TestKinetoNamesTheBoard: the device table has the name, from which its peaks are known.
func TestKinetoNamesTheBoard(t *testing.T) {
	f, err := os.Open("../../testdata/upstream/torch-2.11.kineto.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Device("CUDA", "0"); d == nil || d.Name != "NVIDIA H200" || d.Arch != "90" || d.NumSMs != 132 {
		t.Errorf("the device is %+v", d)
	}
}
