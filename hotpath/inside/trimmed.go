package inside

import "encoding/binary"

// Trimmed copies the buffer of a launch with zeros in place of all that the decoder does not read: a slot has a few hundred bytes of
// records and 8 KiB of what was in memory before. It is nil if the kernel's table cannot be right.
func (l *Launch) Trimmed() []byte {
	var d Decoder
	d.prepare(l.Kernel)
	if !d.valid {
		return nil
	}
	size := uint64(d.kernel.SlotSize)
	blocks := min(l.Blocks(), uint64(len(l.Buffer))/size)
	out := make([]byte, blocks*size)
	for i := range blocks {
		d.trim(out[i*size:][:size], l.Buffer[i*size:][:size], i)
	}
	return out
}

// trim copies what is read of one slot.
func (d *Decoder) trim(to, from []byte, index uint64) {
	start := headerSize + countSize*d.warps
	copy(to, from[:start])
	var b Block
	rings, fault := readHeader(from, index, &b)
	if fault != none || !d.fits(from, rings) {
		return
	}
	segment := int(rings) / len(d.units)
	for i, warp := range d.units {
		words := uint64(binary.LittleEndian.Uint32(from[headerSize+countSize*warp:]))
		at := start + i*segment
		copy(to[at:], from[at:at+int(min(words*countSize, uint64(segment)))])
	}
}
