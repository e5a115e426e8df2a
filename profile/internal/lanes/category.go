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
	byName  bool  // names of lanes say what work of a GPU is, so that categories need not
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

// kindOf says what a slice of a category is. Intel's device queues have copies and fills among their kernels, MTIA's have waits.
func (c *category) kindOf(e *Event) profile.SliceKind {
	switch {
	case e.Call, c.calls, c.kind == profile.ScopeSlice && e.ID != 0 && (c.unknown || c.name == "") && isCall(e.Name):
		return kindOfCall(e.Name)
	case c.kind == profile.KernelSlice && (strings.HasPrefix(e.Name, "zeCommandListAppend") || c.name == "mtia_ccp_events"):
		return kindOfWork(e.Name)
	}
	return c.kind
}

// note names a category that has most of the time of all slices and that means nothing here; "" if there is none.
func (t *categoryTable) note() string {
	all := int64(0)
	for _, c := range t.list {
		all = Plus(all, c.time)
	}
	for _, c := range t.list {
		if c.unknown && c.time > all/2 && !t.byName {
			return fmt.Sprintf("most of the time (%.0f%%) is in events of the category %q, which is not one of torch.profiler's or proton's: they are read as scopes of the host",
				100*float64(c.time)/float64(all), c.name)
		}
	}
	return ""
}
