package tritonparse

import (
	"bytes"
	"encoding/binary"
	"strings"
	"sync"
	"sync/atomic"
)

// Values that are longer than internFrom are shared, stacks above all, and short lists, such as shapes and grids.
const internFrom = 64

// lasts says of the text of a value that it stays as it is when the record is gone: it is shared, or was made for the value.
func lasts(text []byte) bool { return len(text) > internFrom }

// valueBytes is what a value takes besides its texts.
const valueBytes = 200

// internBudget bounds the bytes of what is shared, of templates and of values each; a trace of one process has a few
// hundred kilobytes.
const internBudget = 8 << 20

// interner shares templates, values and shapes between the workers.
type interner struct {
	sync.RWMutex
	compat   bool
	programs map[string]*program      // by templateKey
	alike    map[likeness][]*template // one of each skeleton
	values   map[string]*value
	frames   map[string]*frame
	stacks   map[string]*value // by the numbers of their frames
	places   map[string]*place
	shapes   map[string]*shape
	size     struct{ programs, templates, values, frames, stacks, shapes int }
	framed   uint32       // frames that were numbered
	borrowed atomic.Int64 // launches that were compared with templates of other kernels
}

// program is what is known of the launches that begin with the same bytes: those of one kernel in one process, mostly.
type program struct {
	template *template
	own      bool         // the template is one of these launches; else it only has their skeleton
	last     atomic.Int64 // when one was met, among those that were compared with templates of other kernels
	near     atomic.Int32 // how often it was soon after the one before
}

// Where a program's launches come closer to each other than nearby, and do so often, it gets a template of its own: less
// differs from it. A template takes as long to make as that saves in some fifty launches, so very many programs that come in
// turns share a few.
const nearby, often = 64, 50

// likeness is equal for records with the same skeleton, and hardly ever for others.
type likeness struct{ leaves, between int }

// program returns what is known of launches that begin so, nil if that is nothing.
func (in *interner) program(key []byte) *program {
	in.RLock()
	defer in.RUnlock()
	return in.programs[string(key)]
}

// wantsOwn says whether a program is to get a template of its own. It is asked once for each launch.
func (in *interner) wantsOwn(p *program) bool {
	if p.own {
		return false
	}
	now := in.borrowed.Add(1)
	if now-p.last.Swap(now) < nearby {
		p.near.Add(1)
	}
	return p.near.Load() >= often
}

// keep keeps a template that was made of a launch which begins so.
func (in *interner) keep(key []byte, t *template) {
	if !t.reusable {
		return
	}
	in.Lock()
	defer in.Unlock()
	if in.size.templates += 4 * len(t.raw); in.size.templates > internBudget || in.alike == nil {
		in.programs, in.size.programs = map[string]*program{}, 0
		in.alike, in.size.templates = map[likeness][]*template{}, 4*len(t.raw)
	}
	in.learn(key, &program{template: t, own: true})
	like := t.likeness()
	for _, u := range in.alike[like] {
		if t.sameSkeleton(&u.skeleton) {
			return
		}
	}
	in.alike[like] = append(in.alike[like], t)
}

// borrow notes that launches which begin so are like a template of others.
func (in *interner) borrow(key []byte, t *template) {
	in.Lock()
	defer in.Unlock()
	if in.alike == nil {
		return
	}
	in.learn(key, &program{template: t})
}

func (in *interner) learn(key []byte, p *program) {
	if in.size.programs += len(key) + programBytes; in.size.programs > internBudget {
		in.programs, in.size.programs = map[string]*program{}, len(key)+programBytes
	}
	in.programs[string(key)] = p
}

// programBytes is what a program takes besides its key.
const programBytes = 150

// like are templates that a record with such leaves may have the skeleton of.
func (in *interner) like(l likeness) []*template {
	in.RLock()
	defer in.RUnlock()
	return in.alike[l]
}

// known is a value that was shared before, nil if it was not.
func (in *interner) known(raw []byte) *value {
	in.RLock()
	defer in.RUnlock()
	return in.values[string(raw)]
}

// get shares a value that is no stack.
func (in *interner) get(raw []byte) *value {
	if v := in.known(raw); v != nil {
		return v
	}
	v := newValue(bytes.Clone(raw))
	in.Lock()
	defer in.Unlock()
	if in.size.values += 3*len(raw) + valueBytes; in.size.values > internBudget/2 || in.values == nil {
		in.values, in.size.values = map[string]*value{}, 3*len(raw)+valueBytes
	}
	in.values[string(raw)] = v
	return v
}

func (in *interner) place(p place) *place {
	argument := ""
	if p.isArg {
		argument = "." + p.argument
	}
	p.id = strings.Join(append([]string{p.member, argument}, p.path...), "\x00")
	in.Lock()
	defer in.Unlock()
	if known := in.places[p.id]; known != nil {
		return known
	}
	if in.size.shapes += 100 + 2*len(p.id); in.size.shapes > internBudget || in.places == nil {
		in.places, in.shapes, in.size.shapes = map[string]*place{}, map[string]*shape{}, 0
	}
	p.counted, p.work = p.onlyCounted(in.compat), p.matters()
	p.route = []string{p.member}
	if p.isArg {
		p.route = append(p.route, p.argument)
	}
	p.route = append(p.route, p.path...)
	in.places[p.id] = &p
	return &p
}

func (in *interner) shape(places []*place) *shape {
	var id []byte
	for _, p := range places {
		id = binary.AppendUvarint(id, uint64(len(p.id)))
		id = append(id, p.id...)
	}
	in.Lock()
	defer in.Unlock()
	if known := in.shapes[string(id)]; known != nil {
		return known
	}
	if in.shapes == nil {
		in.shapes = map[string]*shape{}
	}
	s := &shape{places}
	in.size.shapes += len(id) + 8*len(places)
	in.shapes[string(id)] = s
	return s
}
