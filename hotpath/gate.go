package hotpath

/*
#include "gate.h"

extern void goprotonGateChanged(void);
*/
import "C"

import (
	"sync/atomic"
	"unsafe"
)

var gateChanged atomic.Pointer[func()]

// SetGate names the scope that opens the gate; without a name there is no gate. Whenever the gate opens or closes, changed is called on the thread of
// the program that does it, in Go. Otherwise a scope enters Go only with a metric that is a list or a text.
func SetGate(scope string, changed func()) {
	gateChanged.Store(&changed)
	C.hp_gate_set((*C.char)(unsafe.Pointer(unsafe.StringData(scope+"\x00"))), C.size_t(len(scope)), (*[0]byte)(C.goprotonGateChanged))
}

// SetGateToProfilerAPI makes the driver's functions that start and stop profilers the gate.
func SetGateToProfilerAPI(changed func()) {
	gateChanged.Store(&changed)
	C.hp_gate_set(nil, 0, (*[0]byte)(C.goprotonGateChanged))
}

// GateIsOpen reports whether some thread is in the scope, or profilers are started.
func GateIsOpen() bool { return C.hp_gate_is_open() != 0 }

//export goprotonGateChanged
func goprotonGateChanged() {
	defer func() { _ = recover() }() // a bug of ours must not end the program, whose thread this is
	if f := gateChanged.Load(); f != nil {
		(*f)()
	}
}
