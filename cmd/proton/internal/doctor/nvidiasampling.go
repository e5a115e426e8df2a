package doctor

import (
	"strconv"
	"strings"
)

const capSysAdmin = 21 // bit in CapEff

// examineSampling says whether PC sampling and performance counters are allowed. Timing kernels needs no
// permission at all.
func (r *Report) examineSampling(m Machine) {
	const needs = "performance counters and PC sampling are for administrators only; kernel timing works without"
	admin := effectiveAdmin(m)
	params, err := m.read("/proc/driver/nvidia/params")
	switch {
	case admin:
		r.found("sampling", OK, "allowed: this process has CAP_SYS_ADMIN", "")
	case err != nil && r.Driver.Version == "":
		return // no driver, said already
	case err != nil:
		r.found("sampling", Note, "not known: the driver's parameters are not visible here (/proc/driver/nvidia/params)", "")
	case strings.Contains(params, "RmProfilingAdminOnly: 0"):
		r.found("sampling", OK, "allowed for every user (RmProfilingAdminOnly: 0)", "")
	default:
		r.found("sampling", Warning, needs+" (ERR_NVGPUCTRPERM)", "load the module with NVreg_RestrictProfilingToAdminUsers=0, or start the container with --cap-add=SYS_ADMIN")
	}
}

// effectiveAdmin reads the effective capabilities of this process.
func effectiveAdmin(m Machine) bool {
	text, err := m.read("/proc/self/status")
	if err != nil {
		return false
	}
	for _, line := range strings.Split(text, "\n") {
		if value, found := strings.CutPrefix(line, "CapEff:"); found {
			bits, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return err == nil && bits&(1<<capSysAdmin) != 0
		}
	}
	return false
}
