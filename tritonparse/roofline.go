package tritonparse

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goproton/goproton/tritonparse/jsontext"
	"github.com/goproton/goproton/tritonparse/ttir"
)

// workSource is what a compilation says of its work: taken apart when all launches are known.
type workSource struct {
	text      string // TTIR
	constants []byte // src_constants of its metadata: the arguments that are compiled in
}

// workTemplate is what a kernel's TTIR says of its work, before any launch.
type workTemplate struct {
	compat    compatWork
	module    *ttir.Module // nil with Compat
	constants map[int]bool // positions of arguments that are compiled in
}

func newWorkTemplate(s workSource, compat bool) *workTemplate {
	if compat {
		return &workTemplate{compat: readCompatWork(s.text)}
	}
	t := &workTemplate{module: ttir.Parse(s.text), constants: map[int]bool{}}
	constants, _ := jsontext.Members(s.constants)
	for _, m := range constants { // (4,)
		if n, err := strconv.Atoi(strings.Trim(m.Name, "(,)")); err == nil {
			t.constants[n] = true
		}
	}
	return t
}

// roofline is how much one kernel moves and computes, launch by launch. Launches of one grid with the same arguments are
// one kind; which launch is of which kind is kept in a few bytes each.
type roofline struct {
	kinds []*workKind
	byKey map[string]int // of many
	base  *template      // of the last launch
	key   []byte         // what it did not share with it, of what matters
	known map[string]int // kinds of other launches with that template, by the same
	log   []byte         // runs of launches, see flush
	run   workRun
	last  workRun // the last of log
}

// workKind is what launches have in common that do the same work.
type workKind struct {
	grid      []byte // as it was given
	dims      []int64
	arguments []boundArgument // numbers and descriptors
	positions int             // arguments in all
	fromArgs  int64           // bytes of tensors
	hasArgs   bool
	key       string // equal for equal kinds
}

// boundArgument is an argument that loops may depend on.
type boundArgument struct {
	position int
	name     string
	isNumber bool
	number   int64
	shape    []int64 // of a descriptor
	strides  []int64
}

// workRun is launches of one kind, each with the index and the id after its predecessor's.
type workRun struct{ kind, index, id, count int }

// add takes a launch with its place among all launches and its occurrence id.
func (r *roofline) add(l *launch, index, id int, compat bool) {
	kind := r.kind(l, compat)
	if n := &r.run; n.count > 0 && n.kind == kind && n.index+n.count == index && n.id+n.count == id {
		n.count++
		return
	}
	r.flush()
	r.run = workRun{kind, index, id, 1}
}

// size is how many bytes of it grow with the launches, about.
func (r *roofline) size() int { return len(r.kinds)*kindBytes + len(r.log) }

// kindBytes is what a kind takes with its key and its arguments.
const kindBytes = 1 << 10

func (r *roofline) flush() {
	if r.run.count == 0 {
		return
	}
	r.log = binary.AppendUvarint(r.log, uint64(r.run.kind))
	r.log = binary.AppendUvarint(r.log, uint64(r.run.index-r.last.index))
	r.log = binary.AppendUvarint(r.log, uint64(r.run.id-r.last.id))
	r.log = binary.AppendUvarint(r.log, uint64(r.run.count))
	r.last, r.run = r.run, workRun{}
}

// each calls f with every launch.
func (r *roofline) each(f func(kind, index, id int)) {
	r.flush()
	log := r.log
	next := func() int {
		v, n := binary.Uvarint(log)
		log = log[n:]
		return int(v)
	}
	index, id := 0, 0
	for len(log) > 0 {
		kind := next()
		index += next()
		id += next()
		for i := range next() {
			f(kind, index+i, id+i)
		}
	}
}

// kind finds or makes the kind of a launch. Launches of one template are told apart by what of them matters here.
func (r *roofline) kind(l *launch, compat bool) int {
	var room [128]byte
	key := room[:0]
	for _, c := range l.changes {
		if l.shape.places[c.leaf].work {
			key = binary.AppendUvarint(key, uint64(c.leaf))
			key = binary.AppendUvarint(key, uint64(len(c.text)))
			key = append(key, c.text...)
		}
	}
	if r.base != l.template {
		r.base = l.template
		clear(r.known)
	} else if bytes.Equal(key, r.key) && r.run.count > 0 {
		return r.run.kind
	} else if k, ok := r.known[string(key)]; ok {
		r.key = append(r.key[:0], key...)
		return k
	}
	r.key = append(r.key[:0], key...)
	k := r.newKind(l.template.works.kind(l, key, compat))
	if r.run.count == 0 {
		return k // perhaps the only one
	}
	if r.known == nil || len(r.known) >= maxKnown {
		r.known = map[string]int{}
	}
	r.known[string(key)] = k
	return k
}

// maxKnown is how many kinds of one template are found without a look at all arguments.
const maxKnown = 1 << 12

