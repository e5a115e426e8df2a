package roctracer

import (
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/profiler"
)

// init registers the backends: programs import this package for them.
func init() {
	register(0, NewSDK)
	register(1, NewLegacy)
}

// register takes the number of a backend of vendors.AMD.
func register(number int, open func(profiler.SourceOptions) *Collector) {
	b := profiler.VendorBackend(vendors.AMD, number, func(o profiler.SourceOptions) profiler.Source { return open(o) })
	if number == 0 { // without a name, a machine that has roctracer only gets that
		driver := b.Detect
		b.Detect = func(o profiler.SourceOptions) bool { return driver(o) && SDKFound(o.SitePackages) }
	}
	profiler.Register(b)
}
