package cubin

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"

	"github.com/goproton/goproton/profile"
)

// Row says that from an address on, up to the next row's, instructions come from a place in the source.
type Row struct {
	PC     uint64 // within the section
	File   string
	Line   int
	Callee string // name of the function that was inlined here, if the compiler said it
	Call   *Row   // the place of the call, if this was inlined
	End    bool   // nothing follows
}

// Lines are the rows of a function. Functions of one section share its rows, which count from the section's start.
type Lines struct {
	rows   []Row // in order of address
	offset uint64
}

// Known reports whether there are any.
func (l Lines) Known() bool { return len(l.rows) > 0 }

// Frames returns where the instruction at an address comes from: the innermost place first, then the calls that it
// was inlined through, the function's own line last. It is empty where there is no line information.
func (f *Function) Frames(pc uint64) []profile.SourceFrame {
	var chain []profile.SourceFrame
	for r := f.find(f.Lines, pc); r != nil; r = r.Call {
		name := r.Callee
		if r.Call == nil {
			name = f.nameAt(pc)
		}
		chain = append(chain, profile.SourceFrame{File: r.File, Line: r.Line, Func: name})
		if len(chain) == mostInlined {
			break
		}
	}
	return chain
}

// PTXLine returns the line of File.PTX, from 1, that an instruction was made of; 0 if that is not known.
func (f *Function) PTXLine(pc uint64) int {
	if r := f.find(f.PTXLines, pc); r != nil {
		return r.Line
	}
	return 0
}

// find returns the last row that is not behind an address, nil for one that is not in the function.
func (f *Function) find(l Lines, pc uint64) *Row {
	at := sort.Search(len(l.rows), func(i int) bool { return l.rows[i].PC > l.offset+pc })
	if pc >= f.Size || at == 0 || l.rows[at-1].End {
		return nil
	}
	return &l.rows[at-1]
}

const (
	mostInlined = 256     // frames of a chain; the deepest seen has 9
	mostRows    = 1 << 24 // of a table; a kernel of 2 MB has 80,000
	mostFiles   = 1 << 16
)

// lines runs the line programs of a section and hands every function its rows.
func (r *reader) lines(section string, of func(*Function) *Lines) error {
	program := r.section(section)
	if len(program) == 0 {
		return nil
	}
	m := machine{data: program, targets: r.relocations(section), strings: r.section(".debug_str")}
	err := m.run()
	if err != nil {
		return fmt.Errorf("%s: %w", section, err)
	}
	bySection := map[int][]Row{}
	for _, s := range m.sequences {
		switch f := r.owner(s); {
		case f == nil:
		case bySection[f.section] == nil:
			bySection[f.section] = s.rows
		default:
			bySection[f.section] = append(bySection[f.section], s.rows...)
		}
	}
	for _, rows := range bySection {
		slices.SortStableFunc(rows, byAddress)
	}
	for i := range r.file.Functions {
		f := &r.file.Functions[i]
		*of(f) = Lines{bySection[f.section], f.offset}
	}
	return nil
}

func byAddress(a, b Row) int {
	if c := cmp.Compare(a.PC, b.PC); c != 0 || a.End == b.End {
		return c
	}
	if a.End { // one sequence ends where the next begins
		return -1
	}
	return 1
}

// owner is the function that a sequence is about: by the relocation of its address, or, in a module of one function
// that needs none, that one.
func (r *reader) owner(s sequence) *Function {
	if s.symbol != 0 {
		return r.bySymbol(s.symbol)
	}
	if len(r.file.Functions) == 1 {
		return &r.file.Functions[0]
	}
	return nil
}

// relocations returns, by position in a section, the symbol whose address belongs there.
func (r *reader) relocations(section string) map[uint64]uint32 {
	targets := map[uint64]uint32{}
	for _, prefix := range []string{".rela", ".rel"} {
		s := r.elf.Section(prefix + section)
		if s == nil || s.Type != elf.SHT_RELA && s.Type != elf.SHT_REL {
			continue
		}
		size := 24
		if s.Type == elf.SHT_REL {
			size = 16
		}
		for b := r.section(prefix + section); len(b) >= size; b = b[size:] {
			targets[binary.LittleEndian.Uint64(b)] = uint32(binary.LittleEndian.Uint64(b[8:]) >> 32)
		}
	}
	return targets
}

// machine runs DWARF line programs (versions 2 to 4, what ptxas writes is 2) with NVIDIA's two opcodes for inlining.
type machine struct {
	data    []byte
	pos     int
	targets map[uint64]uint32
	strings []byte

	sequences []sequence
	rows      int
}

// sequence is a run of rows with rising addresses.
type sequence struct {
	symbol uint32 // of the function, 0 if there was no relocation
	rows   []Row
}

// unit is the header of one program.
type unit struct {
	end        int
	lineBase   int
	lineRange  int
	opcodeBase int
	minInst    uint64
	lengths    []byte
	dirs       []string
	files      []string
}

var errCut = errors.New("it is cut off")

func (m *machine) run() error {
	for m.pos < len(m.data) {
		at := m.pos
		u, err := m.header()
		if err == nil {
			err = m.program(u)
		}
		if err != nil {
			return fmt.Errorf("line program at byte %d: %w", at, err)
		}
		m.pos = u.end
	}
	return nil
}

