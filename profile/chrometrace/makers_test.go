package chrometrace

import (
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestMakersOfDevices: PyTorch's traces name a device as the maker's driver does; a device of another maker has no type.
func TestMakersOfDevices(t *testing.T) {
	for name, want := range map[string]profile.Device{
		"NVIDIA H200": {Type: "CUDA", Arch: "90"}, "Tesla T4": {Type: "CUDA", Arch: "90"}, "GeForce RTX 2080 Ti": {Type: "CUDA", Arch: "90"},
		"AMD Instinct MI300X": {Type: "HIP"}, "Radeon 8060S Graphics": {Type: "HIP"}, "Intel(R) Data Center GPU Max 1550": {},
	} {
		got := profile.Device{Name: name}
		want.Name = name
		if setMaker(&got, 9, 0); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
