package cupti

/*
#include <stdlib.h>
#include "runtime.h"

static uint32_t get_version(uint32_t *v) { return cupti.GetVersion(v); }
static uint32_t driver_version(int *v) { return cuda.cuDriverGetVersion(v); }
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/hotpath"
)

// ErrNoDriver is wrapped by Attach's error on a machine without an NVIDIA driver.
var ErrNoDriver = errors.New("no NVIDIA driver")

// DriverLoaded reports whether the program has loaded the CUDA driver.
func DriverLoaded() bool { return C.cuda_is_loaded() != 0 }

// loadDriver opens libcuda and returns the CUDA version that it supports; 13000 is 13.0.
func loadDriver() (int, error) {
	var missing C.int
	if text := C.cuda_load(&missing); text != nil {
		if missing != 0 {
			return 0, fmt.Errorf("open libcuda.so.1: it has no %s; the NVIDIA driver is too old: update it", C.GoString(text))
		}
		return 0, fmt.Errorf("%w: %s; install one, or run where a GPU is", ErrNoDriver, C.GoString(text))
	}
	var v C.int
	C.driver_version(&v)
	return int(v), nil
}

// loadLibrary chooses a libcupti and fills the table of its functions.
func (c *Collector) loadLibrary(driver int) error {
	search := vendors.Search{Env: hotpath.Getenv, SitePackages: c.opts.SitePackages}
	if maps, err := os.Open("/proc/self/maps"); err == nil {
		defer maps.Close()
		search.Maps = maps
	}
	candidate, _, err := vendors.Choose(search.Candidates(), driver)
	if err != nil {
		return err
	}
	path := C.CString(candidate.Path)
	defer C.free(unsafe.Pointer(path))
	var missing C.int
	if text := C.cupti_load(path, &missing); text != nil {
		if missing != 0 {
			return fmt.Errorf("open %s: it has no %s; set PROTON_CUPTI_PATH to a libcupti of CUDA 11.8 or newer", candidate.Path, C.GoString(text))
		}
		return fmt.Errorf("open %s: %s", candidate.Path, C.GoString(text))
	}
	var version C.uint32_t
	C.get_version(&version)
	c.library, c.version = candidate, uint32(version)
	return nil
}
