package cupti

import (
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/profiler"
)

// init registers the backend: programs import this package for it.
func init() {
	profiler.Register(profiler.VendorBackend(vendors.NVIDIA, 0, func(o profiler.SourceOptions) profiler.Source { return New(o) }))
}
