package launchtext

import (
	"slices"
	"strings"

	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// flat is tritonparse's name of a leaf.
func (p *LeafPath) flat() string {
	name := p.Member
	if p.IsArg {
		name += "." + p.Argument
	}
	if len(p.Path) > 0 {
		name += "." + strings.Join(p.Path, ".")
	}
	return name
}

// ofEachLaunch are members that nearly every launch has another value of, so that only the number of values is shown.
var ofEachLaunch = []string{"pid", "timestamp", "stream", "function", "data_ptr"}

// onlyCounted says whether a leaf is one of ofEachLaunch. In tritonparse an argument named stream_len is, too.
func (p *LeafPath) onlyCounted(q quirks.Set) bool {
	if q.Has(quirks.CountedByPart) {
		return slices.ContainsFunc(ofEachLaunch, func(part string) bool { return strings.Contains(p.flat(), part) })
	}
	return !p.IsArg && slices.Contains(ofEachLaunch, p.Member) || slices.ContainsFunc(p.Path, func(name string) bool { return slices.Contains(ofEachLaunch, name) })
}

// identifies reports whether the value at a place is one that the program passed. Addresses, contents and devices of tensors
// are not.
func (p *LeafPath) identifies() bool {
	if !p.IsArg || p.Member != "extracted_args" || len(p.Path) == 0 {
		return false
	}
	name := p.Path[len(p.Path)-1]
	return !OfOneLaunch[name] && !slices.Contains([]string{"device", "is_contiguous", "element_size", "storage_offset", "memory_usage"}, name)
}

// Together says whether two places are below the same member or argument.
func (p *LeafPath) Together(q *LeafPath) bool {
	return p.Member == q.Member && p.Argument == q.Argument && p.IsArg == q.IsArg
}

// DecidesKind reports whether LaunchKind may depend on the value at a place. Values inside a list are not looked at.
func (p *LeafPath) DecidesKind() bool {
	switch p.Member {
	case "grid":
		return true
	case "extracted_args":
		for _, name := range p.Path {
			if p.IsArg && OfOneLaunch[name] {
				return false
			}
		}
		return true
	}
	return false
}

// matters says whether the work of a launch may depend on the value at a place.
func (p *LeafPath) matters() bool {
	if !p.IsArg {
		return p.isGrid()
	}
	return p.Member == "extracted_args" && (len(p.Path) == 0 || p.Path[len(p.Path)-1] != "data_ptr")
}

func (p *LeafPath) isGrid() bool { return !p.IsArg && p.Member == "grid" && len(p.Path) == 0 }

// OfOneLaunch are members of an argument that differ between launches of one kind: the address and contents of a tensor.
// LaunchKind leaves them out.
var OfOneLaunch = map[string]bool{
	"data_ptr": true, "min": true, "max": true, "mean": true, "std": true, "tensor_capture_error": true,
	"tensor_hash": true, "blob_path": true, "blob_size": true, "blob_size_uncompressed": true, "compression": true,
	"compression_ratio": true, "serialization_method": true, "deduplicated": true, "error": true,
}
