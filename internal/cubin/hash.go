package cubin

import "encoding/binary"

// Hash is how collectors name a module by its content: 64 bits of FNV-1a over words of eight bytes. record.HashImage is the
// same; a test of viewer/kernels compares them.
func Hash(image []byte) uint64 {
	h := uint64(len(image)) ^ 14695981039346656037
	mix := func(word uint64) {
		h = (h ^ word) * 1099511628211
		h ^= h >> 32
	}
	for ; len(image) >= 8; image = image[8:] {
		mix(binary.LittleEndian.Uint64(image))
	}
	if len(image) > 0 {
		var rest [8]byte
		copy(rest[:], image)
		mix(binary.LittleEndian.Uint64(rest[:]))
	}
	return h
}
