package cupti

import (
	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/internal/gpucode"
)

// Module is a module to ask about its functions, nil as long as its image was not seen.
func (c *Collector) Module(hash uint64) gpucode.Module {
	image := c.Image(hash)
	if image == nil {
		return nil
	}
	return cubin.NewModule(image)
}

// ImageSuffix is what files of images end in.
func (c *Collector) ImageSuffix() string { return "cubin" }
