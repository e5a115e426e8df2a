package cupti

import "C"

import "unsafe"

// names turns the pointers that records carry into strings. All records of a kernel share one pointer for
// as long as its module lives; afterwards the address may hold another name, so a hit is compared with
// what stands there now (a memcmp of some dozen bytes, 100 times cheaper than a new string).
type names struct {
	known map[unsafe.Pointer]string
}

func (n *names) at(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	if s, ok := n.known[p]; ok && same(p, s) {
		return s
	}
	if n.known == nil {
		n.known = make(map[unsafe.Pointer]string)
	}
	s := C.GoString((*C.char)(p))
	n.known[p] = s
	return s
}

// same compares without running past the end of what is there: byte by byte up to the NUL.
func same(p unsafe.Pointer, s string) bool {
	for i := 0; i < len(s); i++ {
		if *(*byte)(unsafe.Add(p, i)) != s[i] {
			return false
		}
	}
	return *(*byte)(unsafe.Add(p, len(s))) == 0
}

// forget drops all names, after a module was unloaded.
func (n *names) forget() { clear(n.known) }
