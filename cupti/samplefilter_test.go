package cupti

import (
	"os"
	"regexp"
	"testing"
)

// A filter of kernels keeps the functions that they call, but not a function of the same name in another module.
func TestFilterKeepsWhatKernelsCall(t *testing.T) {
	image, err := os.ReadFile("../gpu/cubin/testdata/shared.sm90.cubin")
	if err != nil {
		t.Fatal(err)
	}
	images := map[uint64][]byte{1: image, 2: []byte("no cubin")}
	f := sampleFilter{
		matches: regexp.MustCompile("^(one|pointers)$").MatchString,
		image:   func(module uint64) []byte { return images[module] },
		called:  map[uint64]map[string]bool{},
	}
	for _, c := range []struct {
		module uint64
		name   string
		want   bool
	}{
		{1, "one", true}, {2, "one", true}, {0, "one", true}, {1, "two", false},
		{1, "_Z6middlef", true}, {1, "_Z4leaff", true}, {1, "_Z6chosenf", true}, // called, called twice over, through a pointer
		{2, "_Z4leaff", false}, {3, "_Z4leaff", false}, {0, "_Z4leaff", false}, {1, "_Z4", false},
	} {
		if got := f.kernel(c.name) || f.calledFrom(c.module, c.name); got != c.want {
			t.Errorf("%s of module %d: %v, want %v", c.name, c.module, got, c.want)
		}
	}
	images[3] = image // loaded late
	if !f.calledFrom(3, "_Z4leaff") {
		t.Error("a module that is loaded late is not read")
	}
	all := sampleFilter{}
	if !all.kernel("anything") {
		t.Error("a filter without a pattern drops samples")
	}
}
