package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	kfdDevices  = "--device=/dev/kfd --device=/dev/dri"
	inContainer = "in a container, start it with " + kfdDevices
	joinGroups  = "add your user to the groups that own it (sudo usermod -aG render,video $USER, then log in again); in a container, add --group-add render --group-add video"
)

// hasKFD says whether the driver is loaded, here or, of a container, outside.
func (m Machine) hasKFD() bool { return m.exists("/dev/kfd") || m.exists("/sys/class/kfd") }

// examineKFD looks for the driver of computing, the half of amdgpu behind /dev/kfd.
func (r *Report) examineKFD(m Machine) {
	version, _ := m.read("/sys/module/amdgpu/version")
	r.rocm().Driver = strings.TrimSpace(version)
	installed, _ := m.read("/opt/rocm/.info/version")
	r.rocm().Version = strings.TrimSpace(installed)
	switch {
	case !m.exists("/dev/kfd"):
		r.found("amdgpu", Problem, "the driver is loaded, but there is no /dev/kfd here", inContainer)
	case !m.writable("/dev/kfd"):
		r.found("amdgpu", Problem, "/dev/kfd cannot be opened", joinGroups)
	default:
		text := "amdgpu " + orUnknown(r.ROCm.Driver)
		if r.ROCm.Version != "" {
			text += ", ROCm " + r.ROCm.Version
		}
		r.found("amdgpu", OK, text, "")
	}
}

// examineRenderNodes looks at the devices of the single GPUs. HIP shows only those that it can open.
func (r *Report) examineRenderNodes(m Machine) {
	if !m.exists("/dev/kfd") {
		return // said already
	}
	nodes := m.glob("/dev/dri/renderD*")
	var closed []string
	for _, node := range nodes {
		if !m.writable(node) {
			closed = append(closed, node)
		}
	}
	switch {
	case len(nodes) == 0:
		r.found("render", Problem, "there is no /dev/dri/renderD* here", inContainer)
	case len(closed) == len(nodes):
		r.found("render", Problem, strings.Join(closed, ", ")+" cannot be opened", joinGroups)
	case len(closed) > 0:
		r.found("render", Warning, strings.Join(closed, ", ")+" cannot be opened, so these GPUs are not visible", joinGroups)
	default:
		r.found("render", OK, fmt.Sprintf("%d of /dev/dri/renderD* can be opened", len(nodes)), "")
	}
}

// examineKFDGPUs reads the driver's list of GPUs, which needs no library.
func (r *Report) examineKFDGPUs(m Machine) {
	if !m.exists("/dev/kfd") {
		return
	}
	var kinds []string
	for _, node := range m.glob("/sys/class/kfd/kfd/topology/nodes/*/properties") {
		text, _ := m.read(node)
		facts := numbers(text)
		if facts["gfx_target_version"] == 0 {
			continue // a CPU
		}
		gpu := GPU{Index: len(r.GPUs), Arch: gfxName(facts["gfx_target_version"]), SMs: facts["simd_count"] / max(facts["simd_per_cu"], 1)}
		gpu.Name = "AMD " + gpu.Arch
		r.GPUs = append(r.GPUs, gpu)
		kinds = append(kinds, fmt.Sprintf("%s (%d CUs)", gpu.Arch, gpu.SMs))
	}
	if len(kinds) == 0 {
		r.found("AMD GPUs", Problem, "the driver shows no GPU (/sys/class/kfd/kfd/topology/nodes)", "look at rocminfo and dmesg")
		return
	}
	r.found("AMD GPUs", OK, counted(kinds), "")
}

// numbers reads lines of a name and a number.
func numbers(text string) map[string]int {
	facts := map[string]int{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(value); err == nil {
			facts[name] = n
		}
	}
	return facts
}

// gfxName is the name of an architecture that the driver gives as a number: 90402 is gfx942, and 90010 gfx90a.
func gfxName(version int) string {
	return fmt.Sprintf("gfx%d%x%x", version/10000, version/100%100, version%100)
}

// examineVisible looks at variables that hide GPUs.
func (r *Report) examineVisible(m Machine) {
	for _, name := range []string{"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"} {
		if value := m.Env(name); value != "" {
			r.found("visible", Warning, fmt.Sprintf("%s=%s: goproton.start refuses to run with it, as Triton's profiler does", name, value), "unset it, and set ROCR_VISIBLE_DEVICES in its place")
		}
	}
	if value := m.Env("ROCR_VISIBLE_DEVICES"); value != "" {
		r.found("visible", Note, "ROCR_VISIBLE_DEVICES="+value+" hides the other GPUs", "")
	}
}

// glob lists files as paths below the root.
func (m Machine) glob(pattern string) []string {
	paths, err := filepath.Glob(m.path(pattern))
	if err != nil {
		return nil // a root with a bracket in its name
	}
	for i, path := range paths {
		paths[i] = filepath.Join("/", strings.TrimPrefix(path, filepath.Join("/", m.Root)))
	}
	slices.SortFunc(paths, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b) // node 10 after node 9
		}
		return strings.Compare(a, b)
	})
	return paths
}
