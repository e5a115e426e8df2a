package cubin

import "fmt"

// Operation names what an instruction does, without its operands: "HGMMA", "LDG". The lowest nine bits tell; three
// more say where the operands are. The names are those that nvdisasm gives, to instructions that compilers make and to patterns; what it was not asked for has a
// number.
func Operation(instruction []byte) string {
	if len(instruction) < InstructionSize {
		return ""
	}
	code := (uint16(instruction[0]) | uint16(instruction[1])<<8) & 0x1ff
	if name := operations[code]; name != "" {
		return name
	}
	return fmt.Sprintf("operation %#x", code)
}

var operations = map[uint16]string{
	0x002: "MOV", 0x003: "P2R", 0x005: "CS2R", 0x007: "SEL", 0x009: "FMNMX", 0x00b: "FSETP", 0x00c: "ISETP",
	0x010: "IADD3", 0x011: "LEA", 0x012: "LOP3", 0x013: "IABS", 0x016: "PRMT", 0x019: "SHF", 0x01a: "SGXT", 0x01c: "PLOP3",
	0x020: "FMUL", 0x021: "FADD", 0x023: "FFMA", 0x024: "IMAD", 0x025: "IMAD", 0x027: "IMAD", 0x035: "HFMA2", 0x036: "VIADD",
	0x03b: "LDSM", 0x03c: "HMMA", 0x03e: "F2FP",
	0x082: "UMOV", 0x08c: "UISETP", 0x090: "UIADD3", 0x091: "ULEA", 0x099: "USHF", 0x09a: "USGXT", 0x0a5: "UIMAD", 0x0b9: "ULDC", 0x0ca: "R2UR",
	0x105: "F2I", 0x106: "I2F", 0x108: "MUFU", 0x118: "NOP", 0x119: "S2R", 0x11d: "BAR", 0x144: "CALL", 0x147: "BRA", 0x14d: "EXIT", 0x150: "RET",
	0x181: "LDG", 0x182: "LDC", 0x183: "LDL", 0x184: "LDS", 0x186: "STG", 0x187: "STL", 0x188: "STS", 0x189: "SHFL", 0x192: "MEMBAR",
	0x006: "VOTE", 0x028: "DMUL", 0x029: "DADD", 0x02b: "DFMA", 0x030: "HADD2", 0x031: "HFMA2", 0x032: "HMUL2", 0x037: "IMMA",
	0x100: "FLO", 0x109: "POPC", 0x180: "LD", 0x18a: "ATOM", 0x18c: "ATOMS", 0x1a8: "ATOMG", 0x1ab: "ERRBAR", 0x1af: "LDGDEPBAR",
	0x1b7: "UTMACMDFLUSH", 0x1b9: "UTMACCTL", 0x1c4: "REDUX",
	0x1c3: "S2UR", 0x1c5: "WARPGROUP", 0x1c6: "FENCE", 0x1f0: "HGMMA",
}
