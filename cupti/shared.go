package cupti

// #include "shared.h"
import "C"

import (
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/recorder"
	"github.com/goproton/goproton/internal/settings"
)

// shares reports whether to subscribe next to others: one exists that allows it, or this is the first and is to allow it. CUPTI's functions for
// sampling and counters are for one subscriber. A library whose answer could not be established is one for a single subscriber.
func (c *Collector) shares(driver int) bool {
	if c.subscribed.samples || c.subscribed.counted || recorder.API() != nil {
		return false
	}
	switch C.cupti_sharing(C.cupti_library(), C.uint32_t(c.version), C.int(driver)) {
	case C.SHARING_YES:
		return true
	case C.SHARING_FREE:
		return settings.Shared.On(hotpath.Getenv)
	}
	return false
}
