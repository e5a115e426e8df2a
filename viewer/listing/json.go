package listing

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
)

// The document of samples. Fields are added, never renamed.
type (
	jsonDocument struct {
		Schema   string       `json:"schema"` // of this layout: "goproton.samples/1"
		Sampling jsonSampling `json:"sampling"`
		Unit     string       `json:"unit,omitempty"` // what all "samples" are numbers of, if they are none: "instructions"
		Samples  uint64       `json:"samples"`        // of the call paths that pass the filters
		Kernels  []jsonKernel `json:"kernels"`
		Notes    []string     `json:"notes,omitempty"`
	}
	jsonSampling struct {
		Mode        string `json:"mode,omitempty"`
		Period      uint64 `json:"period_cycles,omitempty"`
		Total       uint64 `json:"total"`
		Dropped     uint64 `json:"dropped"`
		NonUser     uint64 `json:"non_user"`
		Apportioned uint64 `json:"apportioned"`
		BufferFull  bool   `json:"buffer_full"`
	}
	jsonCounts struct {
		Samples   uint64            `json:"samples"`
		Share     float64           `json:"share"` // of the kernel's samples; for a kernel, of all samples
		Stalled   uint64            `json:"stalled"`
		NotIssued uint64            `json:"not_issued"`
		Reasons   map[string]uint64 `json:"reasons"`
		Counted   *kernels.Did      `json:"counted,omitempty"` // of a run with -m counters:set=lines
	}
	jsonKernel struct {
		Name     string `json:"name"`
		Function string `json:"function"`
		Module   string `json:"module,omitempty"`
		Hash     string `json:"compile_hash,omitempty"` // from a trace
		jsonCounts
		Advice      string         `json:"advice,omitempty"`
		SM          int            `json:"sm,omitempty"`   // compute capability
		Arch        string         `json:"arch,omitempty"` // an architecture that has no compute capability
		Size        uint64         `json:"size,omitempty"`
		Registers   int            `json:"registers,omitempty"`
		Shared      uint64         `json:"shared,omitempty"`
		Frame       uint64         `json:"frame,omitempty"`
		LocalLoads  int            `json:"local_loads,omitempty"`
		LocalStores int            `json:"local_stores,omitempty"`
		Paths       []kernels.Path `json:"paths"`

		Files        []jsonFile        `json:"files,omitempty"`
		Unplaced     uint64            `json:"without_line,omitempty"`
		Instructions []jsonInstruction `json:"instructions,omitempty"`
	}
	jsonFile struct {
		File    string     `json:"file"`
		Found   string     `json:"found,omitempty"` // where the text was read
		Changed bool       `json:"changed,omitempty"`
		Kept    bool       `json:"kept,omitempty"` // the lines are those that the profile recorded: the file is missing or differs
		Lines   []jsonLine `json:"lines"`
	}
	jsonLine struct {
		File string  `json:"file,omitempty"` // of what was inlined; a line of the function is in its file
		Line int     `json:"line"`
		Func string  `json:"function,omitempty"`
		Text *string `json:"text,omitempty"`
		jsonCounts
		Inlined []jsonLine `json:"inlined,omitempty"`
		IR      []jsonIR   `json:"ir,omitempty"` // compiled from the line; from a trace
	}
	jsonIR struct {
		Stage  string `json:"stage"`
		At     string `json:"at"` // line of the stage's text, or offset of the instruction in hexadecimal digits
		Text   string `json:"text"`
		Shared int    `json:"shared,omitempty"` // number of lines that share the samples, since their origin is the same
		*jsonCounts
	}
	jsonInstruction struct {
		Offset uint64      `json:"offset"`
		Text   string      `json:"text,omitempty"`
		Places []jsonPlace `json:"places,omitempty"` // innermost first
		IR     []jsonIR    `json:"ir,omitempty"`     // the lines it was compiled from; from a trace
		jsonCounts
	}
	jsonPlace struct {
		File string `json:"file"`
		Line int    `json:"line"`
		Func string `json:"function,omitempty"`
	}
)

// PrintJSON prints the same as Print as a JSON document, which also has the notes.
func PrintJSON(w io.Writer, r *kernels.Run, o Options) error {
	v := newView(r, r.Samples, o)
	var doc any
	if r.Traced() {
		doc = v.joinedDocument()
	} else {
		doc = v.document()
	}
	if err := jsontext.Write(w, doc, " "); err != nil {
		return fmt.Errorf("write kernels as JSON: %w", err)
	}
	return nil
}

