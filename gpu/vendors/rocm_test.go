package vendors

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestPlaces(t *testing.T) {
	env := map[string]string{"TRITON_ROCTRACER_LIB_PATH": "/chosen", "LD_LIBRARY_PATH": "/one::/two"}
	s := ROCmSearch{Env: func(name string) string { return env[name] }, SitePackages: []string{"/site"}, HIP: "/hip"}
	var got strings.Builder
	for _, place := range s.Places(ROCtracer) {
		fmt.Fprintf(&got, "%s: %s\n", place.Origin, place.Folder)
	}
	want := `TRITON_ROCTRACER_LIB_PATH: /chosen
next to libamdhip64: /hip
LD_LIBRARY_PATH: /one
LD_LIBRARY_PATH: /two
Python package: /site/torch/lib
Python package: /site/_rocm_sdk_core/lib
system: /opt/rocm/lib
system: /usr/lib/TRIPLET
system: /usr/lib64
`
	if want := strings.ReplaceAll(want, "TRIPLET", triplets[runtime.GOARCH]); got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	nothing := ROCmSearch{Env: func(string) string { return "" }}
	if places := nothing.Places(SDK); places[0] != (ROCmPlace{"system", "/opt/rocm/lib"}) {
		t.Errorf("without settings, the first place is %v", places[0])
	}
}
