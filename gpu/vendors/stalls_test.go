package vendors

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestStallsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/sampling.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range append(NVIDIA.Stalls.Reasons, AMD.Stalls.Reasons...) {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", r.Name, r.Means, r.Hint); !strings.Contains(string(page), row) {
			t.Errorf("docs/sampling.md lacks the row\n%s", row)
		}
	}
}

// TestStallsOfEveryVendor: the reasons of samples in which a warp did not wait are explained, because advice names them.
func TestStallsOfEveryVendor(t *testing.T) {
	for _, v := range All {
		for _, name := range []string{v.Stalls.Issued, v.Stalls.Ready} {
			if _, known := v.Stalls.Explain(name); !known {
				t.Errorf("%s: %q is not explained", v.Name, name)
			}
		}
		if ByDevice(v.DeviceType) != v {
			t.Errorf("devices of type %s are not found to be %s's", v.DeviceType, v.Name)
		}
	}
	for _, c := range [][3]string{{"CUDA", "90", "sm_90"}, {"CUDA", "", ""}, {"SYNTHETIC", "syn1", "syn1"}} {
		if got := ArchName(c[0], c[1]); got != c[2] {
			t.Errorf("architecture %q of %s is called %q, want %q", c[1], c[0], got, c[2])
		}
	}
	if ByDevice("") == nil {
		t.Error("profiles that name no device have no vendor")
	}
}
