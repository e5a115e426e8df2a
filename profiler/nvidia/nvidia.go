// Package nvidia registers the cupti backend with package profiler. Import it for this effect:
//
//	import _ "github.com/goproton/goproton/profiler/nvidia"
package nvidia

import (
	"github.com/goproton/goproton/cupti"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/profiler"
)

func init() {
	profiler.Register(profiler.VendorBackend(vendors.NVIDIA, 0, func(o profiler.SourceOptions) profiler.Source {
		return cupti.New(cupti.Options{
			Sampling:     o.Sampling,
			Metered:      o.Metered,
			WholeGraphs:  o.WholeGraphs,
			NVTX:         cupti.NVTXWanted(),
			SitePackages: o.SitePackages,
			Replay:       o.Replay != "",
		})
	}))
}
