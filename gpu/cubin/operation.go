package cubin

import (
	"encoding/binary"
	"fmt"
)

// Operation names what an instruction does, without its operands: "HGMMA", "LDG". The lowest nine bits tell; three
// more say where the operands are, and a few operations share all twelve with another. The names are those that nvdisasm
// gives to the instructions of the compiled kernels that the tests compare with it, for sm_80, sm_90 and sm_100, and to
// patterns; an operation that none of them has is shown by its number.
func Operation(instruction []byte) string {
	if len(instruction) < InstructionSize {
		return ""
	}
	low, high := binary.LittleEndian.Uint64(instruction), binary.LittleEndian.Uint64(instruction[8:])
	code := uint16(low & 0x1ff)
	name := operations[code]
	if other := forms[uint16(low&0xfff)]; other != "" {
		name = other
	}
	switch {
	case code == tensorMultiply:
		name = tensorKinds[high>>8&3]
	case code == floatAdd && high>>17&1 == 1:
		name = "FHADD"
	}
	if name == "" {
		return fmt.Sprintf("operation %#x", code)
	}
	return name
}

// Operations whose kind stands in the upper half of the instruction.
const (
	floatAdd       = 0x021
	tensorMultiply = 0x1ea
)

// tensorKinds of the fifth generation's tensor cores, by the bits for the type of the operands.
var tensorKinds = [4]string{0: "UTCHMMA", 3: "UTCQMMA"}

// forms of operations that have another name by where their operands are.
var forms = map[uint16]string{0x5ab: "CGAERRBAR", 0x9c7: "UCGABAR_ARV", 0xdc7: "UCGABAR_WAIT"}

var operations = map[uint16]string{
	0x002: "MOV", 0x003: "P2R", 0x005: "CS2R", 0x006: "VOTE", 0x007: "SEL", 0x008: "FSEL", 0x009: "FMNMX",
	0x00a: "FSET", 0x00b: "FSETP", 0x00c: "ISETP", 0x00f: "VIMNMX3", 0x010: "IADD3", 0x011: "LEA", 0x012: "LOP3", 0x013: "IABS", 0x014: "VABSDIFF",
	0x016: "PRMT", 0x017: "IMNMX", 0x019: "SHF", 0x01a: "SGXT", 0x01c: "PLOP3",
	0x020: "FMUL", 0x021: "FADD", 0x023: "FFMA", 0x024: "IMAD", 0x025: "IMAD", 0x026: "IDP", 0x027: "IMAD", 0x028: "DMUL",
	0x029: "DADD", 0x02a: "DSETP", 0x02b: "DFMA", 0x02d: "PREEXIT", 0x02e: "ACQBULK", 0x02f: "ELECT",
	0x030: "HADD2", 0x031: "HFMA2", 0x032: "HMUL2", 0x033: "HSET2", 0x034: "HSETP2", 0x035: "HFMA2", 0x036: "VIADD",
	0x037: "IMMA", 0x03a: "MOVM", 0x03b: "LDSM", 0x03c: "HMMA", 0x03d: "BMMA", 0x03e: "F2FP", 0x03f: "DMMA",
	0x040: "HMNMX2", 0x044: "STSM", 0x045: "I2FP", 0x046: "VIADDMNMX", 0x048: "VIMNMX", 0x049: "FFMA2",
	0x04a: "FMUL2", 0x04b: "FADD2", 0x04c: "UVIRTCOUNT",
	0x076: "FMNMX3",
	0x082: "UMOV", 0x086: "VOTEU", 0x087: "USEL", 0x08c: "UISETP", 0x090: "UIADD3", 0x091: "ULEA", 0x092: "ULOP3",
	0x096: "UPRMT", 0x097: "UIADD3", 0x099: "USHF", 0x09a: "USGXT", 0x09c: "UPLOP3",
	0x0a4: "UIMAD", 0x0a5: "UIMAD", 0x0b9: "ULDC", 0x0bd: "UFLO",
	0x0ca: "R2UR", 0x0cc: "CREDUX",
	0x100: "FLO", 0x101: "BREV", 0x102: "FCHK", 0x104: "F2F", 0x105: "F2I", 0x106: "I2F", 0x107: "FRND", 0x108: "MUFU",
	0x109: "POPC", 0x110: "F2F", 0x111: "F2I", 0x112: "I2F", 0x113: "FRND", 0x118: "NOP", 0x119: "S2R",
	0x11a: "DEPBAR", 0x11b: "ENDCOLLECTIVE", 0x11c: "B2R", 0x11d: "BAR",
	0x140: "CCTL", 0x141: "BSYNC", 0x142: "BREAK", 0x143: "CALL", 0x144: "CALL", 0x145: "BSSY", 0x146: "YIELD",
	0x147: "BRA", 0x148: "WARPSYNC", 0x149: "BRX", 0x14d: "EXIT", 0x14e: "LEPC", 0x150: "RET", 0x155: "BMOV",
	0x156: "BMOV", 0x15c: "BPT", 0x15d: "NANOSLEEP",
	0x160: "TEX", 0x163: "TLD4", 0x166: "TLD", 0x16c: "TXD", 0x16f: "TXQ",
	0x180: "LD", 0x181: "LDG", 0x182: "LDC", 0x183: "LDL", 0x184: "LDS", 0x185: "ST", 0x186: "STG", 0x187: "STL",
	0x188: "STS", 0x189: "SHFL", 0x18a: "ATOM", 0x18b: "ATOM", 0x18c: "ATOMS", 0x18d: "ATOMS", 0x18e: "RED",
	0x18f: "CCTL", 0x192: "MEMBAR", 0x199: "SULD", 0x19d: "SUST", 0x19f: "SURED",
	0x1a1: "MATCH", 0x1a2: "ATOM", 0x1a3: "ATOMG", 0x1a7: "SYNCS", 0x1a8: "ATOMG", 0x1a9: "ATOMG", 0x1aa: "QSPC", 0x1ab: "ERRBAR",
	0x1ac: "LDCU", 0x1ae: "LDGSTS", 0x1af: "LDGDEPBAR", 0x1b0: "ARRIVES", 0x1b1: "SYNCS", 0x1b2: "SYNCS",
	0x1b4: "UTMALDG", 0x1b5: "UTMASTG", 0x1b7: "UTMACMDFLUSH", 0x1b9: "UTMACCTL", 0x1ba: "UBLKCP", 0x1bb: "UBLKRED",
	0x1bc: "UBLKPF", 0x1bd: "STAS",
	0x1c2: "R2UR", 0x1c3: "S2UR", 0x1c4: "REDUX", 0x1c5: "WARPGROUP", 0x1c6: "FENCE", 0x1c8: "USETMAXREG",
	0x1e3: "UTCATOMSWS", 0x1e9: "UTCBAR", 0x1ed: "STTM", 0x1ee: "LDTM", 0x1f0: "HGMMA", 0x1f3: "QGMMA",
}
