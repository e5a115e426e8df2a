package vendors

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/record"
)

func TestAMDSampling(t *testing.T) {
	for text, want := range map[string]AMDSampling{
		"":                            {},
		"interval=4096":               {Interval: 4096},
		"method=Host_Trap:interval=1": {Method: HostTrap, Interval: 1},
		"collection=continuous:method=stochastic": {Method: Stochastic},
	} {
		r, err := parseAMDSampling(text)
		got, _ := r.Options.(AMDSampling)
		if err != nil || got.Interval != want.Interval || got.Method != want.Method || got.Kernels != nil {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
		if r.Mode != record.Continuous || !r.OfLaunches || !r.KeepImages || !r.KeepSources {
			t.Errorf("%q requests %+v", text, r)
		}
	}
	r, err := parseAMDSampling("images=drop:sources=drop:kernels=a:b|c=d")
	if o, _ := r.Options.(AMDSampling); err != nil || r.KeepImages || r.KeepSources || !o.Kernels("xa:b") || !o.Kernels("c=d") || o.Kernels("a") {
		t.Errorf("kernels and what is kept: %+v, %v", r, err)
	}
	for text, want := range map[string]string{
		"interval=0":            "want a positive number",
		"interval=1k":           "want a positive number",
		"method=nmi":            "stochastic and host_trap are known",
		"collection=serialized": "it is continuous",
		"buffer=1M":             "unsupported option key: buffer",
		"images=no":             "keep and drop are known",
		"kernels=(":             "read the pattern",
	} {
		if _, err := parseAMDSampling(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestSamplingIsOfOneBackend: of AMD's two backends only the first samples.
func TestSamplingIsOfOneBackend(t *testing.T) {
	before := All
	t.Cleanup(func() { All = before })
	All = List(NVIDIA, AMD)
	for backend, want := range map[string]bool{"rocprofiler": true, "roctracer": false, "cupti": false} {
		if _, err := ParseMode(backend, "pcsampling", "method=stochastic"); (err == nil) != want {
			t.Errorf("pcsampling:method=stochastic of %s: %v", backend, err)
		}
	}
	if v := ByDevice("HIP"); v != AMD || ByTarget("hip") != AMD || ArchName("HIP", "gfx942") != "gfx942" {
		t.Errorf("HIP is %v", v.Name)
	}
	for _, name := range append(AMDReasons, AMD.Stalls.Issued, AMD.Stalls.Ready) {
		if _, known := AMD.Stalls.Explain(name); !known {
			t.Errorf("%q is not explained", name)
		}
	}
}
