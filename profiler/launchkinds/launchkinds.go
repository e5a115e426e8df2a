// Package launchkinds numbers the kinds of launches that a trace distinguishes: the launches of one compiled kernel with
// the same arguments. The recorder of the trace asks for a number once per kind, off the hot path, and tags launches with it
// (tag_launch of struct hp_api); package aggregate sums kernel times by number, and profiles name the kinds again.
package launchkinds

import (
	"os"
	"sync"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
)

// Kind is what the launches of one number have in common. ID, Hash and Function tell kinds apart.
type Kind struct {
	ID       string // as tritonparse.LaunchKind makes it
	Kernel   string // the kernel's name, as compiled
	Hash     string // Triton's compile hash
	Function uint64 // the CUfunction handle
}

type identity struct {
	id, hash string
	function uint64
}

var (
	mu       sync.RWMutex // guards what follows
	kinds    []Kind       // by number - 1
	numbers  = map[identity]uint32{}
	ofKernel = map[identity]int{} // kinds of each kernel, without their IDs
)

// PerKernel is how many kinds of one compiled kernel have numbers of their own. A seed or a step among the arguments makes
// a kind of every launch; the numbers are to be left for other kernels, and no reader wants so many sums.
const PerKernel = 1 << 12

// Rest is added to the number that all further kinds of a kernel share, so that no launch needs to ask for those.
const Rest = 1 << 16

// Register returns the number of a kind, the same for the same kind as long as the process lives. Kinds of a kernel beyond
// PerKernel share one. When there is no number left, after 65534 kinds, it is hotpath.Others, which all share.
func Register(k Kind) uint32 {
	key := identity{k.ID, k.Hash, k.Function}
	mu.RLock()
	n, known := numbers[key]
	mu.RUnlock()
	if known {
		return n
	}
	mu.Lock()
	defer mu.Unlock()
	if n, known := numbers[key]; known {
		return n
	}
	kernel := identity{"", k.Hash, k.Function}
	rest := ofKernel[kernel] == PerKernel
	if n, known := numbers[kernel]; rest && known {
		return n
	}
	if len(kinds) == hotpath.Others-1 {
		return hotpath.Others
	}
	number := uint32(len(kinds) + 1)
	if rest {
		k.ID, key = "", kernel
		numbers[key] = number | Rest
	} else {
		numbers[key] = number
		ofKernel[kernel]++
	}
	kinds = append(kinds, k)
	return numbers[key]
}

// Of describes the launches that carry a tag, as profiles do. Those that share a number, and those whose number was never
// registered, have no ID.
func Of(tag uint16) profile.LaunchKind {
	mu.RLock()
	defer mu.RUnlock()
	if tag == 0 || int(tag) > len(kinds) {
		return profile.LaunchKind{PID: os.Getpid()}
	}
	k := kinds[tag-1]
	return profile.LaunchKind{ID: k.ID, Kernel: k.Kernel, Hash: k.Hash, PID: os.Getpid(), Function: k.Function}
}

// Forget drops every kind. Only tests may: launches may be tagged with their numbers.
func Forget() {
	mu.Lock()
	defer mu.Unlock()
	kinds = nil
	clear(numbers)
	clear(ofKernel)
}
