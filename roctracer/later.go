package roctracer

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

// Whether this code is in a library that has the function for whoever sees HIP being loaded.
static int can_be_told(void) {
	Dl_info info;
	if (!dladdr((void *)can_be_told, &info) || !info.dli_fname) return 0;
	void *lib = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib) return 0;
	int told = dlsym(lib, "proton_hip_loaded") != NULL;
	dlclose(lib);
	return told;
}
*/
import "C"

// attachWhenLoaded returns nil if somebody will call proton_hip_loaded of libproton once the program has loaded HIP: Python's import
// hook, or the library that `proton run` has the loader preload. HIP itself has no such hook.
func attachWhenLoaded() error {
	if C.can_be_told() == 0 {
		return errNoHIP
	}
	return nil
}