// newKind finds the kind that is equal, or takes the new one.
func (r *roofline) newKind(k *workKind) int {
	const few = 8
	if r.byKey == nil {
		if i := slices.IndexFunc(r.kinds, func(o *workKind) bool { return o == k || o.key == k.key }); i >= 0 {
			return i
		}
	} else if i, ok := r.byKey[k.key]; ok {
		return i
	}
	r.kinds = append(r.kinds, k)
	switch n := len(r.kinds); {
	case r.byKey != nil:
		r.byKey[k.key] = n - 1
	case n > few:
		r.byKey = map[string]int{}
		for i, o := range r.kinds {
			r.byKey[o.key] = i
		}
	}
	return len(r.kinds) - 1
}

// workKinds are kinds of launches with one template, of all its kernels.
type workKinds struct {
	sync.Mutex
	known map[string]*workKind
}

// kind is that of a launch, by what it does not share with its template.
func (s *workKinds) kind(l *launch, key []byte, compat bool) *workKind {
	s.Lock()
	defer s.Unlock()
	k := s.known[string(key)]
	if k == nil {
		const most = 64
		if k = newWorkKind(l, compat); s.known == nil || len(s.known) >= most {
			s.known = map[string]*workKind{}
		}
		s.known[string(key)] = k
	}
	return k
}

func newWorkKind(l *launch, compat bool) *workKind {
	k := &workKind{}
	arguments := &object{}
	l.each(func(p *place, text []byte) {
		switch {
		case p.isArg && p.work:
			arguments.at(p.route[1:]...).text = text
		case p.isGrid() && text[0] == '[':
			k.grid = bytes.Clone(text)
			k.dims = wholeNumbers(text)
		}
	})
	for _, a := range arguments.members {
		k.add(a.name, readFacts(a.appendJSON(nil)), compat)
	}
	key := fmt.Appendf(nil, "%s %v %d %d", k.grid, k.hasArgs, k.fromArgs, k.positions)
	for _, a := range k.arguments {
		key = fmt.Appendf(key, " %d %q %v %d %v %v", a.position, a.name, a.isNumber, a.number, a.shape, a.strides)
	}
	k.key = string(key)
	return k
}

// add takes the next argument.
func (k *workKind) add(name string, f facts, compat bool) {
	bytes, ok := f.bytes, f.isTensor
	if !compat {
		bytes, ok = f.distinct, f.distinct >= 0
		if f.isNumber || f.shape != nil {
			k.arguments = append(k.arguments, boundArgument{k.positions, name, f.isNumber, f.number, f.shape, f.strides})
		}
	}
	k.positions++
	if !ok {
		return
	}
	k.hasArgs = true
	if strings.HasPrefix(name, "in_out_ptr") { // Inductor's name for what is read and written
		k.fromArgs += bytes
	}
	k.fromArgs += bytes
}

// matters says whether the work of a launch may depend on what stands at a place.
func (p *place) matters() bool {
	if !p.isArg {
		return p.isGrid()
	}
	return p.member == "extracted_args" && (len(p.path) == 0 || p.path[len(p.path)-1] != "data_ptr")
}

func (p *place) isGrid() bool { return !p.isArg && p.member == "grid" && len(p.path) == 0 }

