package roctracer

import "testing"

// TestRefusals: each status of roctracer is one sentence that says what to do.
func TestRefusals(t *testing.T) {
	const torn = "/opt/rocm/lib/libroctracer64.so.4 (version 4.1) may be of another ROCm than the program's libamdhip64; set TRITON_ROCTRACER_LIB_PATH to the folder of the right one"
	l := &legacy{path: "/opt/rocm/lib/libroctracer64.so.4", version: 401}
	for code, want := range map[int]string{
		-1: "roctracer error -1 (generic error): the driver may not work here; check rocminfo, and see `proton doctor`",
		-2: "roctracer error -2 (invalid domain): " + torn,
		-3: "roctracer error -3 (invalid argument): " + torn,
		-4: "roctracer error -4 (no pool of records): another profiler has closed it; stop that one (torch.profiler, rocprof), or run without it",
		-5: "roctracer error -5 (a pool exists): another profiler (torch.profiler, rocprof) uses roctracer in this process, and roctracer serves one at a time; stop it, or run without it",
		-6: "roctracer error -6 (no memory): the process has no memory left; raise its limit (ulimit -v)",
		-7: "roctracer error -7 (mismatched external id): see `proton doctor`",
		-8: "roctracer error -8 (unimplemented function): " + torn,
		-9: "roctracer error -9: see `proton doctor`",
	} {
		if got := l.refused("enable records", code).Error(); got != "enable records: "+want {
			t.Errorf("%d:\n%s, want\nenable records: %s", code, got, want)
		}
	}
}
