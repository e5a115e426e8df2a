package run

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goproton/goproton/triton/ttir"
)

// storage is the memory that an argument points into; -1 for none.
type storage struct {
	argument     int
	begin, bytes uint64
	address      uint64 // of the program, of which this may be a copy
}

// place makes a buffer of each storage. Storages that overlap, as two arrays over parts of one memory, are one buffer.
func (l *Launch) place(list []storage, memory func(address, bytes uint64) []byte) {
	given := slices.Clone(list)
	slices.SortStableFunc(list, func(a, b storage) int { return cmp.Compare(a.begin, b.begin) })
	var joined []storage
	for _, s := range list {
		if n := len(joined) - 1; n >= 0 && (s.begin < joined[n].begin+joined[n].bytes || s.begin == joined[n].begin) {
			joined[n].bytes = max(joined[n].bytes, s.begin+s.bytes-joined[n].begin)
			continue
		}
		joined = append(joined, s)
	}
	buffers := make([]*Buffer, len(joined))
	for _, s := range given {
		n, found := slices.BinarySearchFunc(joined, s.begin, func(j storage, at uint64) int { return cmp.Compare(j.begin, at) })
		if !found {
			n-- // the one that begins before it
		}
		if s.begin == 0 && s.bytes == 0 { // the null pointer of an empty tensor
			continue
		}
		if buffers[n] == nil {
			name, kind := l.nameOf(s.argument)
			buffers[n] = NewBuffer(name, joined[n].address, memory(joined[n].begin, joined[n].bytes))
			buffers[n].Type = kind
			l.Buffers[name] = buffers[n]
			l.List = append(l.List, buffers[n])
		}
		if s.argument >= 0 {
			a := &l.Arguments[s.argument]
			a.buffer, a.Buffer = buffers[n], buffers[n].Name
			a.Offset += int64(s.begin - joined[n].begin)
		}
	}
	for i := range l.Arguments {
		l.Arguments[i].Name, _ = l.Kernel.parameter(i)
	}
}

// nameOf names the buffer that is first seen at an argument, and the type of its elements.
func (l *Launch) nameOf(argument int) (name, kind string) {
	if argument < 0 {
		return fmt.Sprintf("storage %d", len(l.Buffers)), ""
	}
	name, t := l.Kernel.parameter(argument)
	if t != nil && t.Element != nil {
		kind = t.Element.Scalar().Text
	}
	if l.Buffers[name] != nil {
		name = fmt.Sprintf("%s (argument %d)", name, argument)
	}
	return name, kind
}

// takesAddresses says whether the kernel makes pointers of numbers, as of addresses that lie in memory.
func (k *Kernel) takesAddresses() (found bool) {
	for _, f := range k.Module.Functions {
		f.Walk(func(op *ttir.Op) {
			found = found || op.Name == "tt.int_to_ptr" || op.Name == "tt.load" && len(op.Results) > 0 && f.Type(op.Results[0]).Pointee() != nil
		})
	}
	return found
}
