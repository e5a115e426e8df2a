package cupti

import (
	"github.com/goproton/goproton/hotpath"
)

// injectionVariable names the library whose InitializeInjection the CUDA driver calls when a program initialises it.
const injectionVariable = "CUDA_INJECTION64_PATH"

// Ready reports whether the program has loaded the CUDA driver. Attaching earlier could load another libcupti than torch does
// later, and two of them in one process disturb each other.
func (c *Collector) Ready() bool { return DriverLoaded() }

// AttachLater has the driver call InitializeInjection when the program initialises it. That cannot be done if this code is not in
// a library with that function, or if another tool has set the variable.
func (c *Collector) AttachLater() bool {
	own := hotpath.LibraryWith("InitializeInjection")
	if own == "" {
		return false
	}
	if set := hotpath.Getenv(injectionVariable); set != "" && set != own {
		return false
	}
	hotpath.SetEnvDefault(injectionVariable, own)
	return true
}
