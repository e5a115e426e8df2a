package source

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
)

// PrintSASS prints the instructions of the requested kernels and returns notes on what limits them.
func PrintSASS(w io.Writer, s *Samples, l Listing) (notes []string, err error) {
	p := newPrinter(w, s, &l)
	whole, variants := p.listed()
	for i, k := range whole {
		if i > 0 {
			p.line("")
		}
		p.head(k)
		p.line("")
		p.instructions(k)
	}
	p.variants(variants)
	p.others()
	return append(s.Notes(), p.notes...), p.out.Flush()
}

// machine is a kernel's machine code: text and origin of its instructions.
type machine struct {
	function *cubin.Function // nil if its module was not found
	code     *Code
	made     map[uint64]Made
}

// machine finds the text of a kernel's instructions, and adds a note if it fails. Without a module or a disassembler it uses the
// listing that the trace has.
func (p *printer) machine(k *Kernel) machine {
	m := machine{code: &Code{}}
	var recorded *Code
	if p.IR != nil {
		known := p.IR.Instructions(k)
		recorded, m.made = known.Listing, known.Made
	}
	module, err := p.Modules.Find(k.Function)
	if err != nil {
		err = fmt.Errorf("%s: no text of its instructions: %w", k.Name, err)
	} else {
		m.function = module.Function
		m.code, err = p.Modules.Code(module)
	}
	switch {
	case err != nil && recorded != nil:
		m.code = recorded
	case err != nil:
		p.note(err.Error())
	}
	return m
}

// instructions prints those with samples and what surrounds them; all of a function if it is asked for.
func (p *printer) instructions(k *Kernel) {
	if k.fromLines() {
		p.line("  the profile has samples of lines and not of instructions; --source shows those")
		return
	}
	m := p.machine(k)
	var rows []row
	hidden, gap := Counts{}, false
	place, hottest := "", k.hottestInstruction()
	var ir []IRLine
	for _, offset := range m.offsets(k) {
		c := k.at(offset)
		if !p.near(k, offset, hottest) {
			gap = true
			hidden.Add(c)
			continue
		}
		if gap {
			rows = append(rows, p.gap(hidden))
			hidden, gap, place, ir = Counts{}, false, "", nil
		}
		if label := m.code.Labels[offset]; label != "" {
			rows = append(rows, row{text: term.Printable(label) + ":", color: faint})
		}
		rows, ir = p.madeOf(rows, m.made[offset].Lines, ir)
		r := row{counts: c, number: fmt.Sprintf("%04x", offset), text: "  " + term.Printable(m.code.Text[offset]), mark: c.Share(k.Samples) >= hot/2}
		at := m.frames(k, offset)
		if now := p.where(at); now != place {
			place = now
			r.after = p.withText(now, at)
		}
		rows = append(rows, r)
	}
	if gap {
		rows = append(rows, p.gap(hidden))
	}
	p.rows(k.Samples, "offset", rows)
}

// madeOf adds the lines of IR that an instruction was compiled from, of the requested stages, unless the previous instruction
// has the same.
func (p *printer) madeOf(rows []row, lines, before []IRLine) ([]row, []IRLine) {
	for _, l := range lines {
		same := slices.ContainsFunc(before, func(b IRLine) bool { return b.Stage == l.Stage && b.Number == l.Number })
		if slices.Contains(p.IRStages, l.Stage) && !same {
			rows = append(rows, p.irRow(l, "", 0))
		}
	}
	return rows, lines
}

// withText adds the text of the source line to a place if there is a trace, which has the source as compiled. Without a trace
// the files on disk may have changed since.
func (p *printer) withText(place string, frames []profile.SourceFrame) string {
	if p.IR == nil || len(frames) == 0 {
		return place
	}
	own := frames[len(frames)-1]
	if text, found := p.Files.Text(own.File).Line(own.Line); found {
		return place + "  " + printable(strings.TrimSpace(text))
	}
	return place
}

// fromLines says whether a kernel's samples came from frames of lines, see fromTree.
func (k *Kernel) fromLines() bool {
	return k.Samples > 0 && k.Function.Module == "" && k.Function.Size == 0
}

// at is what an instruction has.
func (k *Kernel) at(offset uint64) Counts {
	i, found := slices.BinarySearchFunc(k.PCs, offset, func(pc Instruction, offset uint64) int {
		switch {
		case pc.Offset < offset:
			return -1
		case pc.Offset > offset:
			return 1
		}
		return 0
	})
	if !found {
		return Counts{}
	}
	return k.PCs[i].Counts
}

