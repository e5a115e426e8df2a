package cupti

import (
	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/cubin"
)

// Module returns a module by the hash of its image, nil if the image is not known.
func (c *Collector) Module(hash uint64) gpu.Module {
	image := c.Image(hash)
	if image == nil {
		return nil
	}
	return cubin.NewModule(image)
}

// ImageSuffix is the suffix of files with images.
func (c *Collector) ImageSuffix() string { return "cubin" }
