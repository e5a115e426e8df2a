package joined

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/sourcemap"
	"github.com/goproton/goproton/viewer/source"
)

// sass is the stage of instructions.
const sass = "sass"

// place is a line of the source that the kernel function has, not what was inlined there.
type place struct {
	file string
	line int
}

// listing is what the lines of one function became.
type listing struct {
	stages []string
	lines  map[place][]source.IRLine
	bases  map[place]place // the same by the file's last name, where that is enough
}

// origin is where a line of a stage came from; lines with the same one came from the same code.
type origin struct {
	sourcemap.Frame
	outer place
}

func originOf(e *sourcemap.Entry) origin {
	o := origin{Frame: e.Frame}
	if e.Inlined {
		o.outer = place{e.Outer.File, e.Outer.Line}
	}
	return o
}

// own is the line of the kernel function that an entry belongs to.
func own(e *sourcemap.Entry) place {
	if e.Inlined && e.Outer.File != "" {
		return place{e.Outer.File, e.Outer.Line}
	}
	return place{e.File, e.Line}
}

// ir answers the listing of a kernel's source.
type ir struct {
	join *Join
}

// IR says what the compiler made of the lines of kernels.
func (j *Join) IR() source.IR { return ir{j} }

func (r ir) Stages(k *source.Kernel) []string { return r.listing(k).stages }

func (r ir) Lines(k *source.Kernel, file string, line int) []source.IRLine {
	l := r.listing(k)
	if lines, exact := l.lines[place{file, line}]; exact {
		return lines
	}
	return l.lines[l.bases[place{path.Base(file), line}]]
}

func (r ir) Compilation(k *source.Kernel) string {
	if m := r.join.code.match(k); m.compilation != nil {
		return m.compilation.Hash
	}
	return ""
}

func (r ir) Facts(k *source.Kernel) []string {
	m := r.join.code.match(k)
	if m.compilation == nil {
		return []string{"not in the trace: " + m.how}
	}
	text := "compilation " + short(m.compilation.Hash) + " of the trace, known " + m.how
	if len(m.twins) > 0 {
		text += ", which it shares with " + r.twins(m)
	}
	if label := r.Label(k); label != "" {
		text = label + "; " + text
	}
	return []string{text}
}

// twins names the compilations that a function may just as well be. Their samples are one: CUPTI knows code by its content.
func (r ir) twins(m match) string {
	return source.FirstNames(m.twins, 3, func(x *tritonparse.Compilation) string {
		return strings.TrimSpace(short(x.Hash) + " " + r.labelOf(x))
	})
}

func (r ir) Label(k *source.Kernel) string { return r.labelOf(r.join.code.match(k).compilation) }

// labelOf is what a compilation is called, "" if it is none of the join's.
func (r ir) labelOf(x *tritonparse.Compilation) string {
	for _, of := range r.join.Kernels {
		for _, s := range of.Specialisations {
			if x != nil && s.Compilation == x {
				return s.Label
			}
		}
	}
	return ""
}

func short(hash string) string { return hash[:min(8, len(hash))] }

func (r ir) listing(k *source.Kernel) *listing {
	c := r.join.code
	l := c.listings[k]
	if l == nil {
		l = c.list(k)
		c.listings[k] = l
	}
	return l
}

// list builds the listing of a function: what its texts say, then the samples. A sample is of an instruction; the binary says
// which line of PTX that was made of, and lines of the stages before have the samples of all PTX of the same origin.
func (c *code) list(k *source.Kernel) *listing {
	l := &listing{lines: map[place][]source.IRLine{}}
	m := c.match(k)
	if m.compilation == nil {
		return l
	}
	module := c.machineCode(k, m.compilation)
	maps := m.compilation.Maps()
	counts := newIRCounts(k, m.compilation, module, maps)
	for _, stage := range m.compilation.Stages() {
		if stage == sass && module != nil {
			continue // the binary knows better
		}
		l.addStage(stage, m.compilation.Texts[stage], maps.Entries(stage), counts)
	}
	if module != nil {
		l.addInstructions(k, c.text(k, m.compilation, module), module, c.straysIn(module, m.compilation))
	}
	l.nameBases()
	return l
}

// nameBases finds lines by the last names of their files, for files that were elsewhere when they were sampled.
func (l *listing) nameBases() {
	l.bases = map[place]place{}
	for at := range l.lines {
		base := place{path.Base(at.file), at.line}
		if _, another := l.bases[base]; another {
			at = place{} // two files of one name: the line is neither's
		}
		l.bases[base] = at
	}
}

// machineCode is the binary that was sampled, else that of its compilation; nil if neither is on this machine.
func (c *code) machineCode(k *source.Kernel, x *tritonparse.Compilation) *source.Module {
	if module, err := c.module(k); err == nil {
		return module
	}
	if b := c.binary(x); b.code != nil {
		if f := b.code.Function(k.Function.Name); f != nil {
			return &source.Module{File: b.file, Function: f, PTX: b.code.PTX}
		}
	}
	return nil
}

