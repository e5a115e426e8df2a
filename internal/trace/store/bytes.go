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
