package lanes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// Process names a process as a file does, which is not what the file calls it: many processes are called "python".
type Process struct {
	Part int    // of a file that several files were put together to
	ID   string // its pid or uuid, a number or a text
}

// owner is a process of the file.
type owner struct {
	Process
	name    string   // as the file calls it; may be empty
	form    string   // the ID without its numbers
	numbers []string // and these
	calls   callKind // that may have launched work
	work    bool     // lanes with work of a GPU belong to it
}

// callKind says how surely slices with an id are calls that launch work.
type callKind uint8

const (
	noCall callKind = iota
	someCall
	launchCall
)

func callKindOf(s *profile.Slice) callKind {
	switch {
	case s.Kind == profile.LaunchSlice:
		return launchCall
	case s.ID != 0 && (s.Kind == profile.OtherSlice || s.Kind == profile.SyncSlice):
		return someCall
	}
	return noCall
}

// gpu is a GPU as the file has it: lanes of one process with one device.
type gpu struct {
	gpuKey
	lanes   []*Lane
	near    bool     // only calls of processes whose ids differ from its own in one number may have launched its work
	of      *owner   // whose calls did; nil if that is doubtful
	found   []*owner // whose calls launched some of it, if it is doubtful
	unknown *owner   // has the work whose process is not known
}

type gpuKey struct {
	from   *owner
	device string
}

// assignment finds the process of each lane that another program wrote. Work of a GPU belongs to the process whose calls launched it: ids
// of calls are those of one process, and torch, for one, writes work below the number of the GPU in place of a process.
type assignment struct {
	b         *Builder
	owners    []*owner
	gpus      []*gpu
	byKey     map[gpuKey]*gpu
	of        []*owner            // of each lane, by the builder's ID; nil of lanes that are described
	launching map[string][]*owner // processes with calls, by what key says of them
	alone     map[int]*owner      // a process for the GPUs of each part that has no calls
}

// assign sets the processes of all lanes that other programs wrote, and notes what is doubtful.
func (b *Builder) assign() {
	a := &assignment{b: b, of: make([]*owner, len(b.lanes)), byKey: map[gpuKey]*gpu{}, launching: map[string][]*owner{}, alone: map[int]*owner{}}
	byProcess := map[Process]*owner{}
	for i, l := range b.lanes {
		if !l.Used || l.Described || l.continues != nil {
			continue
		}
		o := byProcess[l.In]
		if o == nil {
			o = &owner{Process: l.In, name: b.processes[l.In.ID]}
			o.form, o.numbers = numbersOf(l.In.ID)
			byProcess[l.In] = o
			a.owners = append(a.owners, o)
		}
		a.of[i] = o
		if l.GPU {
			a.addGPU(o, l)
		} else {
			o.calls = max(o.calls, l.calls)
		}
	}
	a.index()
	var doubtful []*gpu
	for _, g := range a.gpus {
		if a.decide(g); g.of == nil {
			doubtful = append(doubtful, g)
			continue
		}
		g.of.work = true
		for _, l := range g.lanes {
			a.of[l.ID] = g.of
		}
	}
	if doubtful != nil {
		a.decideByWork(doubtful)
	}
	a.nameDevices()
	a.dropCrossingArrows()
	a.label()
}

func (a *assignment) addGPU(from *owner, l *Lane) {
	key := gpuKey{from, l.Device}
	g := a.byKey[key]
	if g == nil {
		g = &gpu{gpuKey: key}
		a.byKey[key] = g
		a.gpus = append(a.gpus, g)
	}
	g.lanes = append(g.lanes, l)
}

// index lists the processes that launch work: those with launches, or, if there are none, those with other calls.
func (a *assignment) index() {
	surest := noCall
	for _, o := range a.owners {
		surest = max(surest, o.calls)
	}
	for _, o := range a.owners {
		if o.calls < surest {
			o.calls = noCall
		}
		if o.calls == noCall {
			continue
		}
		a.add(o, o.part())
		if o.isText() {
			a.add(o, o.likes())
			for i := range o.numbers {
				a.add(o, o.but(i))
			}
		}
	}
}

func (a *assignment) add(o *owner, key string) { a.launching[key] = append(a.launching[key], o) }

// part, likes and but are keys of processes: of those of its part of the file, of those whose ids have its form, and of those whose ids
// differ from its own in one number only.
func (o *owner) part() string  { return strconv.Itoa(o.Part) }
func (o *owner) likes() string { return o.part() + " " + o.form }
func (o *owner) but(i int) string {
	return fmt.Sprint(o.likes(), " ", i, slices.Concat(o.numbers[:i], []string{"#"}, o.numbers[i+1:]))
}

// isText says whether an id may have been made of a rank and a pid. The most numbers that such ids have bound the index.
func (o *owner) isText() bool { return len(o.numbers) > 1 && len(o.numbers) <= 8 }

