package roctracer

// #include "room.h"
import "C"

import (
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Device describes a GPU by its ordinal in this process. Unknown fields are 0 or empty.
func (c *Collector) Device(ordinal uint32) profile.Device {
	d := profile.Device{Type: "HIP", ID: strconv.Itoa(int(ordinal))}
	var h C.struct_hip_device
	if C.hip_describe(C.int(ordinal), &h) == 0 {
		return d
	}
	d.Name = C.GoString(&h.name[0])
	d.Arch, _, _ = strings.Cut(C.GoString(&h.arch[0]), ":") // "gfx942:sramecc+:xnack-"
	d.BusWidth, d.ClockRate = int64(h.bus_width), int64(h.clock_khz)
	d.MemoryClockRate, d.NumSMs = int64(h.memory_clock_khz), int64(h.units)
	return d
}

// DeviceName returns a GPU's product name, "" if unknown.
func (c *Collector) DeviceName(ordinal uint32) string { return c.Device(ordinal).Name }
