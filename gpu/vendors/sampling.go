package vendors

import (
	"fmt"
	"strings"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/internal/lookup"
)

// parseSampling reads the options of the mode "pcsampling": "interval=65536:sources=drop:kernels=matmul.*", in any order, except that
// kernels comes last because it may contain colons. "" means all defaults. own reads the options that only one backend has.
func parseSampling(text string, request *record.SamplingRequest, kernels *func(string) bool, own func(key, value string) error) error {
	request.Mode, request.KeepImages, request.KeepSources = record.Continuous, true, true
	for rest := text; rest != ""; {
		var option string
		if strings.HasPrefix(strings.ToLower(rest), "kernels=") {
			option, rest = rest, ""
		} else {
			option, rest, _ = strings.Cut(rest, ":")
		}
		key, value, _ := strings.Cut(option, "=")
		key = strings.ToLower(key)
		var err error
		switch key {
		case "kernels":
			if *kernels, err = lookup.Kernels(value); err != nil {
				return fmt.Errorf("kernels=%s: %w", value, err)
			}
			request.Some = true
		case "cubins", "images": // the first is how NVIDIA's are called
			request.KeepImages, err = keep(key, value)
		case "sources":
			request.KeepSources, err = keep(key, value)
		default:
			err = own(key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep parses "keep" or "drop".
func keep(key, value string) (bool, error) {
	switch strings.ToLower(value) {
	case "keep":
		return true, nil
	case "drop":
		return false, nil
	}
	return false, fmt.Errorf("unsupported %s: %s; keep and drop are known", key, value)
}
