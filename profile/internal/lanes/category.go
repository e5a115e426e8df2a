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

// kindOf says what a slice is by its category, and by its name among a vendor's calls, which have one category in Kineto's
// traces. Kineto wrote "Kernel" until 2022 and writes "kernel" since.
func (b *Builder) kindOf(cat, name string, duration int64) profile.SliceKind {
	kind, known := kindsByCategory[cat]
	if !known {
		cat = strings.ToLower(cat)
		kind, known = kindsByCategory[cat]
	}
	b.time = Plus(b.time, duration)
	switch {
	case known:
		return kind
	case !slices.Contains(vendorCalls, cat):
		if _, counted := b.unknown[cat]; counted || len(b.unknown) < mostUnknown {
			b.unknown[cat] = Plus(b.unknown[cat], duration)
		}
		return profile.ScopeSlice
	case strings.Contains(name, "Synchronize"):
		return profile.SyncSlice
	case strings.Contains(name, "Launch"), strings.Contains(name, "Memcpy"), strings.Contains(name, "Memset"):
		return profile.LaunchSlice
	}
	return profile.OtherSlice
}

// mostUnknown bounds the categories whose time is counted.
const mostUnknown = 1000

// sayUnknown names a category that holds most of the time of all slices and that means nothing here.
func (b *Builder) sayUnknown() {
	for cat, time := range b.unknown {
		if time > b.time/2 {
			b.Profile.Info[profile.InfoNote] = fmt.Sprintf("most of the time (%.0f%%) is in events of the category %q, which is not one of torch.profiler's or proton's: they are read as scopes of the host",
				100*float64(time)/float64(b.time), cat)
		}
	}
}
