package report

import (
	"testing"

	"github.com/goproton/goproton/profile/formats"
)

// TestInsideTab opens the page of a real profile: the tab's numbers are those of proton viewer --inside.
func TestInsideTab(t *testing.T) {
	prof, err := formats.ReadFile("../testdata/recorded/inside.hatchet.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, dark := range []bool{false, true} {
		p := browser(t).open(t, pageOf(t, "inside", prof), screen{width: 1300, height: 900, dark: dark})
		p.click("#tab-inside")
		p.painted()
		if dark {
			p.shoot("inside dark")
		} else {
			p.shoot("inside")
		}
		text := func(selector string) string {
			return p.eval(`document.querySelector("` + selector + `").textContent`).(string)
		}
		if got := text("#panel-inside h2:not(.unseen)"); got != "matmul_kernel" {
			t.Errorf("the kernel is %q", got)
		}
		want := "loop:23inside_kernels.py:2382.8%38.6%353,438,95625.29 us7,16845,30055,60056,135from 31,384 to 56,135 cycles1.046132 multiprocessors; the busiest is 10"
		if got := text("#panel-inside tbody tr:nth-child(4)"); got != want {
			t.Errorf("the loop's row is\n%q, want\n%q", got, want)
		}
	}
}
