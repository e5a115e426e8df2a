// What the program runs on an NVIDIA GPU: vectors, and y = a·x + y. It needs the driver to run and nothing to build.

package main

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "driver.h"
import "C"

import (
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

//go:embed kernels.ptx
var kernels string

// Device is the first GPU of the machine. Its methods may be called from any goroutine.
type Device struct {
	driver               *C.struct_driver
	context, fill, saxpy unsafe.Pointer
}

// Vector is some numbers in a device's memory, which it keeps until the program ends.
type Vector struct {
	device  *Device
	address C.uint64_t
	n       C.uint32_t
}

// openGPU initialises the GPU and compiles the kernels for it.
func openGPU() (*Device, error) {
	runtime.LockOSThread() // dlerror belongs to the thread that failed
	defer runtime.UnlockOSThread()
	d := &Device{driver: (*C.struct_driver)(C.calloc(1, C.sizeof_struct_driver))}
	if problem := C.driver_open(d.driver); problem != nil {
		return nil, errors.New("open the CUDA driver: " + C.GoString(problem) + ": run this on a machine with an NVIDIA GPU")
	}
	ptx := C.CString(kernels)
	defer C.free(unsafe.Pointer(ptx))
	rc := C.driver_start(d.driver, ptx, &d.context, &d.fill, &d.saxpy)
	return d, d.check(rc, "start the GPU")
}

// NewVector allocates n numbers and sets them all to one value.
func (d *Device) NewVector(n int, value float32) (Vector, error) {
	v := Vector{device: d, n: C.uint32_t(n)}
	if rc := C.driver_allocate(d.driver, d.context, &v.address, C.size_t(4*n)); rc != 0 {
		return v, d.check(rc, fmt.Sprintf("allocate %d numbers", n))
	}
	return v, d.check(C.driver_fill(d.driver, d.context, d.fill, v.address, C.float(value), v.n), "launch fill")
}

// AddScaled adds a·x to the vector. It returns before the GPU is done.
func (v Vector) AddScaled(a float32, x Vector) error {
	d := v.device
	return d.check(C.driver_saxpy(d.driver, d.context, d.saxpy, v.address, C.float(a), x.address, v.n), "launch saxpy")
}

// Last waits for the GPU and returns the last number.
func (v Vector) Last() (float32, error) {
	var number C.float
	last := v.address + C.uint64_t(4*(v.n-1))
	rc := C.driver_read(v.device.driver, v.device.context, &number, last)
	return float32(number), v.device.check(rc, "read a number")
}

func (d *Device) check(rc C.int, doing string) error {
	if rc == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s (%d): see what proton doctor says", doing, C.GoString(C.driver_error(d.driver, rc)), int(rc))
}
