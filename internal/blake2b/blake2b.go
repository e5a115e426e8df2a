// Package blake2b is the hash function BLAKE2b (RFC 7693) with 64 bytes of output and no key, by which TritonParse names
// recorded tensors.
package blake2b

import (
	"encoding/binary"
	"hash"
	"math/bits"
)

const (
	// Size of a hash in bytes.
	Size = 64

	blockSize = 128
)

var iv = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

var sigma = [10][16]uint8{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}

type digest struct {
	h     [8]uint64
	count uint64 // bytes; tensors of 2^64 are not to be feared
	block [blockSize]byte
	held  int // bytes of block: the last block waits, for it is mixed in differently
}

// New returns a new hash.
func New() hash.Hash {
	d := &digest{}
	d.Reset()
	return d
}

func (d *digest) Size() int      { return Size }
func (d *digest) BlockSize() int { return blockSize }

func (d *digest) Reset() {
	*d = digest{h: iv}
	d.h[0] ^= 0x01010000 ^ Size
}

func (d *digest) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if d.held == blockSize {
			d.count += blockSize
			d.mix(false)
			d.held = 0
		}
		k := copy(d.block[d.held:], p)
		d.held += k
		p = p[k:]
	}
	return n, nil
}

func (d *digest) Sum(out []byte) []byte {
	last := *d
	clear(last.block[last.held:])
	last.count += uint64(last.held)
	last.mix(true)
	for _, h := range last.h {
		out = binary.LittleEndian.AppendUint64(out, h)
	}
	return out
}

// mix is the compression function, F of the RFC.
func (d *digest) mix(final bool) {
	var m, v [16]uint64
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(d.block[8*i:])
	}
	copy(v[:], d.h[:])
	copy(v[8:], iv[:])
	v[12] ^= d.count
	if final {
		v[14] = ^v[14]
	}
	g := func(a, b, c, e int, x, y uint64) {
		v[a] += v[b] + x
		v[e] = bits.RotateLeft64(v[e]^v[a], -32)
		v[c] += v[e]
		v[b] = bits.RotateLeft64(v[b]^v[c], -24)
		v[a] += v[b] + y
		v[e] = bits.RotateLeft64(v[e]^v[a], -16)
		v[c] += v[e]
		v[b] = bits.RotateLeft64(v[b]^v[c], -63)
	}
	for round := range 12 {
		s := &sigma[round%10]
		g(0, 4, 8, 12, m[s[0]], m[s[1]])
		g(1, 5, 9, 13, m[s[2]], m[s[3]])
		g(2, 6, 10, 14, m[s[4]], m[s[5]])
		g(3, 7, 11, 15, m[s[6]], m[s[7]])
		g(0, 5, 10, 15, m[s[8]], m[s[9]])
		g(1, 6, 11, 12, m[s[10]], m[s[11]])
		g(2, 7, 8, 13, m[s[12]], m[s[13]])
		g(3, 4, 9, 14, m[s[14]], m[s[15]])
	}
	for i := range d.h {
		d.h[i] ^= v[i] ^ v[i+8]
	}
}
