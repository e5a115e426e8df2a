package roctracer

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

// Whether this code is in a library that has proton_hip_loaded.
static int has_entry_point(void) {
	Dl_info info;
	if (!dladdr((void *)has_entry_point, &info) || !info.dli_fname) return 0;
	void *lib = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib) return 0;
	int found = dlsym(lib, "proton_hip_loaded") != NULL;
	dlclose(lib);
	return found;
}
*/
import "C"

// attachWhenLoaded is true in a process that calls proton_hip_loaded of libproton once it has loaded HIP: Python's import hook
// does, and so does the library that `proton run` preloads. HIP itself has no hook for that.
func attachWhenLoaded() bool { return C.has_entry_point() != 0 }
