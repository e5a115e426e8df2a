package conformance

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef uint64_t word;

static int call_loaded(const char *name, const word *a, word *result) {
	word (*f)(word, word, word, word, word, word, word, word, word, word, word) = dlsym(RTLD_DEFAULT, name);
	if (f) *result = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
	return f != NULL;
}
static word *cell(void) { return calloc(1, sizeof(word)); }

// libroctx64, by its own handle: the fake librocprofiler-sdk has functions of the same names.
static int (*push_range)(const char *), (*pop_range)(void);
static const char *open_roctx(const char *path) {
	void *lib = dlopen(path, RTLD_NOW);
	if (!lib) return dlerror();
	*(void **)&push_range = dlsym(lib, "roctxRangePushA"), *(void **)&pop_range = dlsym(lib, "roctxRangePop");
	return push_range && pop_range ? NULL : "it has no ranges";
}
static void roctx_push(const char *message) { push_range(message); }
static void roctx_pop(void) { pop_range(); }
static void *load_library(const char *path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL); }
*/
import "C"

import (
	"errors"
	"unsafe"
)

// Call calls a function of a loaded library by its name, with integers or addresses.
func (FakeHIP) Call(function string, arguments ...uint64) uint64 {
	var words [11]C.word
	for i, a := range arguments {
		words[i] = C.word(a)
	}
	var result C.word
	with(function, func(c *C.char) {
		if C.call_loaded(c, &words[0], &result) == 0 {
			panic(function + " is in no loaded library")
		}
	})
	return uint64(result)
}

// Make calls a function that returns an object through its first argument.
func (g FakeHIP) Make(function string, arguments ...uint64) uint64 {
	cell := C.cell()
	defer C.free(unsafe.Pointer(cell))
	if result := g.Call(function, append([]uint64{uint64(uintptr(unsafe.Pointer(cell)))}, arguments...)...); result != 0 {
		panic(function + " fails")
	}
	return uint64(*cell)
}

// Second calls a function that returns an object through its second argument.
func (g FakeHIP) Second(function string, first uint64) uint64 {
	cell := C.cell()
	defer C.free(unsafe.Pointer(cell))
	if result := g.Call(function, first, uint64(uintptr(unsafe.Pointer(cell)))); result != 0 {
		panic(function + " fails")
	}
	return uint64(*cell)
}

// Text is a copy of a text in C memory, which is not freed.
func (FakeHIP) Text(text string) uint64 { return uint64(uintptr(unsafe.Pointer(C.CString(text)))) }

// Load loads a library.
func (FakeHIP) Load(path string) (ok bool) {
	with(path, func(c *C.char) { ok = C.load_library(c) != nil })
	return ok
}

// OpenROCTX loads a libroctx64, fake or real, as a program does that marks ranges.
func OpenROCTX(path string) (err error) {
	with(path, func(c *C.char) {
		if problem := C.open_roctx(c); problem != nil {
			err = errors.New(C.GoString(problem))
		}
	})
	return err
}

// Push begins a range of roctx.
func (FakeHIP) Push(message string) { with(message, func(c *C.char) { C.roctx_push(c) }) }

// Pop ends the innermost range of roctx.
func (FakeHIP) Pop() { C.roctx_pop() }
