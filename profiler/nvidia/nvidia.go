// Package nvidia makes the cupti backend known to package profiler. Import it for its effect:
//
//	import _ "github.com/goproton/goproton/profiler/nvidia"
package nvidia

import (
	"unsafe"

	"github.com/goproton/goproton/cupti"
	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profiler"
)

// HotPath is the table of hot-path functions that CUPTI's callbacks use; a recorder may stand in front.
var HotPath unsafe.Pointer = hotpath.API()

func init() {
	profiler.Register("cupti", func(o profiler.SourceOptions) profiler.Source {
		return cupti.New(cupti.Options{
			Sampling:     o.Sampling,
			WholeGraphs:  o.WholeGraphs,
			NVTX:         cupti.NVTXWanted(),
			SitePackages: o.SitePackages,
			HotPath:      HotPath,
		})
	})
}
