package source

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The document that programs read. Fields are added, never renamed.
type (
	jsonDocument struct {
		Schema   string       `json:"schema"` // of this layout: "goproton.samples/1"
		Sampling jsonSampling `json:"sampling"`
		Samples  uint64       `json:"samples"` // of the call paths that pass the filters
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
	}
	jsonKernel struct {
		Name     string `json:"name"`
		Function string `json:"function"`
		Module   string `json:"module,omitempty"`
		Hash     string `json:"compile_hash,omitempty"` // from a trace
		jsonCounts
		Advice      string     `json:"advice,omitempty"`
		SM          int        `json:"sm,omitempty"`
		Size        uint64     `json:"size,omitempty"`
		Registers   int        `json:"registers,omitempty"`
		Shared      uint64     `json:"shared,omitempty"`
		Frame       uint64     `json:"frame,omitempty"`
		LocalLoads  int        `json:"local_loads,omitempty"`
		LocalStores int        `json:"local_stores,omitempty"`
		Paths       []jsonPath `json:"paths"`

		Files        []jsonFile        `json:"files,omitempty"`
		Unplaced     uint64            `json:"without_line,omitempty"`
		Instructions []jsonInstruction `json:"instructions,omitempty"`
	}
	jsonPath struct {
		Frames  []string `json:"frames"`
		Samples uint64   `json:"samples"`
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

// PrintJSON prints the lines of the requested kernels as a JSON document.
func PrintJSON(w io.Writer, s *Samples, l Listing) (notes []string, err error) {
	return nil, write(w, newDocument(s, l))
}

// Document is the document of PrintJSON, for embedding in a larger one.
func Document(s *Samples, l Listing) any { return newDocument(s, l) }

func newDocument(s *Samples, l Listing) *jsonDocument {
	doc, p := s.document(), newPrinter(io.Discard, s, &l)
	for _, k := range s.Kernels {
		j := s.jsonKernel(k)
		if l.IR != nil {
			j.Hash = l.IR.Compilation(k)
		}
		for _, lines := range k.files() {
			text := l.Files.Text(lines[0].File)
			p.found(lines[0].File, text, lines)
			f := jsonFile{File: lines[0].File, Found: text.Path, Changed: text.Changed, Kept: text.Kept}
			for _, line := range lines {
				j := s.jsonLine(line, k, l.Files, "")
				if l.IR != nil {
					j.IR = p.jsonIR(k, l.IR.Lines(k, line.File, line.Number))
				}
				f.Lines = append(f.Lines, j)
			}
			j.Files = append(j.Files, f)
		}
		doc.Kernels = append(doc.Kernels, j)
	}
	doc.Notes = append(doc.Notes, p.notes...)
	return doc
}

// jsonIR are lines of the requested stages, or of all stages.
func (p *printer) jsonIR(k *Kernel, lines []IRLine) (all []jsonIR) {
	for _, i := range lines {
		if len(p.IRStages) > 0 && !slices.Contains(p.IRStages, i.Stage) {
			continue
		}
		j := jsonIR{Stage: i.Stage, At: i.Number, Text: strings.TrimSpace(i.Text)}
		if i.Shared > 1 {
			j.Shared = i.Shared
		}
		if i.Samples > 0 {
			counts := p.s.jsonCounts(i.Counts, k.Samples)
			j.jsonCounts = &counts
		}
		all = append(all, j)
	}
	return all
}

func write(w io.Writer, doc *jsonDocument) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("write samples as JSON: %w", err)
	}
	return nil
}

func (s *Samples) document() *jsonDocument {
	f := s.Facts
	return &jsonDocument{
		Schema:   "goproton.samples/1",
		Sampling: jsonSampling{f.Mode, f.Period, f.Total, f.Dropped, f.NonUser, f.Apportioned, f.BufferFull},
		Samples:  s.Total, Kernels: []jsonKernel{}, Notes: s.Notes(),
	}
}

func (s *Samples) jsonKernel(k *Kernel) jsonKernel {
	f := k.Function
	j := jsonKernel{
		Name: k.Name, Function: f.Name, Module: f.Module, jsonCounts: s.jsonCounts(k.Counts, s.All), Advice: s.Advice(k), SM: f.SM, Size: f.Size,
		Registers: f.Registers, Shared: f.Shared, Frame: f.Frame, LocalLoads: f.LocalLoads, LocalStores: f.LocalStores, Unplaced: k.Unplaced.Samples,
		Paths: []jsonPath{},
	}
	for _, p := range k.Paths {
		j.Paths = append(j.Paths, jsonPath(p))
	}
	return j
}

func (s *Samples) jsonCounts(c Counts, of uint64) jsonCounts {
	j := jsonCounts{c.Samples, c.Share(of), c.Stalled, c.NotIssued, map[string]uint64{}}
	for i, n := range c.Reasons {
		if n > 0 {
			j.Reasons[s.reasons[i]] += n
		}
	}
	return j
}

// jsonLine is a line with the lines inlined there. file is written if it is not "", which it is for lines of the function.
func (s *Samples) jsonLine(l *Line, k *Kernel, files *Files, file string) jsonLine {
	j := jsonLine{File: file, Line: l.Number, Func: l.Func, jsonCounts: s.jsonCounts(l.Counts, k.Samples)}
	if text, found := files.Text(l.File).Line(l.Number); found {
		j.Text = &text
	}
	for _, inlined := range l.Inlined {
		j.Inlined = append(j.Inlined, s.jsonLine(inlined, k, files, inlined.File))
	}
	return j
}
