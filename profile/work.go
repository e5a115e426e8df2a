package profile

import "strings"

// Work is what a GPU does in a frame that stands for something that ran on it.
type Work int

// The kinds of work. A frame of any other name is a kernel if it stands for work at all.
const (
	KernelWork  Work = iota
	LocalCopy        // within the memory of one GPU
	LinkedCopy       // over a link: to or from the host, or between GPUs
	Fill             // of memory with a value
	HostWaiting      // a wait of the host for the GPU
)

// WorkOf reads the kind of work off a frame's name: "<memcpy HtoD>", "<memset>" and "<sync stream>" are this profiler's,
// "Memcpy HtoD (Pageable -> Device)" and "Memset (Device)" are Kineto's.
func WorkOf(name string) Work {
	if own := strings.HasPrefix(name, "<mem") || strings.HasPrefix(name, "<sync "); !own && !strings.HasPrefix(name, "Mem") {
		return KernelWork // the common case, and a scope may be called anything
	}
	switch name = strings.ToLower(strings.Trim(name, "<>")); {
	case name == "memcpy" || strings.HasPrefix(name, "memcpy "):
		for _, way := range []string{"dtod", "dtoa", "atod", "atoa"} {
			if strings.HasPrefix(name, "memcpy "+way) {
				return LocalCopy
			}
		}
		return LinkedCopy
	case name == "memset" || strings.HasPrefix(name, "memset ("):
		return Fill
	case strings.HasPrefix(name, "sync "):
		return HostWaiting
	}
	return KernelWork
}
