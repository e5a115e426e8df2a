package cupti

import (
	"slices"

	"github.com/goproton/goproton/gpu/cubin"
)

// sampleFilter selects the samples of some kernels, and of the functions that these call.
type sampleFilter struct {
	matches func(kernel string) bool // nil keeps all
	image   func(module uint64) []byte
	called  map[uint64]map[string]bool // by module: functions that a matching kernel calls
}

// kernel reports whether a function's name matches.
func (f *sampleFilter) kernel(name string) bool { return f.matches == nil || f.matches(name) }

// calledFrom reports whether a matching kernel calls a function; false as long as the image of the module is not known.
func (f *sampleFilter) calledFrom(module uint64, name string) bool {
	if called, known := f.called[module]; known {
		return called[name]
	}
	image := f.image(module)
	if len(image) == 0 {
		return false
	}
	called := map[string]bool{}
	callers, _ := cubin.Callers(image) // of a damaged image, only names that match are kept
	for function, kernels := range callers {
		called[function] = slices.ContainsFunc(kernels, f.matches)
	}
	f.called[module] = called
	return called[name]
}