// text is a function's disassembly. Where nobody makes one now, that which was recorded with the trace stands in, and without it
// the names of the operations.
func (c *code) text(k *source.Kernel, x *tritonparse.Compilation, module *source.Module) *source.Code {
	code, err := &source.Code{}, os.ErrNotExist
	if c.options.Modules != nil {
		code, err = c.options.Modules.Code(module)
	}
	if err != nil {
		if recorded, _ := source.Recorded(x.Texts[sass], k.Function.Name); recorded != nil {
			return recorded
		}
	}
	return code
}

// irCounts are samples by line of PTX and by where that came from.
type irCounts struct {
	ptx    map[int]source.Counts
	origin map[origin]source.Counts
}

func newIRCounts(k *source.Kernel, x *tritonparse.Compilation, module *source.Module, maps *sourcemap.Map) irCounts {
	c := irCounts{map[int]source.Counts{}, map[origin]source.Counts{}}
	if module == nil || !samePTX(module.PTX, x.Texts["ptx"]) {
		return c
	}
	for i := range k.PCs {
		if line := module.Function.PTXLine(k.PCs[i].Offset); line > 0 {
			addCounts(c.ptx, line, k.PCs[i].Counts)
		}
	}
	entries := maps.Entries("ptx")
	for i := range entries {
		if n, sampled := c.ptx[entries[i].Own]; sampled {
			addCounts(c.origin, originOf(&entries[i]), n)
		}
	}
	return c
}

func addCounts[K comparable](to map[K]source.Counts, at K, n source.Counts) {
	sum := to[at]
	sum.Add(n)
	to[at] = sum
}

// addStage adds the lines of a text.
func (l *listing) addStage(stage, text string, entries []sourcemap.Entry, counts irCounts) {
	if len(entries) == 0 {
		return
	}
	l.stages = append(l.stages, stage)
	lines := strings.Split(text, "\n")
	shared, shows := byOrigin(lines, entries) // samples are shown once
	for i := range entries {
		e := &entries[i]
		if e.Own < 1 || e.Own > len(lines) {
			continue
		}
		from := originOf(e)
		line := source.IRLine{Stage: stage, Number: fmt.Sprint(e.Own), Text: withoutLocation(lines[e.Own-1])}
		switch {
		case stage == "ptx":
			line.Counts = counts.ptx[e.Own]
		case shows[from] == i:
			line.Counts, line.Shared = counts.origin[from], shared[from]
		default:
			line.Shared = shared[from]
		}
		at := own(e)
		l.lines[at] = append(l.lines[at], line)
	}
}

// byOrigin says how many lines of a stage each origin has, and which of the entries stands for them: one that does what lines are
// written for.
func byOrigin(lines []string, entries []sourcemap.Entry) (shared, shows map[origin]int) {
	shared, shows = map[origin]int{}, map[origin]int{}
	for i := range entries {
		from := originOf(&entries[i])
		if shared[from]++; shared[from] == 1 || entries[i].Own > 0 && entries[i].Own <= len(lines) && source.Significant(lines[entries[i].Own-1]) {
			shows[from] = i
		}
	}
	return shared, shows
}

// addInstructions adds the machine code.
func (l *listing) addInstructions(k *source.Kernel, code *source.Code, module *source.Module, strays sourcemap.Misplaced) {
	l.stages = append(l.stages, sass)
	sampled := map[uint64]source.Counts{}
	for i := range k.PCs {
		sampled[k.PCs[i].Offset] = k.PCs[i].Counts
	}
	offsets := make([]uint64, 0, module.Function.Size/cubin.InstructionSize)
	for pc := uint64(0); pc < module.Function.Size; pc += cubin.InstructionSize {
		offsets = append(offsets, pc)
	}
	slices.SortFunc(offsets, cmp.Compare[uint64])
	for _, pc := range offsets {
		from := frames(module, strays, pc)
		if len(from) == 0 {
			continue
		}
		outer := from[len(from)-1]
		at := place{outer.File, outer.Line}
		l.lines[at] = append(l.lines[at], source.IRLine{Stage: sass, Number: fmt.Sprintf("%04x", pc), Text: code.Text[pc], Counts: sampled[pc]})
	}
}

var locations = regexp.MustCompile(`\s+loc\((?:#\w+|".*|callsite.*|fused.*|unknown)\)*$|,\s*!dbg !\d+\s*$|\s*//.*$`)

// withoutLocation is a line of a text without what says where it came from, which is known by now.
func withoutLocation(line string) string {
	return strings.TrimSpace(locations.ReplaceAllString(line, ""))
}

// Stages are those that compilations of the trace have.
func (j *Join) Stages() (stages []string) {
	for _, k := range j.Kernels {
		for _, s := range k.Specialisations {
			if s.Compilation == nil {
				continue
			}
			for _, stage := range s.Compilation.Stages() {
				if !slices.Contains(stages, stage) && stage != "json" {
					stages = append(stages, stage)
				}
			}
		}
	}
	if !slices.Contains(stages, sass) {
		stages = append(stages, sass)
	}
	return stages
}
