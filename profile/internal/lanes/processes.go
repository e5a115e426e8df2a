package lanes

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

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
	from    *owner
	device  string
	lanes   []*Lane
	may     []*owner // whose calls may have launched its work
	of      *owner   // whose calls did; nil if that is doubtful
	found   []*owner // whose calls launched some of it, if it is doubtful
	unknown *owner   // has the work whose process is not known
}

// assignment finds the process of each lane that another program wrote. Work of a GPU belongs to the process whose calls launched it: ids
// of calls are those of one process, and torch, for one, writes work below the number of the GPU in place of a process.
type assignment struct {
	b      *Builder
	owners []*owner
	gpus   []*gpu
	of     []*owner // of each lane, by the builder's ID; nil of lanes that are described
}

// assign sets the processes of all lanes that other programs wrote, and notes what is doubtful.
func (b *Builder) assign() {
	a := &assignment{b: b, of: make([]*owner, len(b.lanes))}
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
	a.keepSurestCalls()
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
	at := slices.IndexFunc(a.gpus, func(g *gpu) bool { return g.from == from && g.device == l.Device })
	if at < 0 {
		at = len(a.gpus)
		a.gpus = append(a.gpus, &gpu{from: from, device: l.Device})
	}
	a.gpus[at].lanes = append(a.gpus[at].lanes, l)
}

// keepSurestCalls has only the processes with launches launch work, if there are any.
func (a *assignment) keepSurestCalls() {
	surest := noCall
	for _, o := range a.owners {
		surest = max(surest, o.calls)
	}
	for _, o := range a.owners {
		if o.calls < surest {
			o.calls = noCall
		}
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

// numbersOf takes the numbers out of an id: "[TP01] 7" is "[TP#] #" with 01 and 7.
func numbersOf(id string) (form string, numbers []string) {
	return digits.ReplaceAllLiteralString(id, "#"), digits.FindAllString(id, -1)
}

// decide finds the process of a GPU by the ids of the file: its own if that has calls, else the only one of its part of the file that has.
// Programs that merge files write the rank and the pid into one text: then it is the one whose text differs in one number only.
func (a *assignment) decide(g *gpu) {
	sameForm := func(o *owner) bool { return o.form == g.from.form && len(o.numbers) > 1 }
	launching := slices.DeleteFunc(slices.Clone(a.owners), func(o *owner) bool { return o.calls == noCall || o.Part != g.from.Part })
	if slices.ContainsFunc(launching, sameForm) {
		launching = slices.DeleteFunc(launching, func(o *owner) bool { return !sameForm(o) || differing(o.numbers, g.from.numbers) > 1 })
	}
	g.may = launching
	pidIsDevice := g.device != "" && g.from.ID == g.device // another process may have the number of the GPU for a pid
	switch {
	case len(g.may) == 1:
		g.of = g.may[0]
	case slices.Contains(g.may, g.from) && !pidIsDevice:
		g.of = g.from
	case len(g.may) == 0:
		g.of = g.from
		for _, other := range a.gpus { // without calls, GPUs are taken for those of one process
			if other.of != nil && other.from.Part == g.from.Part && pidIsDevice && other.device == other.from.ID {
				g.of = other.of
				break
			}
		}
	}
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
	unnamed := map[*owner][]*owner{}
	for _, g := range a.gpus {
		for _, l := range g.lanes {
			if o := a.of[l.ID]; g.device == "" && !slices.Contains(unnamed[o], g.from) {
				unnamed[o] = append(unnamed[o], g.from)
			}
		}
	}
	for _, g := range a.gpus {
		for _, l := range g.lanes {
			if g.device == "" && len(unnamed[a.of[l.ID]]) > 1 {
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
		a.b.Profile.Note(fmt.Sprintf("%d arrows are left out: processes use the same ids for them, and they would lead from a call of one process to work of another", n))
	}
}

// label names the processes of the lanes. If one process only uses GPUs, its lanes say none.
func (a *assignment) label() {
	var used, main []*owner
	for _, o := range a.of {
		if o != nil && !slices.Contains(used, o) {
			used = append(used, o)
			if o.work || o.calls != noCall {
				main = append(main, o)
			}
		}
	}
	called := map[string]int{}
	for _, o := range used {
		called[o.called()]++
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
