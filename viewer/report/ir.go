package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/compare"
	"github.com/goproton/goproton/viewer/kernels"
)

// irTab is what the IR tab shows: the source of each compilation in a trace and what the compiler made of it, stage by stage, and how
// compilations of a kernel differ.
type irTab struct {
	Kernels []*irKernel `json:"kernels"`
	More    int         `json:"more"` // compilations that are not on the page
	bytes   int         // of texts
}

type irKernel struct {
	Name         string          `json:"name"`
	Compilations []irCompilation `json:"compilations"`
	Pairs        []irPair        `json:"pairs"`
}

type irCompilation struct {
	Name  string   `json:"name"`
	About string   `json:"about"`
	Texts []irText `json:"texts"` // the source first, if the trace has it

	of    *tritonparse.Compilation
	event int // place in its trace
}

// irText is the source or one stage. Stages have for each line the line of the source that it came from, 0 for none.
type irText struct {
	Stage string   `json:"stage"`
	First int      `json:"first"` // number of the first line
	Lines []string `json:"lines"`
	From  []int    `json:"from,omitempty"`
}

// irPair is how two compilations of a kernel differ.
type irPair struct {
	A       int                 `json:"a"` // places in irKernel.Compilations
	B       int                 `json:"b"`
	Changes []string            `json:"changes"` // what matters most
	Stages  map[string]irChange `json:"stages"`  // those with changes
}

// irChange lists lines that only one side has, and where each stretch of them begins on both.
type irChange struct {
	A      []int    `json:"a"`
	B      []int    `json:"b"`
	Places [][2]int `json:"places"`
}

const (
	mostIRBytes  = 32 << 20 // of texts on a page, a tenth of that when they are packed
	allIRPairs   = 4        // of a kernel's first compilations every two are compared, of the others each with the first
	sourceOfIR   = "python"
	metadataOfIR = "json"
)

// irOf is the IR tab's data of one trace.
func irOf(r *kernels.Run, t *tritonparse.Trace) *irTab {
	tab := &irTab{Kernels: []*irKernel{}}
	tab.add(r, t, "", nil)
	for _, k := range tab.Kernels {
		for b := range k.Compilations {
			for a := range k.Compilations[:b] {
				if a == 0 || b < allIRPairs {
					k.compare(t, t, a, b)
				}
			}
		}
	}
	return tab
}

// comparedIR is the IR tab's data of two traces, whose compilations are paired as proton trace diff pairs them.
func comparedIR(runs [2]*kernels.Run, traces [2]*tritonparse.Trace) (*irTab, error) {
	d, err := compare.Traces(traces[0], traces[1], nil, nil, &compare.Comparer{})
	if err != nil {
		return nil, err
	}
	tab := &irTab{Kernels: []*irKernel{}}
	tab.add(runs[0], traces[0], "A", nil)
	known := map[int]string{} // B's compilations: the kernel of A that they belong to
	for i := range d.Matches {
		known[d.Matches[i].B.Event] = d.Matches[i].A.Kernel
	}
	tab.add(runs[1], traces[1], "B", known)
	for i := range d.Matches {
		m := &d.Matches[i]
		k := tab.kernel(m.A.Kernel)
		at := func(side string, event int) int {
			return slices.IndexFunc(k.Compilations, func(c irCompilation) bool { return c.event == event && strings.HasPrefix(c.Name, side) })
		}
		if a, b := at("A", m.A.Event), at("B", m.B.Event); a >= 0 && b >= 0 {
			k.compare(traces[0], traces[1], a, b)
		}
	}
	return tab, nil
}

// kernel finds the kernel of a name, or adds it.
func (t *irTab) kernel(name string) *irKernel {
	for _, k := range t.Kernels {
		if k.Name == clean(name) {
			return k
		}
	}
	k := &irKernel{Name: clean(name), Compilations: []irCompilation{}, Pairs: []irPair{}}
	t.Kernels = append(t.Kernels, k)
	return k
}