// offsets are those of the instructions that can be shown, in their order: of the whole function if its text was found, else
// those with samples.
func (m *machine) offsets(k *Kernel) []uint64 {
	var all []uint64
	for i := range k.PCs {
		all = append(all, k.PCs[i].Offset)
	}
	for pc := range m.code.Text {
		all = append(all, pc)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hottestInstruction is how many samples the instruction with most has.
func (k *Kernel) hottestInstruction() uint64 {
	hottest := uint64(0)
	for i := range k.PCs {
		hottest = max(hottest, k.PCs[i].Samples)
	}
	return hottest
}

// near reports whether an instruction is shown: it, or one within p.Context instructions, has at least the share cold of all
// samples or half the samples of the hottest instruction. A kernel without samples shows all.
func (p *printer) near(k *Kernel, offset, hottest uint64) bool {
	if p.All || k.Samples == 0 {
		return true
	}
	reach := uint64(min(p.Context, mostContext)) * cubin.InstructionSize
	from, _ := slices.BinarySearchFunc(k.PCs, offset-min(offset, reach), func(pc Instruction, offset uint64) int {
		if pc.Offset < offset {
			return -1
		}
		return 1
	})
	for i := from; i < len(k.PCs) && k.PCs[i].Offset-min(offset, k.PCs[i].Offset) <= reach; i++ {
		if k.PCs[i].Share(k.Samples) >= cold || 2*k.PCs[i].Samples >= hottest {
			return true
		}
	}
	return false
}

// frames are the places of an instruction, innermost first. They come from the profile, or from the module for instructions
// without samples. The trace adds callers that Triton's compiler inlined and the binary lacks.
func (m *machine) frames(k *Kernel, offset uint64) []profile.SourceFrame {
	frames, made := k.Function.At(offset), m.made[offset].Frames
	if frames == nil && m.function != nil {
		for _, f := range m.function.Frames(offset) {
			frames = append(frames, profile.SourceFrame(f))
		}
		if len(frames) > 0 && len(made) == len(frames) {
			frames[0].Line = made[0].Line // binaries have some lines wrong, see Kernel.CorrectLines
		}
	}
	return MoreCallers(frames, made)
}

// MoreCallers chooses between two chains of places for the same code: a, unless b begins with a and has further callers.
func MoreCallers(a, b []profile.SourceFrame) []profile.SourceFrame {
	if len(b) <= len(a) {
		return a
	}
	for i := range a {
		if a[i].File != b[i].File || a[i].Line != b[i].Line {
			return a
		}
	}
	return slices.Concat(a, b[len(a):])
}

// where prints the places of an instruction: the function's own line, then the lines inlined there.
func (p *printer) where(frames []profile.SourceFrame) string {
	var parts []string
	for _, f := range slices.Backward(frames) {
		if len(parts) == 4 && len(frames) > 5 {
			parts = append(parts, p.marks.gap)
			f = frames[0]
		}
		parts = append(parts, fmt.Sprintf("%s:%d", term.Printable(path.Base(f.File)), f.Line))
		if len(parts) == 6 {
			break
		}
	}
	return strings.Join(parts, " > ")
}

// PrintSASSJSON prints the instructions of the chosen kernels as a document for programs.
func PrintSASSJSON(w io.Writer, s *Samples, l Listing) (notes []string, err error) {
	return nil, write(w, newSASSDocument(s, l))
}

// SASSDocument is what PrintSASSJSON prints, for a document that has more.
func SASSDocument(s *Samples, l Listing) any { return newSASSDocument(s, l) }

func newSASSDocument(s *Samples, l Listing) *jsonDocument {
	doc, p := s.document(), newPrinter(io.Discard, s, &l)
	for _, k := range s.Kernels {
		j := s.jsonKernel(k)
		if l.IR != nil {
			j.Hash = l.IR.Compilation(k)
		}
		m := machine{code: &Code{}}
		if !k.fromLines() {
			m = p.machine(k)
		} else {
			p.note(k.Name + ": the profile has samples of lines and not of instructions")
		}
		for _, offset := range m.offsets(k) {
			i := jsonInstruction{Offset: offset, Text: m.code.Text[offset], jsonCounts: s.jsonCounts(k.at(offset), k.Samples)}
			for _, f := range m.frames(k, offset) {
				i.Places = append(i.Places, jsonPlace{f.File, f.Line, f.Func})
			}
			i.IR = p.jsonIR(k, m.made[offset].Lines)
			j.Instructions = append(j.Instructions, i)
		}
		doc.Kernels = append(doc.Kernels, j)
	}
	doc.Notes = append(doc.Notes, p.notes...)
	return doc
}
