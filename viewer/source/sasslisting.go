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

// PrintSASS prints the instructions of the chosen kernels and returns what the reader should know besides.
func PrintSASS(w io.Writer, s *Samples, l Listing) (notes []string, err error) {
	p := newPrinter(w, s, &l)
	whole, twins := p.listed()
	for i, k := range whole {
		if i > 0 {
			p.line("")
		}
		p.head(k)
		p.line("")
		p.instructions(k)
	}
	p.twins(twins)
	p.others()
	return append(s.Notes(), p.notes...), p.out.Flush()
}

// code finds the text of a kernel's instructions, and notes why there is none.
func (p *printer) code(k *Kernel) (*cubin.Function, *Code) {
	module, err := p.Modules.Find(k.Function)
	if err != nil {
		p.note(fmt.Sprintf("%s: no text of its instructions: %v", k.Name, err))
		return nil, &Code{}
	}
	code, err := p.Modules.Code(module)
	if err != nil {
		p.note(err.Error())
	}
	return module.Function, code
}

// instructions prints those with samples and what surrounds them; all of a function if it is asked for.
func (p *printer) instructions(k *Kernel) {
	if k.fromLines() {
		p.line("  the profile has samples of lines and not of instructions; --source shows those")
		return
	}
	function, code := p.code(k)
	var rows []row
	hidden, gap := Counts{}, false
	place, hottest := "", k.hottestInstruction()
	for _, offset := range p.offsets(k, function, code) {
		c := k.at(offset)
		if !p.near(k, offset, hottest) {
			gap = true
			hidden.Add(c)
			continue
		}
		if gap {
			rows = append(rows, p.gap(hidden))
			hidden, gap, place = Counts{}, false, ""
		}
		r := row{counts: c, number: fmt.Sprintf("%04x", offset), text: term.Printable(code.Text[offset]), mark: c.Share(k.Samples) >= hot/2}
		if label := code.Labels[offset]; label != "" {
			rows = append(rows, row{text: term.Printable(label) + ":", color: faint})
		}
		r.text = "  " + r.text
		if now := p.where(frames(k, function, offset)); now != place {
			place = now
			r.after = now
		}
		rows = append(rows, r)
	}
	if gap {
		rows = append(rows, p.gap(hidden))
	}
	p.rows(k.Samples, "offset", rows)
}

// fromLines says whether a kernel's samples came from frames of lines, see fromTree.
func (k *Kernel) fromLines() bool { return k.Function.Module == "" && k.Function.Size == 0 }

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

// offsets are those of the instructions that can be shown, in their order: of the whole function if its module was
// found, else those with samples.
func (p *printer) offsets(k *Kernel, function *cubin.Function, code *Code) []uint64 {
	var all []uint64
	for i := range k.PCs {
		all = append(all, k.PCs[i].Offset)
	}
	if function != nil {
		for pc := range code.Text {
			all = append(all, pc)
		}
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

// near says whether an instruction is shown: it or one close to it has many samples, of all or beside the hottest.
func (p *printer) near(k *Kernel, offset, hottest uint64) bool {
	if p.All {
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

// frames are the places of an instruction: what the profile says, or for those without samples the module.
func frames(k *Kernel, function *cubin.Function, offset uint64) []profile.SourceFrame {
	if recorded := k.Function.At(offset); recorded != nil || function == nil {
		return recorded
	}
	var all []profile.SourceFrame
	for _, f := range function.Frames(offset) {
		all = append(all, profile.SourceFrame(f))
	}
	return all
}

// where tells the places of an instruction in short: the function's own line, and what was inlined there.
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
	doc, p := s.document(), newPrinter(io.Discard, s, &l)
	for _, k := range s.Kernels {
		j := s.jsonKernel(k)
		function, code := (*cubin.Function)(nil), &Code{}
		if !k.fromLines() {
			function, code = p.code(k)
		} else {
			p.note(k.Name + ": the profile has samples of lines and not of instructions")
		}
		for _, offset := range p.offsets(k, function, code) {
			i := jsonInstruction{Offset: offset, Text: code.Text[offset], jsonCounts: s.jsonCounts(k.at(offset), k.Samples)}
			for _, f := range frames(k, function, offset) {
				i.Places = append(i.Places, jsonPlace{f.File, f.Line, f.Func})
			}
			j.Instructions = append(j.Instructions, i)
		}
		doc.Kernels = append(doc.Kernels, j)
	}
	doc.Notes = append(doc.Notes, p.notes...)
	return nil, write(w, doc)
}
