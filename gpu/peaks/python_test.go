package peaks

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"testing"

	"github.com/goproton/goproton/profile"
)

// askPython prints the peaks that the Python package knows for every device on standard input.
const askPython = `
import json, sys
sys.path.insert(0, "../../hooks/python")
from goproton import specs

def peaks(device):
    facts = device["arch"], device["sms"], device["clock"]
    flops = [specs.max_flops(device["type"], facts[0], width, *facts[1:]) for width in (8, 16, 32, 64)]
    return [*flops, specs.max_bps(device["type"], facts[0], device["bus"], device["memory"])]

json.dump([peaks(device) for device in json.load(sys.stdin)], sys.stdout)
`

// TestPython compares with the Python package, which has the figures once more because it must not need us.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on PATH")
	}
	var devices []profile.Device
	cudas := append(slices.Collect(maps.Keys(perClock)), "80", "89", "90", "100")
	for _, arch := range slices.Sorted(slices.Values(cudas)) {
		devices = append(devices, profile.Device{Type: cuda, Arch: arch, NumSMs: 48, ClockRate: 1_500_000, BusWidth: 256, MemoryClockRate: 7_000_000})
		if sharedMemoryBandwidth[arch] > 0 {
			devices = append(devices, profile.Device{Type: cuda, Arch: arch, NumSMs: 48, ClockRate: 1_500_000})
		}
	}
	for _, arch := range slices.Sorted(maps.Keys(amdProtonRates)) {
		devices = append(devices, profile.Device{Type: hip, Arch: arch + ":xnack-", NumSMs: 304, ClockRate: 2_100_000})
	}
	theirs := pythonPeaks(t, python, devices)
	for i, device := range devices {
		figures := ByType[device.Type]
		for j, width := range []int{8, 16, 32, 64} {
			if want, known := figures.ProtonFlops(device, width); !known || want != theirs[i][j] {
				t.Errorf("%s %s, %d bit: Python has %g flop/s, Go %g (known: %v)", device.Type, device.Arch, width, theirs[i][j], want, known)
			}
		}
		if want, known := figures.ProtonBandwidth(device); !known || want != theirs[i][4] {
			t.Errorf("%s %s: Python has %g byte/s, Go %g (known: %v)", device.Type, device.Arch, theirs[i][4], want, known)
		}
	}
}

func pythonPeaks(t *testing.T, python string, devices []profile.Device) [][5]float64 {
	t.Helper()
	var asked []map[string]any
	for _, d := range devices {
		asked = append(asked, map[string]any{"type": d.Type, "arch": d.Arch, "sms": d.NumSMs, "clock": d.ClockRate, "bus": d.BusWidth, "memory": d.MemoryClockRate})
	}
	question, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-B", "-c", askPython)
	cmd.Stdin = bytes.NewReader(question)
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("ask the Python package: %v", err)
	}
	var peaks [][5]float64
	if err := json.Unmarshal(text, &peaks); err != nil || len(peaks) != len(devices) {
		t.Fatalf("%s: %v", text, err)
	}
	return peaks
}
