package tritonparse

import "strings"

// KernelOfFrame is the name of the kernel that a profile's frame stands for. A launch_metadata function may have put more
// behind it, as matmul_<grid:64x1x1>_<warps:8>, which no name of a Python function can contain.
func KernelOfFrame(frame string) string {
	kernel, _, _ := strings.Cut(frame, "_<")
	return kernel
}
