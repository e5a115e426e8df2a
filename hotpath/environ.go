package hotpath

// #include <stdlib.h>
import "C"

import "unsafe"

// Getenv returns a variable of C's environment, which libraries in the process read and change, "" if it is not set. Go's os.Getenv reads a
// copy that was made at start-up.
func Getenv(name string) string {
	k := C.CString(name)
	defer C.free(unsafe.Pointer(k))
	return C.GoString(C.getenv(k))
}

// SetEnvDefault sets a variable unless it is set already.
func SetEnvDefault(name, value string) {
	k, v := C.CString(name), C.CString(value)
	defer C.free(unsafe.Pointer(k))
	defer C.free(unsafe.Pointer(v))
	C.setenv(k, v, 0)
}
