package parse

import (
	"slices"
	"strconv"

	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
	"github.com/goproton/goproton/tritonparse/internal/work"
)

// kernel is one compilation with its launches, which name its hash. Launches and what is computed of them are in memory only while
// the kernel is resident, and otherwise in the files of the spill or the sorter: memory does not grow with the number of kernels.
type kernel struct {
	hash, name string
	file       string // of output
	number     int    // among all kernels, by the first record
	total      int    // launches
	firstID    int    // occurrence id of its first event, once all records are read

	compiled, analysis, common *store.Chunk
	hasWork                    bool // its TTIR is known
	parameters                 []byte
	baseWarps                  []byte // see compilation
	inferredIn                 *site  // of its first launch, if the trace has no compilation of it
	shown                      bool   // an analysis shows its stack and source

	chunks []*store.Chunk // of launches while it was resident
	state  *residentState // nil if it is not resident; a kernel that was launched and evicted stays evicted
}

// residentState is the state of a resident kernel. For an evicted kernel it is computed again from the launches when they are
// written, see kernelWriter.read.
type residentState struct {
	used   int // the last occurrence id of one of its records
	source *work.Source
	buffer []byte     // launches that are in no chunk
	places store.Runs // of its launches among all launches
	diff   launchDiff
	work   roofline
	size   int // bytes of the last three, as the parser counts them
}

// add adds a launch with its place among all launches and its occurrence id. works says whether its work is counted too.
func (h *residentState) add(p *parser, k *kernel, l *launchtext.Launch, index, id int, works bool) {
	q := p.options.quirks
	h.places.Add(index, index+1)
	h.places.Log.Lighten(p.spill, store.LogBytes)
	h.diff.add(l)
	h.diff.lighten(p.spill, p.options.room.values, q)
	if works {
		h.work.add(l, index, id, h.source, p.runs(k), q)
		h.work.log.Lighten(p.spill, store.LogBytes)
	}
}

// runs says whether launches of a kernel may be run: of so many kernels, and not as tritonparse counts.
func (p *parser) runs(k *kernel) bool {
	return p.options.Run != nil && k.number < mostKernelsRun && !p.options.quirks.Has(quirks.StaticWork)
}

// room is how much is held in memory while a rank is read.
type room struct {
	kernels  int // resident kernels; each has about 30 kB, mostly the template of its last launch
	launches int // bytes of launches that resident kernels hold until a chunk is full
	state    int // bytes of the resident kernels' other state that grows with the launches
	sorter   int // bytes of each sorter
	values   int // bytes of what differs between the launches of each kernel
	groups   int // distinct launches of each session of the autotuner
	waiting  int // bytes of launches that wait in the autotuner's sessions, with the templates that they keep alive
}

var usualRoom = room{kernels: 256, launches: 12 << 20, state: 24 << 20, values: 4 << 20, groups: 4096, sorter: 8 << 20, waiting: 8 << 20}

func (p *parser) kernel(hash string) *kernel {
	k := p.kernels[hash]
	if k == nil {
		k = &kernel{hash: hash, number: len(p.order)}
		p.kernels[hash] = k
		p.order = append(p.order, k)
	}
	return k
}

func (p *parser) nextID() int {
	p.ids++
	return p.ids - 1
}

// take numbers a record and gives it to its kernel.
func (p *parser) take(r *parsed) error {
	if !p.selection.keeps(r, p.options.quirks) {
		return nil
	}
	switch {
	case r.compilation != nil:
		p.takeCompilation(r.compilation)
	case r.launch.Template != nil:
		p.takeLaunch(&r.launch)
	case r.tuned != nil:
		p.sites.result(r.tuned)
	case r.failed:
		p.result.Failed++
	}
	return nil
}

func (p *parser) takeCompilation(c *compilation) {
	if c.hash == "" {
		return
	}
	p.sites.compilation(c)
	k := p.kernel(c.hash)
	if k.compiled != nil {
		return // another process compiled or loaded it first
	}
	id := p.nextID()
	p.compiled = append(p.compiled, id)
	k.name, k.file, k.parameters, k.baseWarps, k.inferredIn = c.name, p.split(c.file), c.parameters, c.baseWarps, nil
	line := append(c.line, `"occurrence_id":`...)
	line = strconv.AppendInt(line, int64(id), 10)
	k.compiled = p.spill.Add(append(line, "}\n"...))
	if c.common != nil {
		k.common = p.spill.AddLaunches(c.common)
	}
	if c.analysis != nil {
		k.analysis = p.spill.Add(c.analysis)
	}
	k.hasWork = c.work != nil
	if h := p.resident(k, id); h != nil {
		h.source = c.work
	} else if c.work != nil {
		p.sorter.Add(k.number, c.work.Append(nil))
	}
	p.result.Compilations++
}

