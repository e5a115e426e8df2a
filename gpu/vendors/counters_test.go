package vendors

import (
	"fmt"
	"strings"
	"testing"
)

// TestLinesOfAMD: AMD's library counts no lines, and the sentence says what to do instead.
func TestLinesOfAMD(t *testing.T) {
	if _, err := parseAMDCounters("set=lines"); err == nil || !strings.Contains(err.Error(), "use mode pcsampling") {
		t.Error(err)
	}
	if _, err := parseAMDCounters("set=memory"); err != nil {
		t.Error(err)
	}
}

func TestCounterOptions(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "roofline first 1 most 200 all"},
		{"set=memory:kernels=matmul_*,softmax*:first=3:most=50", "memory first 3 most 50 matmul_tile softmax"},
		{"kernels=at::native::add", "roofline first 1 most 200 at::native::add<float>"},
		{"KERNELS=^add$:Set=dram_read+dram__bytes_write.sum", "dram_read+dram__bytes_write.sum first 1 most 200 add"},
		{"first=10001", "first=10001: want a number of launches from 1 to 10000"},
		{"most=-1", "most=-1: want a number of launches from 1 to 1000000"},
		{"first=", "first=: want a number of launches from 1 to 10000"},
		{"set=roofine", `set=roofine: no set or figure of hardware counters is called "roofine": did you mean roofline?`},
		{"set=roofline+", `set=roofline+: "roofline+" has no name at a place where one is due`},
		{"set=a++b", `set=a++b: no set or figure of hardware counters is called "a"`},
		{"set=lines:first=2", "lines first 2 most 200 all"},
		{"set=lines+memory", `set=lines+memory: lines is measured alone: count by line in another run, and merge the profiles`},
		{"set=sector_excess", `set=sector_excess: sector_excess is counted by source line: use set=lines`},
		{"set=line", `set=line: no set or figure of hardware counters is called "line": did you mean lines or roofline?`},
		{"metrics=memory", "unsupported option key: metrics; set, first, most and kernels are known"},
		{"kernels=(", "kernels=(: read the pattern"},
	} {
		request, err := parseCounters(c.text)
		got := fmt.Sprint(err)
		if err == nil {
			r := request.Counters
			got = fmt.Sprintf("%s first %d most %d", r.Set, r.First, r.Most)
			if r.Kernels == nil {
				got += " all"
			}
			for _, name := range []string{"matmul_tile", "softmax", "at::native::add<float>", "add"} {
				if r.Kernels != nil && r.Wants(name) {
					got += " " + name
				}
			}
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}
