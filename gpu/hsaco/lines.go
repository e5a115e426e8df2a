package hsaco

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"io"
	"slices"
	"sort"

	"github.com/goproton/goproton/profile"
)

// table is where the instructions of a module come from. It is empty where the line tables are missing or damaged.
type table struct {
	rows   []row   // in order of address
	inline []scope // inlined calls, each behind the one that it is in
}

// row is a place in the source, from an address on up to that of the next row.
type row struct {
	address uint64
	file    string // "" from the end of a function on
	line    int    // 0 for none
}

// scope is a range of addresses of inlined code. Code that lies in several ranges has several scopes.
type scope struct {
	from, to uint64
	name     string // of the inlined function
	file     string // of the call
	line     int
}

// Limits of what is kept of a file. A large module has some ten thousand of each.
const (
	mostRows   = 1 << 22
	mostScopes = 1 << 18

	mostReferences = 4 // from an inlined call to the name of its function: the origin, and the declaration in a class
)

var errTooLarge = errors.New("its line tables are too large")

// frames are the places of an instruction, innermost first. Line 0 stands for no line: the place is then that of the inlined call.
func (m *module) frames(f *function, offset uint64) (all []profile.SourceFrame) {
	m.lines.Do(func() {
		if read, err := m.places(); err == nil {
			m.table = read
		}
	})
	at, t := f.address+offset, &m.table
	next := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].address > at })
	if offset >= f.size || next == 0 || t.rows[next-1].file == "" {
		return nil
	}
	name := f.name
	add := func(file string, line int) {
		if line > 0 {
			all = append(all, profile.SourceFrame{File: file, Line: line, Func: name})
		}
	}
	for i := range t.inline {
		if s := &t.inline[i]; s.from <= at && at < s.to {
			add(s.file, s.line)
			name = s.name
		}
	}
	add(t.rows[next-1].file, t.rows[next-1].line)
	slices.Reverse(all)
	return all
}

// debugData are the debug sections, and the most entries that they can have. Those of an object that is not linked have no addresses yet.
func (m *module) debugData() (r tableReader, entries int, err error) {
	if m.elf.Type != elf.ET_DYN && m.elf.Type != elf.ET_EXEC {
		return r, 0, errors.New("it is not linked")
	}
	section := func(name string) []byte {
		s := m.elf.Section(name)
		if s == nil || s.Type == elf.SHT_NOBITS {
			return nil
		}
		b, err := io.ReadAll(io.LimitReader(s.Open(), mostUnpacked))
		if err != nil {
			return nil
		}
		return b
	}
	info := section(".debug_info")
	r = tableReader{lines: section(".debug_line"), seen: map[int64]bool{}}
	if r.data, err = dwarf.New(section(".debug_abbrev"), nil, nil, info, r.lines, nil, section(".debug_ranges"), section(".debug_str")); err != nil {
		return r, 0, err
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_rnglists", ".debug_str_offsets"} {
		if err := r.data.AddSection(name, section(name)); err != nil {
			return r, 0, err
		}
	}
	return r, len(info), nil
}

// tableReader reads the tables of a module.
type tableReader struct {
	data      *dwarf.Data
	lines     []byte // section .debug_line
	sequences [][]row
	rows      int
	seen      map[int64]bool    // line tables by their offset: units may share one
	files     []*dwarf.LineFile // of the unit
	inline    []scope
}

func (m *module) places() (table, error) {
	r, most, err := m.debugData()
	if err != nil {
		return table{}, err
	}
	entries := r.data.Reader()
	for range most { // of a damaged file the reader returns empty entries without end
		e, err := entries.Next()
		if err != nil {
			return table{}, err
		}
		if e == nil {
			break
		}
		switch e.Tag {
		case dwarf.TagCompileUnit:
			err = r.unit(e)
		case dwarf.TagInlinedSubroutine:
			err = r.inlined(e)
		}
		if err != nil {
			return table{}, err
		}
	}
	slices.SortStableFunc(r.sequences, func(a, b []row) int { return cmp.Compare(a[0].address, b[0].address) })
	return table{slices.Concat(r.sequences...), r.inline}, nil
}

// unit reads the line table of a unit.
func (r *tableReader) unit(e *dwarf.Entry) error {
	r.files = nil
	offset, _ := e.Val(dwarf.AttrStmtList).(int64)
	if offset < 0 || offset > int64(len(r.lines)) || !believable(r.lines[offset:]) {
		return errors.New("the header of a line table is damaged")
	}
	lines, err := r.data.LineReader(e)
	if err != nil || lines == nil {
		return err
	}
	var sequence []row
	for line := (dwarf.LineEntry{}); !r.seen[offset]; {
		if err := lines.Next(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if r.rows++; r.rows > mostRows {
			return errTooLarge
		}
		one := row{address: line.Address, line: line.Line}
		if line.File != nil && !line.EndSequence {
			one.file = line.File.Name
		}
		if sequence = append(sequence, one); line.EndSequence {
			r.sequences, sequence = append(r.sequences, sequence), nil
		}
	}
	r.seen[offset] = true
	r.files = lines.Files()
	return nil
}

// inlined adds the ranges of an inlined call.
func (r *tableReader) inlined(e *dwarf.Entry) error {
	ranges, err := r.data.Ranges(e)
	if err != nil {
		return err
	}
	line, _ := e.Val(dwarf.AttrCallLine).(int64)
	s := scope{name: r.name(e), line: int(line)}
	if file, _ := e.Val(dwarf.AttrCallFile).(int64); file >= 0 && file < int64(len(r.files)) && r.files[file] != nil {
		s.file = r.files[file].Name
	}
	for _, within := range ranges {
		if s.from, s.to = within[0], within[1]; len(r.inline) >= mostScopes {
			return errTooLarge
		}
		r.inline = append(r.inline, s)
	}
	return nil
}

// name is that of the function of an entry, for the linker if it has one: it is in the entry, or where the entry refers to.
func (r *tableReader) name(e *dwarf.Entry) string {
	for range mostReferences {
		for _, attribute := range []dwarf.Attr{dwarf.AttrLinkageName, dwarf.AttrName} {
			if name, _ := e.Val(attribute).(string); name != "" {
				return name
			}
		}
		at, refers := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !refers {
			if at, refers = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !refers {
				break
			}
		}
		entries := r.data.Reader()
		entries.Seek(at)
		next, err := entries.Next()
		if err != nil || next == nil {
			break
		}
		e = next
	}
	return ""
}
