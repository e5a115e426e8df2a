package hotpath

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static const char *own_library(const char *symbol) {
	Dl_info info;
	if (!dladdr((void *)own_library, &info) || !info.dli_fname) return NULL;
	void *lib = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib) return NULL;
	int found = dlsym(lib, symbol) != NULL;
	dlclose(lib);
	return found ? info.dli_fname : NULL;
}
*/
import "C"

import "unsafe"

// LibraryWith is the path of the library, "" if it does not export a symbol, as when the code is in the program itself.
func LibraryWith(symbol string) string {
	c := C.CString(symbol)
	defer C.free(unsafe.Pointer(c))
	return C.GoString(C.own_library(c))
}
