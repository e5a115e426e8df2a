// Package hooks is the code inside the program's Python: the extension module goproton._native (scopes, the launch hook, Python
// call paths), in C against CPython's C API, which it resolves at import; and the control calls, by which Python controls sessions
// in Go.
//
// Scopes, launches and metrics go from C to the hot path without entering Go. cmd/libproton passes the hot path's table to Init,
// and sets Control.
package hooks

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -Wextra -fvisibility=hidden
#cgo LDFLAGS: -ldl -lm -lpthread
#include <stdlib.h>
#include "control.h"
void hooks_set_api(const void *api);
void hooks_set_scratch(const void *api);
*/
import "C"

import (
	"encoding/json"
	"fmt"
	"unsafe"

	// The C here includes hotpath.h from another folder, whose changes Go's build cache does not notice. With this import the
	// package is compiled again when hotpath changes.
	_ "github.com/goproton/goproton/hotpath"
	_ "github.com/goproton/goproton/hotpath/scratch" // the same
)

// Control answers one control call of goproton._native. It gets a method and its JSON parameters and returns a JSON
// result, or what ErrorJSON returns. Several threads of the program may call it at once.
var Control func(method string, params []byte) []byte

// Init sets the tables of functions, hotpath.API() and scratch.API(). The library calls it in an init function, before Python imports
// the module.
func Init(hotpath, scratch unsafe.Pointer) {
	C.hooks_set_api(hotpath)
	C.hooks_set_scratch(scratch)
}

// Interrupted lets Python look after signals, in a control call that takes long, on the goroutine that Control was called on. It returns true
// if a handler has raised an exception, as that of Ctrl-C does: the call then has to end, and the exception is what it raises.
func Interrupted() bool { return C.hooks_interrupted() != 0 }

type failure struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// ErrorJSON is the answer that makes Python raise the exception class kind (ValueError, IndexError,
// RuntimeError, NotImplementedError, OSError, TypeError, KeyError) with text as its message.
func ErrorJSON(kind, text string) []byte {
	b, err := json.Marshal(map[string]failure{"error": {kind, text}})
	if err != nil {
		panic("BUG: two strings did not marshal: " + err.Error())
	}
	return b
}

// answer calls Control and splits an error into its class and text, so that C does not parse JSON.
func answer(method string, params []byte) (result []byte, kind string) {
	defer func() {
		if p := recover(); p != nil {
			result, kind = []byte(fmt.Sprintf("BUG: control call %s: %v; please report this", method, p)), "RuntimeError"
		}
	}()
	if Control == nil {
		return []byte("control call " + method + ": this library has no sessions; use the libproton.so of the goproton package"), "RuntimeError"
	}
	result = Control(method, params)
	var e struct{ Error *failure }
	if len(result) > 8 && string(result[:8]) == `{"error"` && json.Unmarshal(result, &e) == nil && e.Error != nil {
		return []byte(e.Error.Text), e.Error.Kind
	}
	return result, ""
}

//export goprotonReady
func goprotonReady() {}

//export goprotonControl
func goprotonControl(method *C.char, methodLen C.size_t, params *C.char, paramsLen C.size_t, out *C.struct_control_answer) {
	text, kind := answer(C.GoStringN(method, C.int(methodLen)), C.GoBytes(unsafe.Pointer(params), C.int(paramsLen)))
	out.text = (*C.char)(C.malloc(C.size_t(len(text) + 1)))
	out.len = C.size_t(len(text))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(out.text)), len(text)+1), append(text, 0))
	name := unsafe.Slice((*byte)(unsafe.Pointer(&out.kind[0])), len(out.kind))
	name[copy(name[:len(name)-1], kind)] = 0
}
