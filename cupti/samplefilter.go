package cupti

import "github.com/goproton/goproton/gpu/cubin"

// sampleFilter selects the samples of some kernels, and of the functions that these call.
type sampleFilter struct {
	matches func(kernel string) bool // nil keeps all
	image   func(module uint64) []byte
	called  map[uint64]map[string]bool // by module: functions that a matching kernel calls
}

// kernel reports whether a function's name matches.
func (f *sampleFilter) kernel(name string) bool { return f.matches == nil || f.matches(name) }

// calledFrom reports whether a matching kernel calls a function.
func (f *sampleFilter) calledFrom(module uint64, name string) bool {
	called, known := f.called[module]
	if !known {
		if called = f.learn(module); called != nil {
			f.called[module] = called
		}
	}
	return called[name]
}

// learn finds the functions that matching kernels of a module call, nil if its image is not known yet.
func (f *sampleFilter) learn(module uint64) map[string]bool {
	image := f.image(module)
	if len(image) == 0 {
		return nil
	}
	called := map[string]bool{}
	callers, err := cubin.Callers(image)
	if err != nil { // only names that match are kept then
		return called
	}
	for name, kernels := range callers {
		for _, kernel := range kernels {
			called[name] = called[name] || f.matches(kernel)
		}
	}
	return called
}
