package parquet

import "encoding/binary"

// appendHybrid appends numbers of some bits each: those that repeat at least 8 times as a run, and others packed, in groups of 8.
func appendHybrid[N byte | uint32](out []byte, list []N, width int) []byte {
	for len(list) > 0 {
		if n := repeats(list); n >= 8 {
			out = binary.AppendUvarint(out, uint64(n)<<1)
			for shift := 0; shift < width; shift += 8 {
				out = append(out, byte(uint64(list[0])>>shift))
			}
			list = list[n:]
			continue
		}
		n := 8
		for n < len(list) && repeats(list[n:]) < 8 {
			n += 8
		}
		out = appendPacked(out, list[:min(n, len(list))], width)
		list = list[min(n, len(list)):]
	}
	return out
}

// repeats is how many equal numbers a list begins with.
func repeats[N byte | uint32](list []N) int {
	n := 1
	for n < len(list) && list[n] == list[0] {
		n++
	}
	return n
}

// appendPacked appends numbers, with zeros up to a multiple of 8, lowest bits first.
func appendPacked[N byte | uint32](out []byte, list []N, width int) []byte {
	groups := (len(list) + 7) / 8
	out = binary.AppendUvarint(out, uint64(groups)<<1|1)
	kept, held := uint64(0), 0
	for i := range 8 * groups {
		if i < len(list) {
			kept |= uint64(list[i]) << held
		}
		for held += width; held >= 8; held -= 8 {
			out = append(out, byte(kept))
			kept >>= 8
		}
	}
	return out
}
