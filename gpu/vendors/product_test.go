package vendors

import "testing"

// TestMakersOfProducts: PyTorch's traces name a device as the maker's driver does; one of another maker has none here.
func TestMakersOfProducts(t *testing.T) {
	for name, want := range map[string]*Vendor{
		"NVIDIA H200": NVIDIA, "Tesla T4": NVIDIA, "GeForce RTX 2080 Ti": NVIDIA, "AMD Instinct MI300X": AMD, "Radeon 8060S Graphics": AMD,
		"Intel(R) Data Center GPU Max 1550": nil,
	} {
		if got := ByProduct(name); got != want {
			t.Errorf("%s is made by %v, want %v", name, got, want)
		}
	}
	if got := NVIDIA.Arch(8, 9); got != "89" {
		t.Errorf("compute capability 8.9 is of architecture %s", got)
	}
}
