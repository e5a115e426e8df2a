package tritonparse

import (
	"bytes"
	"encoding/binary"
)

// roofline is how much one kernel moves and computes, launch by launch. Launches of one grid with the same arguments are
// one kind; which launch is of which kind is kept in a few bytes each. The log of it says what it defines, so of the kinds
// only the last are in memory.
type roofline struct {
	known  map[string]int // kinds of the log's last part
	held   int            // bytes of known and of template
	log    stream
	run    workRun
	last   workRun // the last of log
	base   *template
	key    []byte // what the last launch did not share with base, of what matters
	reader kindReader
	coded  []byte

	template *workTemplate // once there are many kinds
	form     []byte        // of the kind that idle is of
	idle     []bool
}

// workRun is launches of one kind, each with the index and the id after its predecessor's.
type workRun struct{ kind, index, id, count int }

const (
	mostKinds    = 1 << 10 // in memory
	severalKinds = 1 << 6  // from which on it is worth to know which arguments are idle
)

// What an entry of the log begins with: that numbers of kinds begin again, a definition, or the number of a kind.
const (
	logAnew = iota
	logKind
	logRuns
)

// add takes a launch with its place among all launches and its occurrence id. source may be nil.
func (r *roofline) add(l *launch, index, id int, source *workSource, compat bool) {
	kind := r.kind(l, source, compat)
	if n := &r.run; n.count > 0 && n.kind == kind && n.index+n.count == index && n.id+n.count == id {
		n.count++
		return
	}
	r.flush()
	r.run = workRun{kind, index, id, 1}
}

// size is how many bytes of it grow with the launches, about.
func (r *roofline) size() int { return r.held + r.log.size() }

func (r *roofline) flush() {
	if r.run.count == 0 {
		return
	}
	log := binary.AppendUvarint(r.log.buffer, uint64(logRuns+r.run.kind))
	log = binary.AppendUvarint(log, uint64(r.run.index-r.last.index))
	log = binary.AppendUvarint(log, uint64(r.run.id-r.last.id))
	r.log.buffer = binary.AppendUvarint(log, uint64(r.run.count))
	r.last, r.run = r.run, workRun{}
}

// kind finds the number of a launch's kind. Most launches are like the one before in all that matters here.
func (r *roofline) kind(l *launch, source *workSource, compat bool) int {
	var room [128]byte
	key := room[:0]
	for _, c := range l.changes {
		if l.shape.places[c.leaf].work {
			key = binary.AppendUvarint(key, uint64(c.leaf))
			key = appendCounted(key, c.text)
		}
	}
	if r.base == l.template && r.run.count > 0 && bytes.Equal(key, r.key) {
		return r.run.kind
	}
	r.base, r.key = l.template, append(r.key[:0], key...)
	k := r.reader.read(l, compat)
	if r.template == nil && len(r.known) >= severalKinds && source != nil && !compat {
		r.template = newWorkTemplate(source, compat)
		r.held += 2 * len(source.text)
	}
	r.coded = appendKind(r.coded[:0], k, r.idleOf(k))
	if n, ok := r.known[string(r.coded)]; ok {
		return n
	}
	return r.define()
}

// define gives a number to the kind that was coded last.
func (r *roofline) define() int {
	if len(r.known) >= mostKinds {
		r.flush()
		for code := range r.known {
			r.held -= len(code) + valueBytes
		}
		clear(r.known)
		r.log.buffer = append(r.log.buffer, logAnew)
	}
	if r.known == nil {
		r.known = map[string]int{}
	}
	n := len(r.known)
	r.known[string(r.coded)] = n
	r.held += len(r.coded) + valueBytes
	r.flush()
	r.log.buffer = appendCounted(append(r.log.buffer, logKind), r.coded)
	return n
}

// idleOf says which of a kind's arguments are idle, nil if that is not known. It depends on how arguments and parameters go
// together, which does not differ between most kinds.
func (r *roofline) idleOf(k *workKind) []bool {
	if r.template == nil {
		return nil
	}
	form := binary.AppendUvarint(r.coded[:0], uint64(k.positions))
	for i := range k.arguments {
		a := &k.arguments[i]
		form = binary.AppendUvarint(form, uint64(a.position))
		form = append(append(form, a.name...), 0, oneIf(a.isNumber))
		form = binary.AppendUvarint(form, uint64(len(a.shape)))
		form = binary.AppendUvarint(form, uint64(len(a.strides)))
	}
	r.coded = form
	if r.idle == nil || !bytes.Equal(form, r.form) {
		r.form = append(r.form[:0], form...)
		r.idle = r.template.idle(k)
	}
	return r.idle
}

// workLog is called with what a log says.
type workLog struct {
	anew     func()
	kind     func(*workKind)
	launches func(workRun)
}

// each reads the log.
func (r *roofline) each(s *spill, to workLog) error {
	r.flush()
	var at workRun
	return r.log.each(s, func(log []byte) error {
		for c := (cursor{in: log}); len(c.in) > 0; {
			switch n := c.uvarint(); n {
			case logAnew:
				to.anew()
			case logKind:
				k, err := readKind(c.text())
				if err != nil {
					return err
				}
				to.kind(k)
			default:
				at = workRun{n - logRuns, at.index + c.uvarint(), at.id + c.uvarint(), c.uvarint()}
				if c.damaged {
					return errDamaged
				}
				to.launches(at)
			}
		}
		return nil
	})
}
