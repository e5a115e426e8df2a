package cupti

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

// The file this code was loaded from, NULL when it is the program itself.
static const char *own_library(void) {
	Dl_info info;
	if (!dladdr((void *)own_library, &info) || !info.dli_fname) return NULL;
	void *lib = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib) return NULL;
	int injectable = dlsym(lib, "InitializeInjection") != NULL;
	dlclose(lib);
	return injectable ? info.dli_fname : NULL;
}
*/
import "C"

import (
	"errors"

	"github.com/goproton/goproton/internal/environ"
)

// injectionVariable names the library that the CUDA driver loads and calls when a program initialises it.
const injectionVariable = "CUDA_INJECTION64_PATH"

// Ready reports whether the program has loaded the CUDA driver. Attaching earlier would load a libcupti of
// our choice before torch brings its own, and two of them in one process get in each other's way.
func (c *Collector) Ready() bool { return DriverLoaded() }

// AttachLater has the driver call us back (InitializeInjection) when the program initialises it. It fails
// in a program that is not injectable, or when another tool holds that place.
func (c *Collector) AttachLater() error {
	own := C.own_library()
	if own == nil {
		return errors.New("this program was not built with an injection entry point")
	}
	if set := environ.Get(injectionVariable); set != "" && set != C.GoString(own) {
		return errors.New(injectionVariable + " is in use by " + set)
	}
	environ.SetDefault(injectionVariable, C.GoString(own))
	return nil
}
