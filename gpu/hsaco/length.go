package hsaco

import (
	"encoding/binary"
	"slices"
	"strings"
)

// generation is how the instructions of an architecture are encoded; 0 if that is not known.
type generation int

// generationOf an architecture: gfx8 has the encodings of gfx9. Those of gfx1250 differ from gfx12's and are not known here.
func generationOf(arch string) generation {
	for prefix, g := range map[string]generation{"gfx8": 9, "gfx9": 9, "gfx10": 10, "gfx11": 11, "gfx120": 12, "gfx12-": 12} {
		if strings.HasPrefix(arch, prefix) {
			return g
		}
	}
	return 0
}

// Values of a source operand that stand for something behind the instruction.
const (
	sourceLiteral = 255 // a constant of 32 bits
	sourceSDWA    = 249 // which parts of its registers the instruction uses; up to gfx10
	sourceDPP     = 250 // lanes that it takes from others
	sourceDPP8    = 233
	sourceDPP8FI  = 234
)

// length is the size in bytes of the first instruction of code; 0 if its encoding is not known or it is cut off. The highest bits
// of the first word say which encoding it has.
func (g generation) length(code []byte) uint64 {
	if g == 0 || len(code) < 4 {
		return 0
	}
	w, second := binary.LittleEndian.Uint32(code), uint32(0)
	if len(code) >= 8 {
		second = binary.LittleEndian.Uint32(code[4:])
	}
	var n uint64
	switch {
	case w>>31 == 0:
		n = g.vectorShort(w)
	case w>>30 == 2:
		n = g.scalar(w)
	default:
		n = g.long(w, second)
	}
	if n > uint64(len(code)) {
		return 0
	}
	return n
}

// vectorShort are VOP1, VOPC and VOP2: one word, and what the first operand or the operation has behind it.
func (g generation) vectorShort(w uint32) uint64 {
	source, operation := w&0x1ff, w>>25
	switch source {
	case sourceLiteral, sourceDPP:
		return 8
	case sourceSDWA:
		if g < 11 {
			return 8
		}
	case sourceDPP8, sourceDPP8FI:
		if g >= 10 {
			return 8
		}
	}
	// Multiplications and additions with a constant: v_madmk, v_madak, v_fmamk and v_fmaak, of 32 and of 16 bits.
	constant := []uint32{0x2c, 0x2d, 0x37, 0x38}
	switch g {
	case 9:
		constant = []uint32{0x17, 0x18, 0x24, 0x25}
	case 10:
		constant = []uint32{0x20, 0x21, 0x2c, 0x2d, 0x37, 0x38}
	}
	if slices.Contains(constant, operation) {
		return 8
	}
	return 4
}

// scalar are SOP2, SOPK, SOP1, SOPC and SOPP.
func (g generation) scalar(w uint32) uint64 {
	first, both, literal := w&0xff == sourceLiteral, w&0xff == sourceLiteral || w>>8&0xff == sourceLiteral, false
	switch operation := w >> 23; {
	case operation == 0x17f: // SOPP
	case operation == 0x17e: // SOPC
		literal = both
	case operation == 0x17d: // SOP1
		literal = first
	case w>>28 == 0xb: // SOPK; s_setreg_imm32_b32 has a constant
		literal = operation&0x1f == map[generation]uint32{9: 20, 10: 21, 11: 19, 12: 19}[g]
	default: // SOP2; gfx11.5 and newer have s_fmaak_f32 and s_fmamk_f32
		literal = both || g >= 11 && (operation&0x7f == 69 || operation&0x7f == 70)
	}
	if literal {
		return 8
	}
	return 4
}

// long are the encodings of two words and more.
func (g generation) long(w, second uint32) uint64 {
	switch top := w >> 26; {
	case g == 9:
		return long9(w, top)
	case top == 0x35: // VOP3
		return 8 + g.behindVOP3(second)
	case top == 0x33: // VOP3P; from gfx11 on also VINTERP and LDSDIR
		switch {
		case g >= 11 && w>>24 == 0xce:
			return 4
		case g >= 11 && w>>24 == 0xcd:
			return 8
		}
		return 8 + g.behindVOP3(second)
	case top == 0x32 && g == 10: // VINTRP
		return 4
	case top == 0x32:
		return 8 + behindVOPD(w, second)
	case g == 12:
		switch top {
		case 0x31, 0x34, 0x39, 0x3b: // VBUFFER, VIMAGE, VSAMPLE, VFLAT
			return 12
		case 0x36, 0x3d, 0x3e: // VDS, SMEM, EXPORT
			return 8
		}
		return 0
	case top == 0x3c && g == 10: // MIMG, with up to three words of addresses
		return 8 + 4*uint64(w>>1&3)
	case top == 0x3c:
		return 8 + 4*uint64(w&1)
	case top == 0x36, top == 0x37, top == 0x38, top == 0x3a, top == 0x3d, top == 0x3e: // DS, FLAT, MUBUF, MTBUF, SMEM, EXP
		return 8
	}
	return 0
}

// long9 are those of gfx8, gfx9 and CDNA.
func long9(w, top uint32) uint64 {
	switch top {
	case 0x35: // VINTRP
		return 4
	case 0x34: // VOP3, VOP3P
		if w>>16 == 0xd3ac { // v_mfma_ld_scale_b32: the scales of the multiplication that follows in the same instruction
			return 16
		}
		return 8
	case 0x30, 0x31, 0x36, 0x37, 0x38, 0x3a, 0x3c: // SMEM, EXP, DS, FLAT, MUBUF, MTBUF, MIMG
		return 8
	}
	return 0
}

// behindVOP3 is a constant, or from gfx11 on lanes of others.
func (g generation) behindVOP3(second uint32) uint64 {
	a, b, c := second&0x1ff, second>>9&0x1ff, second>>18&0x1ff
	if a == sourceLiteral || b == sourceLiteral || c == sourceLiteral || g >= 11 && (a == sourceDPP || a == sourceDPP8 || a == sourceDPP8FI) {
		return 4
	}
	return 0
}

// behindVOPD is the constant that its two operations share: v_dual_fmaak_f32 and v_dual_fmamk_f32 have one, others where an operand says so.
func behindVOPD(w, second uint32) uint64 {
	x, y := w>>22&0xf, w>>17&0x1f
	if w&0x1ff == sourceLiteral || second&0x1ff == sourceLiteral || x == 1 || x == 2 || y == 1 || y == 2 {
		return 4
	}
	return 0
}
