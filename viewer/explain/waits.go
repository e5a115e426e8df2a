package explain

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/goproton/goproton/viewer/kernels"
)

// waits finds what instructions wait for. A sample of a wait for a result is at the instruction that needs it; what can be changed is the one
// that it comes from.
type waits struct {
	of      *kernels.Function
	code    *kernels.Instructions
	offsets []uint64 // of all instructions
	known   map[wait]uint64
}

type wait struct {
	offset uint64
	reason string
}

// newWaits reads the instructions of a function; nil if they are not known.
func newWaits(run *kernels.Run, f *kernels.Function) *waits {
	if run.Modules == nil {
		return nil
	}
	code, _ := run.Instructions(f) //nolint:errcheck // without operands the operations suffice, and without the binary nothing is known
	if code == nil || code.Code == nil || len(code.Text) == 0 {
		return nil
	}
	return &waits{of: f, code: code, offsets: code.Offsets(), known: map[wait]uint64{}}
}

// Instructions whose results come late, by the reason that warps which need them have.
var late = map[string]*regexp.Regexp{
	"long_scoreboard":  regexp.MustCompile(`\b(LDG|LDL|LD|LDGSTS|TEX|TLD4?|TXD|SULD|ATOMG?|LDGMC|UBLKCP|UTMALDG)\b`),
	"short_scoreboard": regexp.MustCompile(`\b(LDSM?|ATOMS|SHFL|REDUX|MOVM|S2U?R|VOTE|MUFU|I2F|F2I|F2F|FRND|POPC|FLO)\b`),
}

var (
	sharedMemory = regexp.MustCompile(`\b(LDSM?|STSM?|ATOMS|SHFL|LDGSTS|REDUX|MOVM)\b`)
	globalMemory = regexp.MustCompile(`\b(LDG|STG|ATOMG?|RED|LD|ST)\b`)
	specialUnit  = regexp.MustCompile(`\b(MUFU|I2F|F2I|F2F|FRND)\b`)
	register     = regexp.MustCompile(`\bR(\d+)\b`)
	wide         = regexp.MustCompile(`\.(64|128)\b`)
)

// waitsFor is the offset of the instruction whose result an instruction waits for, and that of the instruction itself where it waits for something
// else, or where no such instruction is known. w may be nil.
func (w *waits) waitsFor(offset uint64, reason string) uint64 {
	from := late[reason]
	if w == nil || from == nil {
		return offset
	}
	key := wait{offset, reason}
	at, done := w.known[key]
	if !done {
		at = w.source(offset, from)
		w.known[key] = at
	}
	return at
}

// source is the last instruction of a kind before another one that writes a register which that one reads; around a loop it stands behind. Of
// listings without operands it is the last one before.
func (w *waits) source(offset uint64, kind *regexp.Regexp) uint64 {
	here, found := slices.BinarySearch(w.offsets, offset)
	if !found {
		return offset
	}
	reads, all := register.FindAllStringSubmatch(w.code.Text[offset], -1), len(w.offsets)
	turns := here
	if reads != nil {
		turns = all
	}
	for back := range turns {
		at := w.offsets[(all+here-1-back)%all]
		if text := w.code.Text[at]; kind.MatchString(text) && (reads == nil || writesOne(text, reads)) {
			return at
		}
	}
	return offset
}

// writesOne says whether an instruction writes one of some registers: its first operand, with the ones that follow in wide results.
func writesOne(text string, registers [][]string) bool {
	to := register.FindStringSubmatch(text)
	if to == nil {
		return false
	}
	first, _ := strconv.Atoi(to[1]) //nolint:errcheck // digits
	length := 1
	if width := wide.FindStringSubmatch(text); width != nil {
		bits, _ := strconv.Atoi(width[1]) //nolint:errcheck // digits
		length = bits / 32
	}
	return slices.ContainsFunc(registers, func(r []string) bool {
		n, _ := strconv.Atoi(r[1]) //nolint:errcheck // digits
		return n >= first && n < first+length
	})
}
