package cupti

// #include <stdlib.h>
import "C"

import "unsafe"

// Libraries read C's environment, of which Go keeps a copy from start-up: these two use C's own.

func getenv(name string) string {
	k := C.CString(name)
	defer C.free(unsafe.Pointer(k))
	return C.GoString(C.getenv(k))
}

// setenv sets a variable unless it is set already.
func setenv(name, value string) {
	k, v := C.CString(name), C.CString(value)
	defer C.free(unsafe.Pointer(k))
	defer C.free(unsafe.Pointer(v))
	C.setenv(k, v, 0)
}