func (p *parser) takeLaunch(l *launchtext.Launch) {
	id, index := p.nextID(), p.launches
	p.launches++
	p.result.Launches++
	use, site := p.sites.launch(l, id)
	if l.Hash == "" {
		p.result.Dropped++
		return
	}
	k := p.kernel(l.Hash)
	h := p.resident(k, id)
	if k.total == 0 && k.compiled == nil {
		k.file, k.inferredIn = p.split(p.options.torch.find("", l.Value("stack"))), site
	}
	if k.name == "" {
		k.name = l.Name
	}
	k.total++
	if h == nil {
		p.line = appendParsed(p.line[:0], l, id, use)
		p.sorter.Add(k.number, p.line)
		return
	}
	p.keep(k, h, l, index, id, use)
}

// appendParsed writes a launch as it stands in the output.
func appendParsed(out []byte, l *launchtext.Launch, id int, use string) []byte {
	out = l.AppendLine(out)
	out = append(append(append(out, `"launch_group_hash":"`...), l.Group[:]...), `","occurrence_id":`...)
	out = strconv.AppendInt(out, int64(id), 10)
	if use != "" {
		out = append(append(append(out, `,"autotune_launch_type":"`...), use...), '"')
	}
	return append(out, "}\n"...)
}

// keep adds a launch to a resident kernel.
func (p *parser) keep(k *kernel, h *residentState, l *launchtext.Launch, index, id int, use string) {
	h.add(p, k, l, index, id, k.compiled == nil || k.hasWork)
	if h.buffer == nil && len(k.chunks) > 0 {
		h.buffer = p.spill.Buffer()
		p.held += cap(h.buffer)
	}
	p.held -= cap(h.buffer)
	h.buffer = appendParsed(h.buffer, l, id, use)
	p.held += cap(h.buffer)
	if len(h.buffer) >= store.ChunkSize {
		p.pack(k)
	}
	if p.held > p.options.room.launches {
		p.packLarge(p.options.room.launches / 2)
	}
	p.stateBytes -= h.size
	h.size = h.diff.size + h.work.size() + h.places.Log.Size()
	if p.stateBytes += h.size; p.stateBytes > p.options.room.state {
		p.evictLargest()
	}
}

// resident is the state of a kernel, nil if it was evicted. id is the occurrence id of a record of the kernel.
func (p *parser) resident(k *kernel, id int) *residentState {
	if k.state == nil && k.total == 0 {
		if len(p.residents) >= p.options.room.kernels {
			slices.SortFunc(p.residents, func(a, b *kernel) int { return a.state.used - b.state.used })
			p.evict((len(p.residents) + 1) / 2)
		}
		k.state = p.spareStates.Take()
		p.residents = append(p.residents, k)
	}
	if k.state != nil {
		k.state.used = id
	}
	return k.state
}

// clear empties the state and keeps its memory, except for that of the launches.
func (h *residentState) clear() {
	h.diff.reset()
	*h = residentState{diff: h.diff}
}

// evictLargest evicts the kernels with the largest state, until half of the room is free.
func (p *parser) evictLargest() {
	slices.SortFunc(p.residents, func(a, b *kernel) int { return b.state.size - a.state.size })
	n, state := 0, p.stateBytes
	for n < len(p.residents) && state > p.options.room.state/2 {
		state -= p.residents[n].state.size
		n++
	}
	p.evict(n)
}

// evict moves the state of the first n resident kernels out of memory.
func (p *parser) evict(n int) {
	for _, k := range p.residents[:n] {
		h := k.state
		if h.source != nil {
			p.sorter.Add(k.number, h.source.Append(nil))
		}
		switch {
		case len(h.buffer) >= worthChunk:
			p.pack(k)
		case len(h.buffer) > 0:
			p.sorter.Add(k.number, h.buffer)
		}
		p.held -= cap(h.buffer)
		p.stateBytes -= h.size
		h.clear()
		k.state, p.spareStates = nil, append(p.spareStates, h)
	}
	p.residents = append(p.residents[:0], p.residents[n:]...)
	clear(p.residents[len(p.residents):cap(p.residents)])
}

// worthChunk is how many bytes of launches are worth a chunk.
const worthChunk = 32 << 10

// pack moves a kernel's launches out of memory.
func (p *parser) pack(k *kernel) {
	p.held -= cap(k.state.buffer)
	k.chunks = append(k.chunks, p.spill.AddLaunches(k.state.buffer))
	k.state.buffer = nil
}

// packLarge packs the launches of the kernels with the most, until no more than hold bytes are held.
func (p *parser) packLarge(hold int) {
	held := slices.Clone(p.residents)
	slices.SortStableFunc(held, func(a, b *kernel) int { return len(b.state.buffer) - len(a.state.buffer) })
	for _, k := range held {
		if p.held <= hold || len(k.state.buffer) == 0 {
			return
		}
		p.pack(k)
	}
}

// split is the output file of a compilation of torch.compile's, "" with Options.NoSplit.
func (p *parser) split(file string) string {
	if p.options.NoSplit {
		return ""
	}
	return file
}
