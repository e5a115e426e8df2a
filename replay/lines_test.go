package replay

import (
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// Two launches of each kernel of lines.cu at each of three call paths, and one of each Triton kernel, as the Nsight Compute command line (ncu) counted
// a launch on the same machine; the sectors of both Triton kernels follow from their texts.
var countedByNsight = []struct {
	kernel   string
	launches float64
	of       map[string]float64
}{
	{"k_add", 2, map[string]float64{"inst_executed": 655_360, "thread_inst_executed": 20_971_520, "sectors_mem_global": 393_216, "sectors_mem_global_ideal": 393_216}},
	{"k_str", 2, map[string]float64{"inst_executed": 557_056, "thread_inst_executed": 17_825_792, "sectors_mem_global": 1_179_648, "sectors_mem_global_ideal": 262_144}},
	{"k_bank", 2, map[string]float64{"inst_executed": 753_664, "l1tex_pipe_lsu_wavefronts_mem_shared": 2_097_152, "l1tex_pipe_lsu_wavefronts_mem_shared_ideal": 65_536}},
	{"k_div", 2, map[string]float64{"inst_executed": 3_801_088, "thread_inst_executed": 87_556_096, "sectors_mem_global": 589_824}},
	{"add_kernel", 1, map[string]float64{"sectors_mem_global": 3 * 4 << 20 / 32, "sectors_mem_global_ideal": 3 * 4 << 20 / 32}},
	{"strided_kernel", 1, map[string]float64{"sectors_mem_global": 1<<20 + 4<<20/32, "sectors_mem_global_ideal": 2 * 4 << 20 / 32}},
}

// TestCountsByLineOfAnH200: what the instructions of kernels counted on an H200 is in the replay by line, and adds up to what ncu counted.
func TestCountsByLineOfAnH200(t *testing.T) {
	text := ""
	found := map[string]int{}
	for _, capture := range []string{"lines", "lines_triton"} {
		p, problems := playMode(t, capture, "shadow", "counters:set=lines:first=2")
		if len(problems) > 0 {
			t.Errorf("%s: problems: %q", capture, problems)
		}
		if d := p.Devices[0]; d.Name != "" || d.Arch != "" || d.NumSMs != 0 { // the capture is older than the recording of GPUs of such runs
			t.Errorf("%s: the GPU is %+v, which the capture does not say", capture, d)
		}
		text += capture + "\n" + outline(p)
		p.Root.Walk(func(n *profile.Node, _ int) bool {
			for _, c := range countedByNsight {
				if n.Name == c.kernel {
					found[c.kernel]++
					for metric, want := range c.of {
						if got := sumBelow(n, "smsp__sass_"+metric); got != c.launches*want {
							t.Errorf("%s: %s is %v, want %v", c.kernel, metric, got, c.launches*want)
						}
					}
				}
			}
			return true
		})
	}
	testkit.Golden(t, "testdata/lines.txt", text)
	for _, c := range countedByNsight {
		if found[c.kernel] == 0 {
			t.Errorf("%s was not counted", c.kernel)
		}
	}
}

func sumBelow(n *profile.Node, metric string) (sum float64) {
	n.Walk(func(below *profile.Node, _ int) bool {
		if v, has := below.Metric(metric); has {
			f, _ := v.Float()
			sum += f
		}
		return true
	})
	return sum
}
