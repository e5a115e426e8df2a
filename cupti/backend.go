package cupti

import (
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/profiler"
)

// init registers the backend: programs import this package for it. From 13.4 on CUPTI runs WaitNs before and after each launch that it measures.
func init() {
	b := profiler.VendorBackend(vendors.NVIDIA, 0, func(o profiler.SourceOptions) profiler.Source { return New(o) })
	b.Own = []string{"WaitNs"}
	profiler.Register(b)
}
