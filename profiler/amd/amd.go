// Package amd registers the rocprofiler and roctracer backends with package profiler. Import it for this effect:
//
//	import _ "github.com/goproton/goproton/profiler/amd"
package amd

import (
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/profiler"
	"github.com/goproton/goproton/roctracer"
)

func init() {
	register(0, roctracer.NewSDK)
	register(1, roctracer.NewLegacy)
}

// register takes the number of a backend of vendors.AMD.
func register(number int, open func(roctracer.Options) *roctracer.Collector) {
	b := profiler.VendorBackend(vendors.AMD, number, func(o profiler.SourceOptions) profiler.Source {
		return open(roctracer.Options{SitePackages: o.SitePackages, Sampling: o.Sampling})
	})
	if number == 0 { // without a name, a machine that has roctracer only gets that
		driver := b.Detect
		b.Detect = func(o profiler.SourceOptions) bool { return driver(o) && roctracer.SDKFound(o.SitePackages) }
	}
	profiler.Register(b)
}
