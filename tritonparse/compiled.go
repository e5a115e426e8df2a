package tritonparse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/backend"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/work"
	"github.com/goproton/goproton/tritonparse/sourcemap"
)

// Compilation is one compilation of a trace. Where the compilation was not traced, it is inferred from its launches
// (Inferred).
type Compilation struct {
	Hash     string // Triton's compile hash, 64 hexadecimal digits
	Name     string // of the kernel, as compiled
	PID      int
	File     string // of the trace that the record is in
	Line     int    // of the record in the file, from 0, blank lines not counted
	Inferred bool   // made from the first launch: there are options, but no texts and no source
	Launches int    // of this hash, in all files

	Metadata json.RawMessage // what it was compiled with and what came out: num_warps, shared, target …
	PTInfo   json.RawMessage // torch.compile's numbers, nil outside of it
	Backend  string          // metadata's backend_name: cuda, hip

	// By stage, which is what follows the last dot of the artifact's name: ttir, ttgir, llir, ptx, sass, json …
	Texts        map[string]string
	TextNames    map[string]string // the artifact's whole name
	Placeholders map[string]string // what stands in the place of a text that the compiler could not give
	Paths        map[string]string // where the file was on the machine that compiled it, also cubin and source

	Python *PythonSource // nil if it was not recorded
	Stack  []Frame       // outermost first
	Raw    []byte        // the record; the launch's if Inferred
	Extra  *Extension    // nil in traces that GoProton did not write

	recorded struct { // first launch that says what is in a tensor
		file string
		line int
	}
	maps     *sourcemap.Map
	mapsOnce sync.Once
	work     *work.Model
	dot      Dot // of the first tt.dot
	workOnce sync.Once
}

// PythonSource is the source of a kernel function.
type PythonSource struct {
	File          string
	Start, End    int // lines of Code in File, from 1; a function's decorators are part of it
	FunctionStart int // where the function, with its decorators, begins: Start, unless Code is the whole file
	FunctionEnd   int
	Code          string
}

// Frame is a frame of a Python stack.
type Frame struct {
	File string
	Line int
	Name string // of the function
	Code string // of the line, where it is known
}

// Int is a number of the metadata, such as num_warps.
func (c *Compilation) Int(name string) (int, bool) {
	n, err := strconv.Atoi(string(jsontext.Get(c.Metadata, name)))
	return n, err == nil
}

