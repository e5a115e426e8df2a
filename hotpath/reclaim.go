package hotpath

// #include "control.h"
// #include "names.h"
// #include "paths.h"
// #include "reclaim.h"
import "C"

// NodesUsed is the number of call paths that are not free.
func NodesUsed() int { return int(C.hp_nodes_used()) }

// NodesRoom is how many call paths there is room for.
const NodesRoom = C.HP_NODES

// NameSpace is a number of names and of bytes of their texts.
type NameSpace struct{ Names, Text int }

func nameSpace(s C.struct_hp_name_space) NameSpace { return NameSpace{int(s.names), int(s.text)} }

// NamesUsed is how many names are not free, and how long their texts are; NamesRoom is how much there is room for.
func NamesUsed() NameSpace { return nameSpace(C.hp_names_used()) }

// NamesRoom is described with NamesUsed.
func NamesRoom() NameSpace { return nameSpace(C.hp_names_room()) }

// LimitNames leaves room for so much more than was ever in use, for a test. unlimit ends the limit.
func LimitNames(more NameSpace) (unlimit func()) {
	C.hp_names_limit(C.struct_hp_name_space{names: C.uint32_t(more.Names), text: C.uint64_t(more.Text)})
	return func() { C.hp_names_limit(C.struct_hp_name_space{names: 1 << 30, text: 1 << 40}) }
}

// UnindexNodes begins to reclaim call paths and the names of scopes, states and ops: threads no longer find old ones, except those
// that they hold. The functions of this file are for one caller at a time, and not for use while a timeline or a trace keeps
// numbers of call paths.
func UnindexNodes() { C.hp_nodes_unindex() }

// HeldNodes passes the call paths that threads hold to f. It returns false while some thread may be using an old one that it does
// not hold yet; it has to be called again later.
func HeldNodes(f func(node uint32)) bool {
	if C.hp_threads_outside() == 0 {
		return false
	}
	// Twice, since a thread may borrow another one's scope after it was looked at, and before the other one is, which has left the scope then.
	for range 2 {
		if !heldNodes(f) {
			return false
		}
	}
	return true
}

func heldNodes(f func(node uint32)) bool {
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

// FreeNodes frees the old call paths that are neither live nor pinned, and the old names that are no longer used. It ends
// what UnindexNodes began, and returns how much it freed.
func FreeNodes(live func(node uint32) bool) (nodes int, names NameSpace) {
	for id, old := C.uint32_t(1), C.hp_nodes_old(); id < old; id++ {
		if !live(uint32(id)) {
			nodes += int(C.hp_node_free(id))
		}
	}
	return nodes, nameSpace(C.hp_nodes_end_free())
}
