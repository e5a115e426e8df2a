package interpreter

import (
	"bytes"
	"slices"
	"strings"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// aliasMarks gives a value the marks of the one that it shares its elements with.
func (c *compiler) aliasMarks(to, of *slot) {
	for l, m := range of.marks {
		if m != nil {
			to.marks[l] = &slot{t: c.markType(to.t), shape: to.shape, data: m.data, root: m.root, some: m.some}
		}
	}
}

// sink checks the operands of an operation before it is executed, where an element must have a value.
func (c *compiler) sink(op *ttir.Op) step {
	if !c.has(unset) && !c.has(wrapped) {
		return nil
	}
	first, last, what := 0, 0, ""
	of := []layer{unset, wrapped} // the second one of places in memory only
	switch op.Name {
	case "scf.if":
		last, what, of = 1, "decides which branch is taken", of[:1]
	case "scf.for":
		last, what, of = 3, "decides how often the loop runs", of[:1]
	case "tt.assert", "llvm.intr.assume":
		last, what, of = 1, "is asserted", of[:1]
	case "tt.make_tensor_descriptor", "tt.make_tensor_ptr", "tt.advance":
		last, what = len(op.Operands), "is an address, or the shape or a stride of a tensor"
	case "tt.descriptor_load", "tt.experimental_descriptor_load", "tt.descriptor_gather":
		first, last, what = 1, len(op.Operands), "is a place in a tensor"
	case "tt.descriptor_store", "tt.experimental_descriptor_store", "tt.descriptor_reduce":
		first, last, what = 2, len(op.Operands), "is a place in a tensor"
	case "tt.descriptor_scatter":
		first, last, what = 1, 3, "is a place in a tensor"
	}
	var steps []step
	for n := first; n < min(last, len(op.Operands)); n++ {
		for _, l := range of {
			steps = append(steps, c.sinkOperand(op, n, l, what))
		}
	}
	return chain(steps...)
}

// decides adds the check of the condition at the end of a block.
func (c *compiler) decides(what string) {
	if c.has(unset) {
		if s := c.sinkOperand(c.op, 0, unset, "decides "+what); s != nil {
			c.block.steps = append(c.block.steps, s)
		}
	}
}

func (c *compiler) sinkOperand(op *ttir.Op, n int, l layer, what string) step {
	if op.Operands[n] == ttir.NoValue || !c.has(l) {
		return nil
	}
	s := c.slots[op.Operands[n]]
	marks := marksOf(s, l)
	if marks == nil {
		return nil
	}
	list, all, m := dataOf[bit](marks), places(marks), c.m
	return func() {
		if *marks.some {
			for lane, p := range all {
				if list[p] != 0 {
					m.report(m.marked(op, l, list[p], lane, what))
					return
				}
			}
		}
	}
}

// marked is the finding that an element with a mark is used.
func (m *machine) marked(op *ttir.Op, l layer, mark bit, lane int, what string) *Finding {
	of := m.origins[mark-1]
	origin := m.place(of.op, m.at, -1)
	origin.Access = of.what
	f := m.finding(op, check.UninitialisedValue, "an element that was never set "+what, lane)
	switch {
	case of.kind == check.DivisionByZero:
		f = m.finding(of.op, of.kind, of.what+", and the result "+what, m.divided[mark])
		origin = m.place(op, m.at, lane)
		origin.Access = what
	case l == wrapped:
		f.Kind, f.Text = check.IntegerOverflow, "an integer that has overflowed "+what
	case l == born:
		f = m.finding(of.op, of.kind, of.what+"; it is stored", -1)
		origin = m.place(op, m.at, lane)
		origin.Access = what
	}
	f.Others = []check.Place{origin}
	return f
}

// sunk is marks of an operand of an access.
type sunk struct {
	layer  layer
	marks  *slot
	list   []bit // in the shape of the access
	fill   step
	what   string
	always bool // elements count that the mask leaves out
}

// sinks prepares the checks of an access's operands.
func (w *watcher) sinks(c *compiler) {
	add := func(s *slot, what string, always bool, of ...layer) {
		for _, l := range of {
			marks := marksOf(s, l)
			if marks == nil || !c.has(l) {
				continue
			}
			list, fill := operand[bit](c, marks, w.shape)
			w.sunk = append(w.sunk, &sunk{l, marks, list, fill, what, always})
		}
	}
	add(w.mask, "is a mask", true, unset)
	add(w.p, "is an address", false, unset, wrapped)
	add(w.compared, "is compared", false, unset)
	add(w.value, "is stored", false, unset, born)
	if c.has(unset) && c.m.with.checks&check.Uninitialised != 0 {
		w.unset = true
		w.left = c.originOf("the mask leaves the element out, and there is no other value", "")
		w.never = c.originOf("the memory was never written", "")
		if w.site.kind == loading && !strings.HasPrefix(c.op.Name, "tt.atomic_") {
			w.out = c.slots[c.op.Results[0]].marks[unset]
			if others := marksOf(w.other, unset); others != nil {
				list, fill := operand[bit](c, others, w.shape)
				w.others = &sunk{layer: unset, marks: others, list: list, fill: fill}
			}
		}
	}
}

// used reports operands with marks.
func (w *watcher) used(byRows bool) {
	for _, s := range w.sunk {
		if !*s.marks.some {
			continue
		}
		w.make(byRows)
		if s.fill != nil {
			s.fill()
		}
		for i, mark := range s.list {
			if mark == 0 || !s.always && w.masks != nil && w.masks[i] == 0 {
				continue
			}
			f := w.m.marked(w.site.op, s.layer, mark, i, s.what)
			if b, _ := w.m.memory.find(w.addresses[i]); b != nil {
				f.Buffer = b.Name
				if s.what == "is stored" {
					f.Text += " in " + w.m.memory.describe(w.addresses[i], w.site.size)
				}
			}
			w.m.report(f)
			break
		}
	}
}

// make makes the addresses and the mask of an access that is made by rows.
func (w *watcher) make(byRows bool) {
	if byRows {
		elements(w.p, w.mask, w.fill)
	}
}

// written notes that memory is written, and reports what is changed there without having been.
func (w *watcher) written(byRows bool) {
	w.eachRun(byRows, func(lane, n int, address int64) {
		never := w.m.memory.unwrittenAt(address, n*w.site.size)
		i := bytes.IndexByte(never, 1)
		if i < 0 {
			return
		}
		if w.site.kind == changing && !w.exchanges {
			w.m.report(w.m.accessFinding(w.site, check.UninitialisedValue, "an element that was never set is changed: "+w.m.memory.describe(address+int64(i), w.site.size), address, lane+i/w.site.size))
		}
		clear(never)
	})
}

// loadedMarks marks the elements of a load that have no value.
func (w *watcher) loadedMarks(byRows bool) {
	w.out.clearMarks()
	o, some := dataOf[bit](w.out), false
	partial := w.masks != nil && !w.padded
	if byRows && w.rows.all {
		partial = false
	} else if partial && !byRows {
		partial = bytes.IndexByte(bytesOfBits(w.masks), 0) >= 0
	}
	if partial && (w.other == nil || w.others != nil && *w.others.marks.some) {
		w.make(byRows)
		if w.others != nil && w.others.fill != nil {
			w.others.fill()
		}
		for i, active := range w.masks {
			if active != 0 {
				continue
			}
			mark := w.left
			if w.others != nil {
				mark = w.others.list[i]
			}
			o[i], some = mark, some || mark != 0
		}
	}
	if w.m.memory.unwritten {
		size := w.site.size
		w.eachRun(byRows, func(lane, n int, address int64) {
			never := w.m.memory.unwrittenAt(address, n*size)
			if bytes.IndexByte(never, 1) < 0 {
				return
			}
			for i := range n {
				if i*size < len(never) && slices.Contains(never[i*size:min((i+1)*size, len(never))], 1) {
					o[lane+i], some = w.never, true
				}
			}
		})
	}
	*w.out.some = some
}

// unwrittenAt are the marks of bytes that were never written; nil if the buffer has none, or the bytes are not in it.
func (m *memory) unwrittenAt(address int64, size int) []byte {
	b, at := m.find(address)
	if b == nil || b.Unwritten == nil || at < 0 || at+int64(size) > int64(len(b.Unwritten)) {
		return nil
	}
	return b.Unwritten[at : at+int64(size)]
}
