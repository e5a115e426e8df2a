package lanes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Categories are the categories of slices in the files that we write.
var Categories = [...]string{
	profile.ScopeSlice:  "scope",
	profile.LaunchSlice: "launch",
	profile.KernelSlice: "kernel",
	profile.GraphSlice:  "graph",
	profile.CopySlice:   "memcpy",
	profile.FillSlice:   "memset",
	profile.SyncSlice:   "sync",
	profile.OtherSlice:  "other",
	profile.InsideSlice: "inside",
}

// ScopeWithMetrics is the category of a scope that has metrics, as upstream writes it.
const ScopeWithMetrics = "metric"

// kindsByCategory has our categories, and Kineto's. Of what is in none of them, nothing is known but that it is
// named and took time: a scope.
var kindsByCategory = func() map[string]profile.SliceKind {
	kinds := map[string]profile.SliceKind{
		ScopeWithMetrics: profile.ScopeSlice,
		"gpu_memcpy":     profile.CopySlice,
		"gpu_memset":     profile.FillSlice,
		"cuda_sync":      profile.OtherSlice, // what the GPU saw of a wait that the call shows
		"overhead":       profile.OtherSlice,
		"trace":          profile.OtherSlice,
	}
	for _, cat := range []string{"", "operator", "cpu_op", "user_annotation", "gpu_user_annotation", "python_function", "cpu_instant_event", "async"} {
		kinds[cat] = profile.ScopeSlice
	}
	for kind, cat := range Categories {
		kinds[cat] = profile.SliceKind(kind)
	}
	return kinds
}()

// vendorCalls are the categories of the calls of a vendor's library, whose names say what they do.
var vendorCalls = []string{"cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "privateuse1_runtime", "runtime"}

// category is one of a file's.
type category struct {
	name    string
	kind    profile.SliceKind
	calls   bool  // of a vendor's library: the name of a slice says what it is
	unknown bool  // slices are taken for scopes because nothing is known of them
	time    int64 // of its slices, in ns
}

// categoryTable numbers the categories of a file. 0 is none.
type categoryTable struct {
	numbers map[string]int32
	list    []category
	last    int32 // most events have the category of the one before
}

func newCategoryTable() categoryTable {
	return categoryTable{numbers: map[string]int32{"": 0}, list: []category{{kind: profile.ScopeSlice}}}
}

func (t *categoryTable) of(name string) int32 {
	if name == "" {
		return 0
	}
	if t.list[t.last].name == name {
		return t.last
	}
	number, known := t.numbers[name]
	if !known {
		number = int32(len(t.list))
		t.numbers[name] = number
		t.list = append(t.list, newCategory(name))
	}
	t.last = number
	return number
}

// newCategory looks a category up. Kineto wrote "Kernel" until 2022 and writes "kernel" since.
func newCategory(name string) category {
	lower := strings.ToLower(name)
	kind, known := kindsByCategory[name]
	if !known {
		kind, known = kindsByCategory[lower]
	}
	c := category{name: name, kind: kind, calls: !known && slices.Contains(vendorCalls, lower)}
	c.unknown = !known && !c.calls
	return c
}

// kindOf says what a slice of a category is.
func (c *category) kindOf(name string) profile.SliceKind {
	switch {
	case !c.calls:
		return c.kind
	case strings.Contains(name, "Synchronize"):
		return profile.SyncSlice
	case strings.Contains(name, "Launch"), strings.Contains(name, "Memcpy"), strings.Contains(name, "Memset"):
		return profile.LaunchSlice
	}
	return profile.OtherSlice
}

// note names a category that has most of the time of all slices and that means nothing here; "" if there is none.
func (t *categoryTable) note() string {
	all := int64(0)
	for _, c := range t.list {
		all = Plus(all, c.time)
	}
	for _, c := range t.list {
		if c.unknown && c.time > all/2 {
			return fmt.Sprintf("most of the time (%.0f%%) is in events of the category %q, which is not one of torch.profiler's or proton's: they are read as scopes of the host",
				100*float64(c.time)/float64(all), c.name)
		}
	}
	return ""
}
