package aggregate

import (
	"os"
	"sync"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
)

var (
	launchKindsLock   sync.RWMutex                      // guards what follows
	launchKinds       []profile.LaunchKind              // by number - 1
	launchKindNumbers = map[profile.LaunchKind]uint32{} // by what tells kinds apart: ID, Hash and Function
	launchKindsOf     = map[profile.LaunchKind]int{}    // kinds of each kernel, without their IDs
)

// LaunchKindsPerKernel is how many kinds of one compiled kernel have numbers of their own. A seed or a step among the arguments makes
// a kind of every launch; the numbers are to be left for other kernels, and no reader wants so many sums.
const LaunchKindsPerKernel = 1 << 12

// RestOfLaunches is added to the number that all further kinds of a kernel share, so that no launch needs to ask for those.
const RestOfLaunches = 1 << 16

// RegisterLaunchKind returns the number of a kind, the same for the same kind as long as the process lives. Kinds of a kernel beyond
// LaunchKindsPerKernel share one. When there is no number left, after 65534 kinds, it is hotpath.Others, which all share.
func RegisterLaunchKind(k profile.LaunchKind) uint32 {
	key := profile.LaunchKind{ID: k.ID, Hash: k.Hash, Function: k.Function}
	launchKindsLock.RLock()
	n, known := launchKindNumbers[key]
	launchKindsLock.RUnlock()
	if known {
		return n
	}
	launchKindsLock.Lock()
	defer launchKindsLock.Unlock()
	if n, known := launchKindNumbers[key]; known {
		return n
	}
	kernel := profile.LaunchKind{Hash: k.Hash, Function: k.Function}
	rest := launchKindsOf[kernel] == LaunchKindsPerKernel
	if n, known := launchKindNumbers[kernel]; rest && known {
		return n
	}
	if len(launchKinds) == hotpath.Others-1 {
		return hotpath.Others
	}
	number := uint32(len(launchKinds) + 1)
	if rest {
		k.ID, key = "", kernel
		launchKindNumbers[key] = number | RestOfLaunches
	} else {
		launchKindNumbers[key] = number
		launchKindsOf[kernel]++
	}
	launchKinds = append(launchKinds, k)
	return launchKindNumbers[key]
}

// LaunchKindOf describes the launches that carry a tag, as profiles do. Those that share a number, and those whose number was never
// registered, have no ID.
func LaunchKindOf(tag uint16) (k profile.LaunchKind) {
	launchKindsLock.RLock()
	defer launchKindsLock.RUnlock()
	if tag != 0 && int(tag) <= len(launchKinds) {
		k = launchKinds[tag-1]
	}
	k.PID = os.Getpid()
	return k
}

// ForgetLaunchKinds drops every kind. Only tests may: launches may be tagged with their numbers.
func ForgetLaunchKinds() {
	launchKindsLock.Lock()
	defer launchKindsLock.Unlock()
	launchKinds = nil
	clear(launchKindNumbers)
	clear(launchKindsOf)
}
