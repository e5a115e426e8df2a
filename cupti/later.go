package cupti

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

// The library that this code is in, NULL if it has no InitializeInjection, as when it is the program itself.
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

import "github.com/goproton/goproton/internal/environ"

// injectionVariable names the library whose InitializeInjection the CUDA driver calls when a program initialises it.
const injectionVariable = "CUDA_INJECTION64_PATH"

// Ready reports whether the program has loaded the CUDA driver. Attaching earlier could load another libcupti than torch does
// later, and two of them in one process disturb each other.
func (c *Collector) Ready() bool { return DriverLoaded() }

// AttachLater has the driver call InitializeInjection when the program initialises it. That cannot be done if this code is not in
// a library with that function, or if another tool has set the variable.
func (c *Collector) AttachLater() bool {
	own := C.own_library()
	if own == nil {
		return false
	}
	if set := environ.Get(injectionVariable); set != "" && set != C.GoString(own) {
		return false
	}
	environ.SetDefault(injectionVariable, C.GoString(own))
	return true
}
