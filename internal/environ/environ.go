// Package environ reads and sets C's environment, which libraries in the process read and change. Go's os.Getenv reads a copy that
// was made at start-up. It also finds the shared library that this program's code is in.
package environ

// #include <stdlib.h>
import "C"

import "unsafe"

// Get returns a variable, "" if it is not set.
func Get(name string) string {
	k := C.CString(name)
	defer C.free(unsafe.Pointer(k))
	return C.GoString(C.getenv(k))
}

// SetDefault sets a variable unless it is set already.
func SetDefault(name, value string) {
	k, v := C.CString(name), C.CString(value)
	defer C.free(unsafe.Pointer(k))
	defer C.free(unsafe.Pointer(v))
	C.setenv(k, v, 0)
}
