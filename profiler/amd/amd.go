// Package amd registers the rocprofiler and roctracer backends with package profiler. Import it for this effect:
//
//	import _ "github.com/goproton/goproton/profiler/amd"
package amd

import (
	"github.com/goproton/goproton/internal/vendor"
	"github.com/goproton/goproton/profiler"
	"github.com/goproton/goproton/roctracer"
)

func init() {
	register("roctracer", roctracer.NewLegacy)
}

func register(name string, open func(roctracer.Options) *roctracer.Collector) {
	b := profiler.VendorBackend(vendor.AMD, func(o profiler.SourceOptions) profiler.Source {
		return open(roctracer.Options{SitePackages: o.SitePackages, Sampling: o.Sampling})
	})
	b.Names = []string{name}
	profiler.Register(b)
}