// Stages are those that there is a text of, in the order of the compiler; what the backend does not know comes last.
func (c *Compilation) Stages() []string {
	var names []string
	chip, _ := backend.For(c.Backend)
	for _, s := range chip.Stages {
		if c.hasText(s.Name) {
			names = append(names, s.Name)
		}
	}
	known := len(names)
	for name := range c.TextNames {
		if c.hasText(name) && !slices.Contains(names[:known], name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[known:])
	return names
}

// hasText also knows of texts that were not kept.
func (c *Compilation) hasText(stage string) bool {
	return c.TextNames[stage] != "" && c.Placeholders[stage] == ""
}

// Maps are the source maps of all stages, in the correct reading: Entry.Callers has the chain of inlined calls. They are
// made at the first call; several goroutines may call it.
func (c *Compilation) Maps() *sourcemap.Map {
	c.mapsOnce.Do(func() {
		python := sourcemap.Python{Has: c.Python != nil}
		if c.Python != nil {
			python.File = c.Python.File
		}
		chip, _ := backend.For(c.Backend)
		c.maps = sourcemap.New(chip.Mapped(c.Texts), python)
	})
	return c.maps
}

// Cubin is the file with the machine code, "" if it is not on this machine.
func (c *Compilation) Cubin() string {
	for _, p := range c.CubinPlaces() {
		if isBinary(p) {
			return p
		}
	}
	return ""
}

// CubinPlaces are the paths at which the file with the machine code may be: next to the trace, or where it was compiled.
func (c *Compilation) CubinPlaces() (places []string) {
	if c.Extra != nil && filepath.IsLocal(c.Extra.Cubin) {
		places = append(places, filepath.Join(filepath.Dir(c.File), c.Extra.Cubin))
	}
	for _, end := range backend.Binaries() {
		if path := c.Paths[end]; path != "" {
			places = append(places, path)
		}
	}
	return places
}

// firstFile is the first path of a regular file, "" if there is none.
func firstFile(places []string) string {
	for _, p := range places {
		if info, err := os.Stat(p); p != "" && err == nil && info.Mode().IsRegular() {
			return p
		}
	}
	return ""
}

// isBinary says whether a path is that of a regular file of machine code, by its own name and by that of the file behind its links: a trace may
// name any file.
func isBinary(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	info, err := os.Lstat(real)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	ends := backend.Binaries()
	return slices.Contains(ends, strings.TrimPrefix(filepath.Ext(path), ".")) && slices.Contains(ends, strings.TrimPrefix(filepath.Ext(real), "."))
}

// ReadCompilation takes the record of a compilation apart, except for its texts. It keeps nothing of the record's memory. A
// record that is something else gives a compilation without a hash.
func ReadCompilation(r *Record) *Compilation {
	members, err := r.members()
	if err != nil {
		return &Compilation{File: r.File, Line: r.Line}
	}
	return newCompilation(r.File, ndjson.Record{Text: r.Text, Index: r.Line}, members, false)
}

// newCompilation keeps nothing of the record's memory. Without texts it has neither those nor Raw.
func newCompilation(file string, rec ndjson.Record, members []jsontext.Member, texts bool) *Compilation {
	c := &Compilation{File: file, Line: rec.Index, PID: ndjson.IntegerOf(members, "pid")}
	c.Inferred = string(ndjson.Get(members, "is_fake")) == "true"
	c.Stack = readStack(ndjson.Get(members, "stack"))
	c.Extra = decode[Extension](ndjson.Get(members, "goproton"))
	if texts {
		c.Raw = bytes.Clone(rec.Text)
	}
	payload, err := jsontext.Members(ndjson.Get(members, "payload"))
	if err != nil {
		return c
	}
	c.setMetadata(ndjson.Get(payload, "metadata"))
	c.PTInfo = bytes.Clone(ndjson.Get(payload, "pt_info"))
	c.Paths = ndjson.Artifacts(ndjson.Get(payload, "file_path"))
	c.Python = readPython(ndjson.Get(payload, "python_source"), texts)
	c.readTexts(ndjson.Get(payload, "file_content"), texts)
	return c
}

func (c *Compilation) setMetadata(raw []byte) {
	c.Metadata = bytes.Clone(raw)
	c.Hash, c.Name = ndjson.HashAndName(raw)
	c.Backend = jsontext.Text(jsontext.Get(raw, "backend_name"))
}

func (c *Compilation) readTexts(content []byte, keep bool) {
	c.TextNames, c.Placeholders = map[string]string{}, map[string]string{}
	if keep {
		c.Texts = map[string]string{}
	}
	members, err := jsontext.Members(content)
	if err != nil {
		return
	}
	for _, m := range members {
		stage, ok := ndjson.Stage(m.Name)
		if !ok {
			continue
		}
		c.TextNames[stage] = m.Name
		switch short := len(m.Value) < maxPlaceholder; {
		case short && ndjson.IsPlaceholder(jsontext.Text(m.Value)):
			c.Placeholders[stage] = jsontext.Text(m.Value)
		case keep:
			c.Texts[stage] = jsontext.Text(m.Value)
		}
	}
}

// maxPlaceholder is more than what tritonparse writes instead of a text.
const maxPlaceholder = 4 << 10

func readPython(raw []byte, code bool) *PythonSource {
	members, err := jsontext.Members(raw)
	if err != nil {
		return nil
	}
	p := &PythonSource{File: ndjson.TextOf(members, "file_path"), Start: ndjson.IntegerOf(members, "start_line"), End: ndjson.IntegerOf(members, "end_line")}
	p.FunctionStart = cmp.Or(ndjson.IntegerOf(members, "function_start_line"), p.Start)
	p.FunctionEnd = cmp.Or(ndjson.IntegerOf(members, "function_end_line"), p.End)
	if code {
		p.Code = ndjson.TextOf(members, "code")
	}
	return p
}

func readStack(raw []byte) []Frame {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	elements := jsontext.Elements(raw)
	frames := make([]Frame, 0, len(elements))
	for _, e := range elements {
		members, err := jsontext.Members(e)
		if err != nil {
			continue
		}
		frames = append(frames, Frame{
			File: ndjson.TextOf(members, "filename"), Line: ndjson.IntegerOf(members, "line"),
			Name: ndjson.TextOf(members, "name"), Code: strings.TrimSpace(ndjson.TextOf(members, "loc")),
		})
	}
	return frames
}

// Parameters are the names of the kernel function's parameters, in their order: as the trace has them, or from the source.
func (c *Compilation) Parameters() []string {
	var names []string
	if c.Extra != nil && len(c.Extra.Params) > 0 {
		for _, p := range c.Extra.Params {
			names = append(names, p.Name)
		}
		return names
	}
	if c.Python == nil {
		return nil
	}
	_, rest, ok := strings.Cut(c.Python.Code, "def "+c.Name+"(")
	if !ok {
		if _, rest, ok = strings.Cut(c.Python.Code, "def "); ok {
			_, rest, ok = strings.Cut(rest, "(")
		}
	}
	if !ok {
		return nil
	}
	for _, p := range splitParameters(rest) {
		name, _, _ := strings.Cut(p, ":")
		name, _, _ = strings.Cut(name, "=")
		if name = strings.Trim(name, "* \t\n\r"); name != "" && name != "/" {
			names = append(names, name)
		}
	}
	return names
}

// splitParameters splits a list of parameters at its commas, until its parenthesis closes. Comments are left out.
func splitParameters(text string) []string {
	var parts []string
	var part strings.Builder
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
			continue
		case c == ')' && depth == 0:
			return append(parts, part.String())
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, part.String())
			part.Reset()
			continue
		}
		part.WriteByte(text[i])
	}
	return append(parts, part.String())
}
