package viewer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// TestOccupancyOfRows: registers and the limit of resident warps come from what measured launches asked for, or from samples and the
// settings in the name. A scope has the mean of its launches, and the limit of most of them.
func TestOccupancyOfRows(t *testing.T) {
	const of = " device_id='0' device_type='CUDA'"
	asks := func(registers, threads, shared, launches int) string {
		return fmt.Sprintf(" counted_launches=%d launch__registers_per_thread=%d launch__block_size=%d launch__shared_mem_per_block_static=%d launch__shared_mem_per_block_dynamic=0",
			launches, registers*launches, threads*launches, shared*launches) + of
	}
	p := tree("step\n  a time=10 count=3" + asks(64, 256, 0, 1) + "\n  b time=10 count=1" + asks(32, 128, 114688, 1) + "\n" +
		"k_<warps:4>_<shared:1024> time=5 count=1" + of + "\nother time=3 count=1" + of + "\nmixed time=3 count=2 counted_launches=2 launch__registers_per_thread=65 launch__block_size=129" + of + "\n")
	p.Devices = []profile.Device{{Type: "CUDA", ID: "0", Arch: "90"}}
	p.Sampling = &profile.Sampling{Functions: []profile.SampledFunction{{Name: "k", Registers: 40}}}
	p.Root.Children[1].Samples = []profile.FunctionSamples{{Function: 0}}
	table, err := NewTable(p, Options{Metrics: []string{"registers", "occupancy_limit", "limited_by", "occupancy_limit/%"}, BaseUnits: true})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ // 65536 registers hold 8 warps of 64 registers 4 times; 228 KiB hold two blocks of 112 KiB and 1 KiB
		"a": "64 0.500 registers 50.000", "b": "32 0.125 shared memory 12.500", "step": "56 0.406 registers 40.625",
		"k_<warps:4>_<shared:1024>": "40 0.750 registers 75.000", "other": "- -  -", "mixed": "32.5 -  -",
	}
	seen := 0
	for r := range table.All() {
		if w, ok := want[r.Name]; ok {
			seen++
			got := strings.Join([]string{figures.Exact(r.Values[0]), figures.Places(r.Values[1], 3), table.Text(r, 2), figures.Places(r.Values[3], 3)}, " ")
			if strings.ReplaceAll(got, "NaN", "-") != w && !(strings.HasPrefix(got, " ") && "-"+got == w) {
				t.Errorf("%s: %q, want %q", r.Name, got, w)
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d rows of %d", seen, len(want))
	}
	if _, err := NewTable(tree("a time=1 count=1\n"), Options{Metrics: []string{"registers"}}); err == nil {
		t.Error("registers of a profile without any")
	}
}
