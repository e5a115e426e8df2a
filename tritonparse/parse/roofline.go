package parse

import (
	"bytes"
	"encoding/binary"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
	"github.com/goproton/goproton/tritonparse/internal/work"
)

// roofline is how much a kernel moves and computes, launch by launch. Launches with the same grid and arguments are one kind. A log
// says which launches are of which kind, in a few bytes each, and defines the kinds, so that only the last kinds are in memory.
type roofline struct {
	known  map[string]int // kinds of the log's last part
	held   int            // bytes of known and of template
	log    store.Stream
	run    workRun
	last   workRun // the last in log
	base   *launchtext.Template
	key    []byte // changes of the last launch against base, of values that work depends on
	reader launchtext.KindReader
	coded  []byte
	kept   int // kinds of which log has a launch

	template   *work.Model // once there are many kinds
	form       []byte      // of the kind for which irrelevant was computed
	irrelevant []bool
}

// workRun is launches of one kind, each with the index and the id after its predecessor's.
type workRun struct{ kind, index, id, count int }

const (
	mostKinds    = 1 << 10 // in memory
	severalKinds = 1 << 6  // from this number on it pays to know which arguments are irrelevant
)

// mostRun bounds how many kinds of launches of a kernel are run, and of how many kernels of a rank.
const mostRun, mostKernelsRun = 4, 64

// The first number of an entry of the log.
const (
	logAnew = iota // kinds are numbered from 0 again
	logKind        // a kind follows, and a launch of it if it may be run
	logRuns        // plus the number of a kind: launches of that kind follow
)

// add adds a launch with its place among all launches and its occurrence id. source may be nil. runs says whether kinds may be run.
func (r *roofline) add(l *launchtext.Launch, index, id int, source *work.Source, runs bool, q quirks.Set) {
	kind := r.kind(l, source, runs, q)
	if n := &r.run; n.count > 0 && n.kind == kind && n.index+n.count == index && n.id+n.count == id {
		n.count++
		return
	}
	r.flush()
	r.run = workRun{kind, index, id, 1}
}

// size is how many bytes grow with the launches, about.
func (r *roofline) size() int { return r.held + r.log.Size() }

func (r *roofline) flush() {
	if r.run.count == 0 {
		return
	}
	log := binary.AppendUvarint(r.log.Buffer, uint64(logRuns+r.run.kind))
	log = binary.AppendUvarint(log, uint64(r.run.index-r.last.index))
	log = binary.AppendUvarint(log, uint64(r.run.id-r.last.id))
	r.log.Buffer = binary.AppendUvarint(log, uint64(r.run.count))
	r.last, r.run = r.run, workRun{}
}

// kind is the number of a launch's kind. Most launches are of the same kind as the one before.
func (r *roofline) kind(l *launchtext.Launch, source *work.Source, runs bool, q quirks.Set) int {
	var room [128]byte
	key := room[:0]
	for _, c := range l.Changes {
		if l.Shape.Places[c.Leaf].Work {
			key = binary.AppendUvarint(key, uint64(c.Leaf))
			key = store.AppendCounted(key, c.Text)
		}
	}
	if r.base == l.Template && r.run.count > 0 && bytes.Equal(key, r.key) {
		return r.run.kind
	}
	r.base, r.key = l.Template, append(r.key[:0], key...)
	k := r.reader.Read(l, q)
	if r.template == nil && len(r.known) >= severalKinds && source != nil && !q.Has(quirks.StaticWork) {
		r.template = work.NewModel(source, q)
		r.held += 2 * len(source.Text)
		r.anew() // a number that is irrelevant for counts may decide what a run does
	}
	r.coded = work.AppendKind(r.coded[:0], k, r.irrelevantOf(k))
	if n, ok := r.known[string(r.coded)]; ok {
		return n
	}
	var launch []byte
	if runs && r.kept < mostRun {
		r.kept++
		launch = l.AppendLine(nil)
		launch[len(launch)-1] = '}'
	}
	return r.define(launch)
}

// anew begins another part of the log.
func (r *roofline) anew() {
	r.flush()
	for code := range r.known {
		r.held -= len(code) + launchtext.ValueBytes
	}
	clear(r.known)
	r.log.Buffer = append(r.log.Buffer, logAnew)
}

// define numbers the kind in coded.
func (r *roofline) define(launch []byte) int {
	if len(r.known) >= mostKinds {
		r.anew()
	}
	if r.known == nil {
		r.known = map[string]int{}
	}
	n := len(r.known)
	r.known[string(r.coded)] = n
	r.held += len(r.coded) + launchtext.ValueBytes
	r.flush()
	r.log.Buffer = store.AppendCounted(store.AppendCounted(append(r.log.Buffer, logKind), r.coded), launch)
	return n
}

// irrelevantOf says which of a kind's arguments are irrelevant, nil if that is not known. That depends on which argument belongs to which
// parameter, which is the same for most kinds.
func (r *roofline) irrelevantOf(k *work.Inputs) []bool {
	if r.template == nil {
		return nil
	}
	form := binary.AppendUvarint(r.coded[:0], uint64(k.Positions))
	for i := range k.Arguments {
		a := &k.Arguments[i]
		form = binary.AppendUvarint(form, uint64(a.Position))
		form = append(append(form, a.Name...), 0, figures.OneIf[byte](a.IsNumber))
		form = binary.AppendUvarint(form, uint64(len(a.Shape)))
		form = binary.AppendUvarint(form, uint64(len(a.Strides)))
	}
	r.coded = form
	if r.irrelevant == nil || !bytes.Equal(form, r.form) {
		r.form = append(r.form[:0], form...)
		r.irrelevant = r.template.Irrelevant(k)
	}
	return r.irrelevant
}

// workLog are the functions that each calls with the entries of a log.
type workLog struct {
	anew     func()
	kind     func(k *work.Inputs, launch []byte) // may use both until it returns; nil if kinds are not needed
	launches func(workRun)
}

func (r *roofline) each(s *store.Spill, to workLog) error {
	r.flush()
	var at workRun
	var k work.Inputs
	return r.log.Each(s, func(log []byte) error {
		for c := (store.Cursor{In: log}); len(c.In) > 0; {
			switch n := c.Uvarint(); n {
			case logAnew:
				to.anew()
			case logKind:
				text, launch := c.Text(), c.Text()
				if to.kind == nil {
					break
				}
				if err := k.Read(text); err != nil {
					return err
				}
				to.kind(&k, launch)
			default:
				at = workRun{n - logRuns, at.index + c.Uvarint(), at.id + c.Uvarint(), c.Uvarint()}
				if c.Damaged {
					return store.ErrDamaged
				}
				to.launches(at)
			}
		}
		return nil
	})
}
