package launchtext

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// Lasts reports whether the text of a value stays valid after its record is gone: long texts are shared and are not part of the
// record.
func Lasts(text []byte) bool { return len(text) > InternFrom }

// Interner shares templates, values and shapes between the workers.
type Interner struct {
	sync.RWMutex
	Quirks   quirks.Set
	programs Shared[*program]         // by TemplateKey
	similar  map[likeness][]*Template // one of each skeleton
	values   Shared[*Value]
	frames   Shared[*Frame]
	stacks   Shared[*Value] // by the numbers of their frames
	places   map[string]*LeafPath
	shapes   map[string]*Shape
	size     struct{ templates, shapes int }
	framed   atomic.Uint32 // frames that were numbered
	borrowed atomic.Int64  // launches that were compared with templates of other kernels
}

// program is what is known of launches whose records begin with the same bytes (TemplateKey): mostly those of one kernel in one
// process.
type program struct {
	template *Template
	own      bool         // the template is one of these launches; otherwise it is a launch of another program with the same skeleton
	last     atomic.Int64 // number of the last of these launches; launches that are compared with templates of other programs are counted
	near     atomic.Int32 // how often a launch came less than nearby after the one before
}

// A program whose launches often come less than nearby apart gets its own template, from which they differ less. Making one takes
// as long as it saves in about fifty launches, so a great number of programs that launch in turns share a few templates.
const nearby, often = 64, 50

// wantsOwn counts a launch and says whether its program should get its own template.
func (in *Interner) wantsOwn(p *program) bool {
	if p.own {
		return false
	}
	now := in.borrowed.Add(1)
	if now-p.last.Swap(now) < nearby {
		p.near.Add(1)
	}
	return p.near.Load() >= often
}

// keep stores the template of a launch whose record begins with key.
func (in *Interner) keep(key []byte, t *Template) {
	if !t.Reusable {
		return
	}
	in.Lock()
	defer in.Unlock()
	if in.size.templates += 4 * len(t.Raw); in.size.templates > InternBudget || in.similar == nil {
		in.programs.clear()
		in.similar, in.size.templates = map[likeness][]*Template{}, 4*len(t.Raw)
	}
	in.learn(key, &program{template: t, own: true})
	like := t.likeness()
	for _, u := range in.similar[like] {
		if t.sameSkeleton(&u.Skeleton) {
			return
		}
	}
	in.similar[like] = append(in.similar[like], t)
}

// borrow notes that launches whose records begin with key have the skeleton of another program's template.
func (in *Interner) borrow(key []byte, t *Template) {
	in.learn(key, &program{template: t})
}

func (in *Interner) learn(key []byte, p *program) {
	in.programs.Put(string(key), p, len(key)+programBytes, InternBudget)
}

// programBytes is what a program takes in addition to its key.
const programBytes = 150

// like returns templates whose skeleton may be that of a record with this likeness.
func (in *Interner) like(l likeness) []*Template {
	in.RLock()
	defer in.RUnlock()
	return in.similar[l]
}

// get shares a value that is not a stack.
func (in *Interner) get(raw []byte) *Value {
	if v := in.values.Get(raw); v != nil {
		return v
	}
	v := newValue(bytes.Clone(raw))
	in.values.Put(string(raw), v, 3*len(raw)+ValueBytes, InternBudget/2)
	return v
}

func (in *Interner) place(p LeafPath) *LeafPath {
	argument := ""
	if p.IsArg {
		argument = "." + p.Argument
	}
	p.Id = strings.Join(append([]string{p.Member, argument}, p.Path...), "\x00")
	in.Lock()
	defer in.Unlock()
	if known := in.places[p.Id]; known != nil {
		return known
	}
	if in.size.shapes += 100 + 2*len(p.Id); in.size.shapes > InternBudget || in.places == nil {
		in.places, in.shapes, in.size.shapes = map[string]*LeafPath{}, map[string]*Shape{}, 0
	}
	p.Counted, p.Work = p.onlyCounted(in.Quirks), p.matters()
	if p.identifies() {
		p.identity = max(1, uint32(store.Hash64(p.Id)))
	}
	p.Route = []string{p.Member}
	if p.IsArg {
		p.Route = append(p.Route, p.Argument)
	}
	p.Route = append(p.Route, p.Path...)
	in.places[p.Id] = &p
	return &p
}

func (in *Interner) shape(places []*LeafPath) *Shape {
	var id []byte
	for _, p := range places {
		id = binary.AppendUvarint(id, uint64(len(p.Id)))
		id = append(id, p.Id...)
	}
	in.Lock()
	defer in.Unlock()
	if known := in.shapes[string(id)]; known != nil {
		return known
	}
	if in.shapes == nil {
		in.shapes = map[string]*Shape{}
	}
	s := &Shape{Places: places, Captured: slices.ContainsFunc(places, func(p *LeafPath) bool { return p.IsArg && p.Argument == "_note" })}
	once := map[*LeafPath]bool{}
	for _, p := range places {
		once[p] = true
	}
	s.Distinct = len(once) == len(places)
	in.size.shapes += len(id) + 8*len(places)
	in.shapes[string(id)] = s
	return s
}