// add adds the compilations of a trace, those that failed last. side is A or B if there are two traces; known has the kernels that
// compilations are shown with, where that is another name than theirs.
func (t *irTab) add(r *kernels.Run, trace *tritonparse.Trace, side string, known map[int]string) {
	for _, k := range r.Kernels {
		for _, s := range k.Specialisations {
			if s.Compilation == nil || s.Compilation.Inferred {
				continue
			}
			event := slices.Index(trace.Compilations(), s.Compilation)
			about := strings.Join(slices.DeleteFunc([]string{aboutSpecialisation(s), figures.Count(s.Traced, "launch")}, func(s string) bool { return s == "" }), " · ")
			t.put(cmp.Or(known[event], k.Name), irCompilation{Name: strings.TrimSpace(side + " " + s.Label), About: about, of: s.Compilation, event: event})
		}
	}
	for _, c := range trace.Failures() {
		about := "failed"
		if c.Extra != nil && c.Extra.Failure != nil {
			about += ": " + c.Extra.Failure.Brief()
		}
		t.put(c.Name, irCompilation{Name: strings.TrimSpace(fmt.Sprintf("%s record %d, failed", side, c.Line)), About: about, of: c, event: -1})
	}
}

// put adds a compilation with its texts, as long as there is room on the page.
func (t *irTab) put(kernel string, c irCompilation) {
	x, maps := c.of, c.of.Maps()
	add := func(stage, text string, first int, from []int) {
		if text == "" {
			return
		}
		lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\t", "    "), "\n"), "\n")
		for i, line := range lines {
			lines[i] = clean(strings.TrimRight(line, "\r"))
			t.bytes += len(lines[i])
		}
		c.Texts = append(c.Texts, irText{stage, first, lines, from})
	}
	if t.bytes > mostIRBytes {
		t.More++
		return
	}
	if x.Python != nil {
		add(sourceOfIR, x.Python.Code, max(1, x.Python.Start), nil)
	}
	for _, stage := range x.Stages() {
		if stage == metadataOfIR {
			continue
		}
		from := make([]int, strings.Count(x.Texts[stage], "\n")+1)
		for _, line := range maps.PythonLines() {
			for _, own := range maps.FromPython(line, stage) {
				if own >= 1 && own <= len(from) {
					from[own-1] = line
				}
			}
		}
		add(stage, x.Texts[stage], 1, from)
	}
	if len(c.Texts) == 0 {
		return
	}
	c.Name, c.About = clean(c.Name), clean(c.About)
	k := t.kernel(kernel)
	k.Compilations = append(k.Compilations, c)
}

// compare compares two compilations of a kernel; not those that failed, whose last stages are missing.
func (k *irKernel) compare(ofA, ofB *tritonparse.Trace, a, b int) {
	x, y := &k.Compilations[a], &k.Compilations[b]
	if x.event < 0 || y.event < 0 {
		return
	}
	d := compare.New(compare.Compilation(ofA, x.event), compare.Compilation(ofB, y.event))
	pair := irPair{A: a, B: b, Changes: cleaned(d.Highlights()), Stages: map[string]irChange{}}
	all := d.Stages
	if d.Python != nil {
		all = append(slices.Clone(all), *d.Python)
	}
	for i := range all {
		if change := changed(all[i].Hunks); len(change.Places) > 0 {
			pair.Stages[all[i].Name] = change
		}
	}
	k.Pairs = append(k.Pairs, pair)
}

func changed(hunks []compare.Hunk) irChange {
	c := irChange{A: []int{}, B: []int{}}
	for _, h := range hunks {
		c.Places = append(c.Places, [2]int{h.A, h.B})
		for _, l := range h.Lines {
			switch l.Mark {
			case "-":
				c.A = append(c.A, l.A)
			case "+":
				c.B = append(c.B, l.B)
			}
		}
	}
	return c
}

// withoutProfile fills the parts of a page that are a profile's with nothing.
func (b *builder) withoutProfile(sources ...Source) {
	for _, s := range sources {
		b.Files = append(b.Files, file{Name: clean(s.Name), Info: profile.Info{}, Devices: []device{}})
	}
	none := b.whole(nil)
	b.Columns, b.Tree, b.Flat = []column{}, rows{Name: none, Depth: &none, Kind: &none, Values: []section{}}, rows{Name: none, Values: []section{}}
}
