package cupti

/*
#include "runtime.h"

static int attribute(int device, uint32_t which) {
	int v = 0;
	return cuda.cuDeviceGetAttribute(&v, which, device) ? 0 : v;
}
static int handle(int ordinal) {
	int d = -1;
	return cuda.cuDeviceGet(&d, ordinal) ? -1 : d;
}
static void name(int device, char *out, int n) { out[0] = 0; cuda.cuDeviceGetName(out, n, device); }
static const char *text(uint32_t rc) {
	const char *s = NULL;
	if (cupti.GetErrorMessage && !cupti.GetErrorMessage(rc, &s) && s) return s;
	return cupti.GetResultString && !cupti.GetResultString(rc, &s) && s ? s : "";
}
*/
import "C"

import (
	"strconv"

	"github.com/goproton/goproton/profile"
)

// Device describes a GPU by its ordinal in this process. Unknown fields are 0 or empty.
func (c *Collector) Device(ordinal uint32) profile.Device {
	d := profile.Device{Type: "CUDA", ID: strconv.Itoa(int(ordinal))}
	h := C.handle(C.int(ordinal))
	if h < 0 {
		return d
	}
	if capability := int(C.attribute(h, C.DEV_CC_MAJOR)*10 + C.attribute(h, C.DEV_CC_MINOR)); capability > 0 {
		d.Arch = strconv.Itoa(capability)
	}
	d.BusWidth = int64(C.attribute(h, C.DEV_BUS_WIDTH))
	d.ClockRate = int64(C.attribute(h, C.DEV_CLOCK_RATE))
	d.MemoryClockRate = int64(C.attribute(h, C.DEV_MEMORY_CLOCK_RATE))
	d.NumSMs = int64(C.attribute(h, C.DEV_MULTIPROCESSORS))
	d.Name = c.DeviceName(ordinal)
	return d
}

// DeviceName returns a GPU's product name, "" if unknown.
func (c *Collector) DeviceName(ordinal uint32) string {
	h := C.handle(C.int(ordinal))
	if h < 0 {
		return ""
	}
	var buf [128]C.char
	C.name(h, &buf[0], C.int(len(buf)))
	return C.GoString(&buf[0])
}

func resultText(code uint32) string { return C.GoString(C.text(C.uint32_t(code))) }