func (m *machine) header() (*unit, error) {
	length := int(m.number(4))
	if length > len(m.data)-m.pos || m.pos > len(m.data) {
		return nil, errCut
	}
	u := &unit{end: m.pos + length}
	version := m.number(2)
	if version < 2 || version > 4 {
		return nil, fmt.Errorf("it is of version %d; 2 to 4 are known", version)
	}
	headerLength := int(m.number(4))
	body := m.pos + headerLength
	u.minInst = uint64(m.u8())
	if version >= 4 {
		m.u8() // operations per instruction, 1 everywhere
	}
	m.u8() // whether rows are statements by default
	u.lineBase, u.lineRange, u.opcodeBase = int(int8(m.u8())), int(m.u8()), int(m.u8())
	if u.lineRange == 0 || u.opcodeBase == 0 {
		return nil, errors.New("its header makes no sense")
	}
	u.lengths = m.bytes(u.opcodeBase - 1)
	for dir := m.str(); dir != ""; dir = m.str() {
		u.dirs = append(u.dirs, dir)
		if len(u.dirs) > mostFiles {
			return nil, errors.New("it has too many folders")
		}
	}
	for name := m.str(); name != ""; name = m.str() {
		if err := u.addFile(name, m.uleb()); err != nil {
			return nil, err
		}
		m.uleb() // time of change
		m.uleb() // size
	}
	if m.pos > body || body > u.end {
		return nil, errCut
	}
	m.pos = body
	return u, nil
}

func (u *unit) addFile(name string, dir uint64) error {
	if dir > 0 && dir <= uint64(len(u.dirs)) && !path.IsAbs(name) {
		name = path.Join(u.dirs[dir-1], name)
	}
	u.files = append(u.files, name)
	if len(u.files) > mostFiles {
		return errors.New("it names too many files")
	}
	return nil
}

// registers are the state of a running program.
type registers struct {
	address uint64
	file    uint64
	line    int
	context uint64 // number of the row, from 1, that called what is being described; 0 for none
	callee  string
}

// program runs one program. Inlined code names its call by the number of a row, counted from 1 in each sequence.
func (m *machine) program(u *unit) error {
	state := registers{file: 1, line: 1}
	current := sequence{}
	calls := map[uint64]*Row{} // those rows of the sequence that calls are in
	emit := func(end bool) error {
		if m.rows++; m.rows > mostRows {
			return errors.New("it has too many rows")
		}
		row := Row{PC: state.address, Line: state.line, Callee: state.callee, End: end}
		if state.file > 0 && state.file <= uint64(len(u.files)) {
			row.File = u.files[state.file-1]
		}
		if state.context > 0 && state.context <= uint64(len(current.rows)) {
			if row.Call = calls[state.context]; row.Call == nil {
				call := current.rows[state.context-1]
				row.Call, calls[state.context] = &call, &call
			}
		}
		current.rows = append(current.rows, row)
		return nil
	}
	for m.pos < u.end {
		op := int(m.u8())
		var err error
		switch {
		case op >= u.opcodeBase:
			op -= u.opcodeBase
			state.address += uint64(op/u.lineRange) * u.minInst
			state.line += u.lineBase + op%u.lineRange
			err = emit(false)
		case op == 0:
			var ended bool
			if ended, err = m.extended(u, &state, &current, emit); ended {
				m.sequences = append(m.sequences, current)
				current, calls, state = sequence{}, map[uint64]*Row{}, registers{file: 1, line: 1}
			}
		default:
			err = m.standard(op, u, &state, emit)
		}
		if err != nil {
			return err
		}
	}
	if m.pos > u.end {
		return errCut
	}
	return nil
}

// Standard opcodes of DWARF.
const (
	opCopy = 1 + iota
	opAdvancePC
	opAdvanceLine
	opSetFile
	opSetColumn
	opNegateStatement
	opBasicBlock
	opConstAddPC
	opFixedAdvancePC
)

func (m *machine) standard(op int, u *unit, state *registers, emit func(end bool) error) error {
	switch op {
	case opCopy:
		return emit(false)
	case opAdvancePC:
		state.address += m.uleb() * u.minInst
	case opAdvanceLine:
		state.line += int(m.sleb())
	case opSetFile:
		state.file = m.uleb()
	case opSetColumn:
		m.uleb()
	case opNegateStatement, opBasicBlock:
	case opConstAddPC:
		state.address += uint64((255-u.opcodeBase)/u.lineRange) * u.minInst
	case opFixedAdvancePC:
		state.address += m.number(2)
	default:
		if op-1 < len(u.lengths) {
			for range u.lengths[op-1] {
				m.uleb()
			}
		}
	}
	return nil
}

// Extended opcodes: three of DWARF, two of NVIDIA's.
const (
	opEndSequence  = 0x01
	opSetAddress   = 0x02
	opDefineFile   = 0x03
	opInlinedCall  = 0x90 // row of the call, name of the callee: an offset in .debug_str
	opFunctionName = 0x91 // name of the function: an offset in .debug_str
)

func (m *machine) extended(u *unit, state *registers, current *sequence, emit func(end bool) error) (ended bool, err error) {
	length := m.uleb()
	if length == 0 || length > uint64(u.end-m.pos) || m.pos > u.end {
		return false, errCut
	}
	next := m.pos + int(length)
	switch m.u8() {
	case opEndSequence:
		ended, err = true, emit(true)
	case opSetAddress:
		current.symbol = m.targets[uint64(m.pos)]
		state.address = m.number(8)
	case opDefineFile:
		err = u.addFile(m.str(), m.uleb())
	case opInlinedCall:
		state.context = m.uleb()
		state.callee = m.name(m.uleb())
		if state.context == 0 {
			state.callee = ""
		}
	case opFunctionName:
		state.callee = m.name(m.uleb())
	}
	m.pos = next
	return ended, err
}

// name reads a string of .debug_str.
func (m *machine) name(offset uint64) string {
	if offset >= uint64(len(m.strings)) {
		return ""
	}
	s, _, _ := bytes.Cut(m.strings[offset:], []byte{0})
	return string(s)
}
