package cupti

import "github.com/goproton/goproton/internal/cubin"

// sampleFilter keeps the samples of some kernels, and of the functions that those call.
type sampleFilter struct {
	matches func(kernel string) bool // nil keeps all
	image   func(module uint64) []byte
	called  map[uint64]map[string]bool // by module: functions that a kernel calls which matches
}

// kernel says whether a function is wanted for its own name.
func (f *sampleFilter) kernel(name string) bool { return f.matches == nil || f.matches(name) }

// calledFrom says whether a function is wanted because a kernel calls it.
func (f *sampleFilter) calledFrom(module uint64, name string) bool {
	called, known := f.called[module]
	if !known {
		if called = f.learn(module); called != nil {
			f.called[module] = called
		}
	}
	return called[name]
}

// learn reads a module; nil if it is not there yet.
func (f *sampleFilter) learn(module uint64) map[string]bool {
	image := f.image(module)
	if len(image) == 0 {
		return nil
	}
	called := map[string]bool{}
	callers, err := cubin.Callers(image)
	if err != nil { // only names that match by themselves are left then
		return called
	}
	for name, kernels := range callers {
		for _, kernel := range kernels {
			called[name] = called[name] || f.matches(kernel)
		}
	}
	return called
}
