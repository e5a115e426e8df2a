package kernels

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestDevices: a rate is held against the GPU that reached it. H100 and H200 differ in their memory only.
func TestDevices(t *testing.T) {
	trace := complexOne(t)
	h200 := profileOf(t, trace).Devices[0]
	h100 := h200
	h100.BusWidth, h100.MemoryClockRate = 5120, 2619000
	named := func(id string, d profile.Device) profile.Device {
		d.ID = id
		return d
	}
	for name, c := range map[string]struct {
		devices []profile.Device
		at      string // the kernel's device_id
		memory  float64
		note    string
	}{
		"one":                          {[]profile.Device{named("0", h200)}, "0", 4.81e12, ""},
		"the launch's own of two":      {[]profile.Device{named("0", h100), named("1", h200)}, "1", 3.35e12, ""},
		"merged, all equal":            {[]profile.Device{named("rank0:0", h200), named("rank1:0", h200)}, "rank0-1:0", 4.81e12, ""},
		"merged, the node says which":  {[]profile.Device{named("rank0:0", h200), named("rank1:0", h100)}, "rank1:0", 3.35e12, ""},
		"merged, of different kinds":   {[]profile.Device{named("rank0:0", h200), named("rank1:0", h100)}, "rank0-1:0", 0, "does not describe the GPU"},
		"a file that describes no GPU": {nil, "0", 0, "does not describe the GPU"},
	} {
		t.Run(name, func(t *testing.T) {
			p := profileOf(t, trace)
			p.Devices = c.devices
			p.Root.Child("matmul_kernel").Set("device_id", profile.StringValue(c.at))
			j := collect(t, Options{Trace: trace, Profile: p, Kernel: "matmul"})
			w := &j.Kernels[0].Specialisations[0].Groups[0].Work
			var peak float64
			if w.Roof > 0 && w.Bound == "memory" {
				peak = w.BytesPerSecond / w.Roof
			}
			if peak < 0.99*c.memory || peak > 1.01*c.memory || (w.Roof > 0) != (c.memory > 0) {
				t.Errorf("%g of a %s roof of %g byte/s, want %g", w.Roof, w.Bound, peak, c.memory)
			}
			if notes := strings.Join(j.Notes, "\n"); strings.Contains(notes, "no share of the roof") != (c.note != "") || !strings.Contains(notes, c.note) {
				t.Errorf("notes:\n%s\nwant %q", notes, c.note)
			}
		})
	}
}

// Launches of the same arguments on GPUs with other peaks have a rate and no roof.
func TestMixedDevices(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	other := p.Devices[0]
	other.ID, other.MemoryClockRate = "1", other.MemoryClockRate/2
	p.Devices = append(p.Devices, other)
	node := p.Root.Child("matmul_kernel")
	again := node.Launches[0]
	again.Device = 1
	node.Launches = append(node.Launches, again)
	j := collect(t, Options{Trace: trace, Profile: p, Kernel: "matmul"})
	if notes := strings.Join(j.Notes, "\n"); !strings.Contains(notes, "no share of the roof: launches of the same arguments ran on GPUs of different kinds") {
		t.Errorf("notes:\n%s", notes)
	}
}
