package main

/*
#include "../../../hotpath/vendor.h"
static void launch(const struct hp_vendor_api *hp, uint32_t corr, uint64_t func) { hp->launch(corr, func); }
*/
import "C"

import (
	"math"
	"sync/atomic"

	"github.com/goproton/goproton/hotpath"
)

var correlation atomic.Uint32

// launch does what CUPTI's callback does at a kernel launch, on the calling thread.
func launch(function uint64) {
	C.launch((*C.struct_hp_vendor_api)(hotpath.VendorAPI()), C.uint32_t(correlation.Add(1)), C.uint64_t(function))
}

func double(bits uint64) float64 { return math.Float64frombits(bits) }
