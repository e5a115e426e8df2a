package main

/*
#include "hold.h"
*/
import "C"

import "unsafe"

func holdable(api unsafe.Pointer) unsafe.Pointer { return unsafe.Pointer(C.hold_api(api)) }
func holdWalk()                                  { C.hold_walk() }
func holdCall()                                  { C.hold_call() }
func held() int                                  { return int(C.hold_held()) }
