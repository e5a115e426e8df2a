package store

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// SamePrefix is how many bytes two texts have in common at their beginning.
func SamePrefix(a, b []byte) int {
	const stride = 256
	n := min(len(a), len(b))
	i := 0
	for i+stride <= n && bytes.Equal(a[i:i+stride], b[i:i+stride]) {
		i += stride
	}
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// Hash64 is FNV-1a, mixed as at the end of MurmurHash3, so that low bits are as good as the others. It is the same in every
// process, so estimates are too.
func Hash64[T string | []byte](text T) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
