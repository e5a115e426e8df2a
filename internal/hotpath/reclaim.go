package hotpath

// #include "control.h"
// #include "reclaim.h"
import "C"

// NodesUsed is the number of call paths that are not free.
func NodesUsed() int { return int(C.hp_nodes_used()) }

// UnindexNodes begins to reclaim call paths: threads find none of the old ones any more, except those that they hold.
// Like all of this file it is for one caller at a time, and not while a timeline or a trace keeps numbers of call paths.
func UnindexNodes() { C.hp_nodes_unindex() }

// HeldNodes hands the call paths that threads hold to f. It returns false, and is to be called again, while a thread may
// still be at work with an old one that it does not hold yet.
func HeldNodes(f func(node uint32)) bool {
	if C.hp_threads_outside() == 0 {
		return false
	}
	var out [C.HP_HELD]C.uint32_t
	for t := C.hp_first_thread(); t != nil; t = t.next {
		n := C.hp_thread_nodes(t, &out[0])
		if n < 0 {
			return false
		}
		for _, node := range out[:n] {
			f(uint32(node))
		}
	}
	return true
}

// FreeNodes frees the old call paths that are not live and not pinned, and ends what UnindexNodes began.
func FreeNodes(live func(node uint32) bool) (freed int) {
	C.hp_nodes_begin_free()
	for id := C.uint32_t(1); id < C.hp_nodes_old(); id++ {
		if !live(uint32(id)) {
			freed += int(C.hp_node_free(id))
		}
	}
	C.hp_nodes_indexed()
	return freed
}
