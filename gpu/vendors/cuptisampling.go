package vendors

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/internal/settings"
)

// Limits of the interval between samples in cycles. Intervals are rounded to powers of two.
const (
	leastInterval = 1 << 5
	mostInterval  = 1 << 31
)

// CUPTISampling has the options of CUPTI's sampling. Zero values leave the choice to the collector.
type CUPTISampling struct {
	Interval       uint64            // cycles between two samples of a multiprocessor; rounded to a power of two
	Kernels        func(string) bool // whether to keep samples of a kernel, by its linker name, and of what it calls; nil: all
	HardwareBuffer uint64            // bytes on the GPU
	ScratchBuffer  uint64            // bytes on the host, of CUPTI
}

// parseCUPTISampling reads the options of the mode "pcsampling": "interval=65536:collection=serialized:kernels=matmul.*".
func parseCUPTISampling(text string) (record.SamplingRequest, error) {
	request, o := record.SamplingRequest{}, CUPTISampling{}
	if err := parseSampling(text, &request, &o.Kernels, func(key, value string) error { return o.set(key, value, &request) }); err != nil {
		return record.SamplingRequest{}, err
	}
	request.Options = o
	return request, nil
}

func (o *CUPTISampling) set(key, value string, request *record.SamplingRequest) (err error) {
	switch key {
	case "interval":
		o.Interval, err = interval(value)
	case "collection":
		switch strings.ToLower(value) {
		case "continuous":
			request.Mode, request.OfLaunches = record.Continuous, false
		case "serialized":
			request.Mode, request.OfLaunches = record.Serialized, true
		default:
			return fmt.Errorf("unsupported collection: %s; continuous and serialized are known", value)
		}
	case "buffer":
		o.HardwareBuffer, err = bytes(key, value)
	case "scratch":
		o.ScratchBuffer, err = bytes(key, value)
	default:
		return fmt.Errorf("unsupported option key: %s; interval, collection, buffer, scratch, cubins, sources and kernels are known", key)
	}
	return err
}

func interval(value string) (uint64, error) {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n < leastInterval || n > mostInterval {
		return 0, fmt.Errorf("interval=%s: want a number of cycles from %d to %d", value, leastInterval, mostInterval)
	}
	return n, nil
}

// bytes parses a size such as "64M". CUPTI does not work with less than 1 MiB; more than 64 GiB is a typing error.
func bytes(key, value string) (uint64, error) {
	const least, most = 1 << 20, 1 << 36
	n, ok := settings.Size(value)
	switch {
	case !ok || n == 0:
		return 0, fmt.Errorf("%s=%s: want a number of bytes, or one with K, M or G behind it", key, value)
	case n < least || n > most:
		return 0, fmt.Errorf("%s=%s: it must be from 1M to 64G", key, value)
	}
	return uint64(n), nil
}