// document is the document of v.s.
func (v *view) document() *jsonDocument {
	f := v.s.Facts
	doc := &jsonDocument{
		Schema:   "goproton.samples/1",
		Sampling: jsonSampling{f.Mode, f.Period, f.Total, f.Dropped, f.NonUser, f.Apportioned, f.BufferFull},
		Samples:  v.s.Total, Kernels: []jsonKernel{},
	}
	if v.s.Counted() {
		doc.Unit = "instructions"
	}
	for _, f := range v.s.Functions {
		j := v.jsonKernel(f)
		if v.Instructions {
			j.Instructions = v.jsonInstructions(f)
		} else {
			j.Files = v.jsonFiles(f)
		}
		doc.Kernels = append(doc.Kernels, j)
	}
	doc.Notes = append(v.s.Notes(), v.notes...)
	return doc
}

func (v *view) jsonKernel(f *kernels.Function) jsonKernel {
	s := f.Symbol
	j := jsonKernel{
		Name: f.Name, Function: s.Name, Module: s.Module, Hash: f.Compiled().Hash(), jsonCounts: v.jsonCounts(f.Counts, v.s.All), Advice: v.advice(f), Size: s.Size,
		Registers: s.Registers, Shared: s.Shared, Frame: s.Frame, LocalLoads: s.LocalLoads, LocalStores: s.LocalStores, Unplaced: f.Unplaced.Samples,
		Paths: append([]kernels.Path{}, f.Paths...),
	}
	if sm, err := strconv.Atoi(s.Arch); err == nil {
		j.SM = sm
	} else {
		j.Arch = s.Arch
	}
	return j
}

func (v *view) jsonFiles(f *kernels.Function) (files []jsonFile) {
	for _, lines := range f.Files() {
		text := v.run.Files.Text(lines[0].File)
		v.found(lines[0].File, lastNumber(lines))
		file := jsonFile{File: lines[0].File, Found: text.Path, Changed: text.Changed, Kept: text.Kept}
		for _, line := range lines {
			j := v.jsonLine(line, f, "")
			if m := f.Compiled(); m != nil {
				j.IR = v.jsonIR(f, m.Lines(line.File, line.Number))
			}
			file.Lines = append(file.Lines, j)
		}
		files = append(files, file)
	}
	return files
}

func (v *view) jsonInstructions(f *kernels.Function) (all []jsonInstruction) {
	if f.FromLines() {
		v.note(f.Name + ": the profile has samples of lines and not of instructions")
		return nil
	}
	code := v.instructionsOf(f)
	for _, offset := range code.Offsets() {
		i := jsonInstruction{Offset: offset, Text: code.Text[offset], jsonCounts: v.jsonCounts(f.At(offset), f.Samples)}
		for _, at := range code.Frames(offset) {
			i.Places = append(i.Places, jsonPlace{at.File, at.Line, at.Func})
		}
		i.IR = v.jsonIR(f, code.IR(offset))
		all = append(all, i)
	}
	return all
}

// jsonIR are lines of the requested stages, or of all stages.
func (v *view) jsonIR(f *kernels.Function, lines []kernels.IRLine) (all []jsonIR) {
	for _, i := range lines {
		if len(v.Stages) > 0 && !slices.Contains(v.Stages, i.Stage) {
			continue
		}
		j := jsonIR{Stage: i.Stage, At: i.Number, Text: strings.TrimSpace(i.Text)}
		if i.Shared > 1 {
			j.Shared = i.Shared
		}
		if i.Samples > 0 {
			j.jsonCounts = new(v.jsonCounts(i.Counts, f.Samples))
		}
		all = append(all, j)
	}
	return all
}

func (v *view) jsonCounts(c kernels.Counts, of uint64) jsonCounts {
	j := jsonCounts{Samples: c.Samples, Share: c.Share(of), Stalled: c.Stalled, NotIssued: c.NotIssued, Reasons: map[string]uint64{}}
	if c.Did.Instructions > 0 {
		j.Counted = &c.Did
	}
	for i, n := range c.Reasons {
		if n > 0 && v.s.Reasons[i] != profile.NoReason {
			j.Reasons[v.s.Reasons[i]] += n
		}
	}
	return j
}

// jsonLine is a line with the lines inlined there. file is written if it is not "", which it is for lines of the function.
func (v *view) jsonLine(l *kernels.Line, f *kernels.Function, file string) jsonLine {
	j := jsonLine{File: file, Line: l.Number, Func: l.Func, jsonCounts: v.jsonCounts(l.Counts, f.Samples)}
	if text, found := v.run.Files.Text(l.File).Line(l.Number); found {
		j.Text = &text
	}
	for _, inlined := range l.Inlined {
		j.Inlined = append(j.Inlined, v.jsonLine(inlined, f, inlined.File))
	}
	return j
}