// numbersOf takes the numbers out of an id: "[TP01] 7" is "[TP#] #" with 01 and 7.
func numbersOf(id string) (form string, numbers []string) {
	var b strings.Builder
	for id != "" {
		n := len(id) - len(strings.TrimLeft(id, "0123456789"))
		if n > 0 {
			numbers = append(numbers, id[:n])
			b.WriteByte('#')
			id = id[n:]
		}
		n = strings.IndexAny(id, "0123456789")
		if n < 0 {
			n = len(id)
		}
		b.WriteString(id[:n])
		id = id[n:]
	}
	return b.String(), numbers
}

// decide finds the process of a GPU by the ids of the file: its own if that has calls, else the only one of its part of the file that has.
// Programs that merge files write the rank and the pid into one text: then it is the one whose text differs in one number only.
func (a *assignment) decide(g *gpu) {
	keys := []string{g.from.part()}
	if g.near = g.from.isText() && a.launching[g.from.likes()] != nil; g.near {
		keys = nil
		for i := range g.from.numbers {
			keys = append(keys, g.from.but(i))
		}
	}
	var first *owner
	several := false
	for _, key := range keys {
		for _, o := range a.launching[key] {
			if first == nil {
				first = o
			}
			if several = o != first; several {
				break
			}
		}
	}
	pidIsDevice := g.device != "" && g.from.ID == g.device // another process may have the number of the GPU for a pid
	switch {
	case first != nil && !several:
		g.of = first
	case g.from.calls != noCall && !pidIsDevice:
		g.of = g.from
	case first == nil && pidIsDevice: // without calls, GPUs are taken for those of one process
		if a.alone[g.from.Part] == nil {
			a.alone[g.from.Part] = g.from
		}
		g.of = a.alone[g.from.Part]
	case first == nil:
		g.of = g.from
	}
}

// may says whether calls of a process may have launched work of a GPU.
func (g *gpu) may(o *owner) bool {
	if o.calls == noCall || o.Part != g.from.Part {
		return false
	}
	return !g.near || o.form == g.from.form && differing(o.numbers, g.from.numbers) <= 1
}

func differing(a, b []string) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// nameDevices gives GPUs of one process whose ordinals the file does not have the ids under which it has them.
func (a *assignment) nameDevices() {
	unnamed, several := map[*owner]*owner{}, map[*owner]bool{}
	for _, g := range a.gpus {
		for _, l := range g.lanes {
			if o := a.of[l.ID]; g.device == "" {
				several[o] = several[o] || unnamed[o] != nil && unnamed[o] != g.from
				unnamed[o] = g.from
			}
		}
	}
	for _, g := range a.gpus {
		for _, l := range g.lanes {
			if g.device == "" && several[a.of[l.ID]] {
				l.Device = g.from.ID
			}
		}
	}
}

// dropCrossingArrows leaves out arrows from a call of one process to work of another one: of two processes that use one id for their arrows,
// the reader took ends for those of one arrow.
func (a *assignment) dropCrossingArrows() {
	t := a.b.Profile.Timeline
	before := len(t.Flows)
	t.Flows = slices.DeleteFunc(t.Flows, func(f profile.Flow) bool {
		from, to := a.of[f.From], a.of[f.To]
		return from != nil && to != nil && from != to && from.calls != noCall && to.work && a.b.lanes[f.To].GPU
	})
	if n := before - len(t.Flows); n > 0 {
		a.b.Profile.Note(figures.Plural(n, "arrow is", "arrows are") + " left out: several processes use the same ids for them, and they would lead from a call of one process to work of another")
	}
}

// label names the processes of the lanes. If one process only uses GPUs, its lanes say none.
func (a *assignment) label() {
	used, called, main := map[*owner]bool{}, map[string]int{}, []*owner{}
	for _, o := range a.of {
		if o == nil || used[o] {
			continue
		}
		used[o] = true
		called[o.called()]++
		if o.work || o.calls != noCall {
			main = append(main, o)
		}
	}
	for i, o := range a.of {
		switch l := a.b.lanes[i]; {
		case o == nil:
		case len(used) == 1, len(main) == 1 && main[0] == o:
			l.Process = ""
		case called[o.called()] == 1:
			l.Process = o.called()
		default:
			l.Process = o.called() + " (" + o.id() + ")"
		}
	}
}

// called is what the file calls a process.
func (o *owner) called() string { return cmp.Or(o.name, o.id()) }

// id is different for all processes of the file.
func (o *owner) id() string {
	text := o.ID
	if _, err := strconv.ParseInt(o.ID, 10, 64); err == nil {
		text = "process " + o.ID
	}
	if o.Part > 0 {
		text += fmt.Sprintf(" of part %d", o.Part+1)
	}
	return text
}