// programs is how many there are.
func (k *workKind) programs() (int64, bool) {
	if len(k.dims) == 0 {
		return 0, false
	}
	n := int64(1)
	for _, d := range k.dims {
		if d < 0 || d > 0 && n > math.MaxInt64/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// estimate is what one kind of launch does; numbers that are not known are negative.
type estimate struct {
	programs, fromIR, fromArgs, flops int64
	work                              ttir.Work // of all programs
	notes                             []string
}

func (e *estimate) moved() int64 {
	switch {
	case e.fromIR < 0:
		return e.fromArgs
	case e.fromArgs < 0:
		return e.fromIR
	}
	return min(e.fromIR, e.fromArgs)
}

// summary is what stands before the launches.
type summary struct {
	gemm                      bool
	bytes, load, store, flops int64 // of one program; negative where not known
	notes                     []string
}

// maxNotes is how many notes there are to a kernel.
const maxNotes = 20

// write adds the event of a kernel, without its end.
func (r *roofline) write(f *part, k *kernel, t *workTemplate, compat bool) {
	estimates := make([]estimate, len(r.kinds))
	var s summary
	if compat {
		s = t.compat.summary()
		for i, kind := range r.kinds {
			estimates[i] = t.compat.estimate(kind)
		}
	} else {
		s = r.estimates(t, estimates)
	}
	number := func(n int64) []byte {
		if n < 0 {
			return null
		}
		return strconv.AppendInt(nil, n, 10)
	}
	out := fmt.Appendf(nil, `{"event_type":"roofline","hash":%s,"name":%s,"roofline":{"is_gemm":%t,"estimation_method":"ttir_static_x_launch","bytes_moved_per_cta":%s,"flops_per_cta":%s,"per_launch":[`,
		jsontext.Quote(k.hash), jsontext.Quote(k.name), s.gemm, number(s.bytes), number(s.flops))
	first := true
	r.each(func(kind, index, id int) {
		if !first {
			out = append(out, ',')
		}
		first = false
		e, grid := &estimates[kind], r.kinds[kind].grid
		if grid == nil {
			grid = null
		}
		out = fmt.Appendf(out, `{"launch_index":%d,"occurrence_id":%d,"grid":%s,"num_ctas":%s,"bytes_moved":%s,"bytes_from_ir_x_grid":%s,"bytes_from_args":%s,"flops":%s,"arithmetic_intensity":`,
			index, id, grid, number(e.programs), number(e.moved()), number(e.fromIR), number(e.fromArgs), number(e.flops))
		if moved := e.moved(); e.flops >= 0 && moved > 0 {
			out = jsontext.AppendFloat(out, float64(e.flops)/float64(moved))
		} else {
			out = append(out, null...)
		}
		out = append(out, '}')
		f.text(out)
		out = out[:0]
	})
	out = append(out, ']')
	if s.bytes >= 0 {
		out = fmt.Appendf(out, `,"bytes_breakdown_per_cta":{"load":%d,"store":%d}`, s.load, s.store)
	}
	if len(s.notes) > maxNotes {
		s.notes = append(s.notes[:maxNotes:maxNotes], "... (truncated)")
	}
	if len(s.notes) > 0 {
		out = append(append(out, `,"notes":`...), appendTexts(nil, s.notes)...)
	}
	f.text(append(out, '}'))
}

// estimates counts every kind of launch by the loops of the kernel, and returns what the first launch's programs do.
func (r *roofline) estimates(t *workTemplate, all []estimate) summary {
	s := summary{bytes: -1, flops: -1}
	differ := false
	for i, kind := range r.kinds {
		all[i] = t.estimate(kind)
		e := &all[i]
		for _, n := range e.notes {
			if !slices.Contains(s.notes, n) {
				s.notes = append(s.notes, n)
			}
		}
		s.gemm = s.gemm || e.work.Dots > 0
		if e.programs <= 0 {
			continue
		}
		load, store := e.work.Loaded/e.programs, e.work.Stored/e.programs
		if s.bytes >= 0 && (s.load != load || s.store != store) {
			differ = true
			continue
		}
		s.load, s.store, s.bytes, s.flops = load, store, load+store, e.flops/e.programs
	}
	if differ {
		s.notes = append(s.notes, "figures of one program are those of the first launch: they depend on the arguments")
	}
	return s
}

// NoteMasked is said of every kernel that loads or stores with a mask.
const NoteMasked = "masked elements count as moved"

// estimate counts one kind of launch.
func (t *workTemplate) estimate(k *workKind) estimate {
	e := estimate{programs: -1, fromIR: -1, fromArgs: -1, flops: -1}
	if k.hasArgs {
		e.fromArgs = k.fromArgs
	}
	n, ok := k.programs()
	if !ok {
		e.notes = []string{"the grid is not known"}
		return e
	}
	e.programs = n
	launch := ttir.Launch{Grid: [3]int64{1, 1, 1}, Arguments: t.bind(k)}
	copy(launch.Grid[:], k.dims)
	total := t.module.Count(launch)
	e.work, e.notes = total.Work, total.Notes
	if total.Masked {
		e.notes = append(e.notes, NoteMasked)
	}
	e.fromIR = e.work.Bytes()
	if e.flops = e.work.Dots; e.flops == 0 {
		e.flops = e.work.Flops
	}
	return e
}

// bind gives the kernel's parameters their values: by name where the text has names, else by position.
func (t *workTemplate) bind(k *workKind) map[string]int64 {
	parameters := t.module.Parameters()
	values := map[string]int64{}
	byName := map[string]int64{}
	var order []int64 // of parameters that arguments are expected to have; only whole numbers matter
	var known []bool
	push := func(v int64, ok bool) { order, known = append(order, v), append(known, ok) }
	rest := k.arguments
	for i := range k.positions {
		var a boundArgument
		if len(rest) > 0 && rest[0].position == i {
			a, rest = rest[0], rest[1:]
		}
		if a.isNumber {
			byName[a.name] = a.number
		}
		for d, n := range a.shape {
			byName[fmt.Sprintf("%s.shape.%d", a.name, d)] = n
		}
		for d, n := range a.strides {
			byName[fmt.Sprintf("%s.stride.%d", a.name, d)] = n
		}
		if t.constants[i] {
			continue
		}
		push(a.number, a.isNumber)
		for _, n := range slices.Concat(a.shape, a.strides) {
			push(n, true)
		}
	}
	positional := len(order) == len(parameters)
	for i, p := range parameters {
		name := p.Label
		if _, ok := byName[name]; !ok {
			name = p.Name
		}
		if v, ok := byName[name]; ok {
			values[p.Name] = v
		} else if positional && p.Integer && known[i] {
			values[p.Name] = order[i]
		}
	}
	return values
}
