package tritonparse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Kernel is one kernel of a trace.
type Kernel struct {
	Name         string `json:"name"`
	Launches     int    `json:"launches"`
	Compilations int    `json:"compilations"`
	Failures     int    `json:"failures,omitempty"` // compilations that failed, which are not among the others
}

// FailedCompilation is a compilation that failed.
type FailedCompilation struct {
	Kernel string `json:"kernel"`
	File   string `json:"file,omitempty"` // if the trace has several
	Line   int    `json:"line"`           // of the record in the file, from 0
	Stage  string `json:"stage,omitempty"`
	Error  string `json:"error"` // in a line
}

// Launch is one launch of a kernel.
type Launch struct {
	File string          `json:"file,omitempty"` // if the trace has several
	ID   int             `json:"id"`             // among the launches of its kernel in the file, from 0
	Line int             `json:"line"`           // of the record in the file, from 0, blank lines not counted
	Grid json.RawMessage `json:"grid,omitempty"`
	Hash string          `json:"hash,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Info is what a trace holds.
type Info struct {
	Records  map[string]int      `json:"records"` // by type
	Kernels  []Kernel            `json:"kernels"`
	Launches []Launch            `json:"launches,omitzero"`  // those that were asked for; nil if none were
	Failures []FailedCompilation `json:"failures,omitempty"` // those of the kernel that was asked for, otherwise all
	Total    int                 `json:"-"`                  // launches of the kernel that was asked for
	Files    int                 `json:"-"`
	Damaged  int                 `json:"damaged"`
	Damages  []Damage            `json:"damages,omitempty"`

	misnamed Misnamed
}

// InfoOptions says which launches are listed.
type InfoOptions struct {
	Kernel string // "" for none
	Filter Filter
	Args   bool
}

// ReadInfo reads a raw or parsed trace, a file or a folder, and holds no more of it than what it returns.
func ReadInfo(path string, o InfoOptions) (*Info, error) {
	files, err := Files(path)
	if err != nil {
		return nil, err
	}
	info := &Info{Records: map[string]int{}, Files: len(files)}
	if o.Kernel != "" {
		info.Launches = []Launch{}
	}
	kernels := map[string]*Kernel{}
	ids := map[string]int{} // of the next launch of the kernel that is asked for, by file
	info.Damages, info.Damaged, err = Scan(files, func(h Header, r *Record) error { return info.add(kernels, ids, h, r, o) })
	if err != nil {
		return nil, err
	}
	for _, k := range kernels {
		info.Kernels = append(info.Kernels, *k)
	}
	slices.SortFunc(info.Kernels, func(a, b Kernel) int { return cmp.Compare(a.Name, b.Name) })
	if len(info.Records) == 0 {
		return info, NoTrace(path, info.Damages)
	}
	if o.Kernel != "" && kernels[o.Kernel] == nil {
		return info, fmt.Errorf("no kernel %q in %s%s", o.Kernel, path, suggestion(o.Kernel, info.Kernels))
	}
	if o.Kernel != "" && len(info.Launches) == 0 {
		return info, info.misnamed.Err(path)
	}
	return info, nil
}

// add counts a record, and keeps a launch that was asked for.
func (info *Info) add(kernels map[string]*Kernel, ids map[string]int, h Header, r *Record, o InfoOptions) error {
	info.Records[h.Type]++
	if h.Type != "compilation" && h.Type != "launch" && h.Type != "compilation_failure" {
		return nil
	}
	k := kernels[h.Name]
	if k == nil {
		k = &Kernel{Name: h.Name}
		kernels[h.Name] = k
	}
	switch h.Type {
	case "compilation":
		k.Compilations++
		return nil
	case "compilation_failure":
		k.Failures++
		info.addFailure(h, r, o)
		return nil
	}
	k.Launches++
	if h.Name != o.Kernel {
		return nil
	}
	id := ids[r.File]
	ids[r.File]++
	info.Total++
	if !o.Filter.Match(r.Text) {
		info.misnamed.Look(o.Filter, r.Text)
		return nil
	}
	members, err := r.members()
	if err != nil {
		return err
	}
	l := Launch{ID: id, Line: r.Line, Hash: h.Hash}
	if info.Files > 1 {
		l.File = filepath.Base(r.File)
	}
	l.Grid = bytes.Clone(ndjson.Get(members, "grid"))
	if o.Args {
		l.Args = bytes.Clone(ndjson.Get(members, "extracted_args"))
	}
	info.Launches = append(info.Launches, l)
	return nil
}

func (info *Info) addFailure(h Header, r *Record, o InfoOptions) {
	c := ReadCompilation(r)
	if o.Kernel != "" && o.Kernel != h.Name || c.Extra == nil || c.Extra.Failure == nil {
		return
	}
	f := FailedCompilation{Kernel: h.Name, Line: r.Line, Stage: c.Extra.Failure.Stage, Error: c.Extra.Failure.Brief()}
	if info.Files > 1 {
		f.File = filepath.Base(r.File)
	}
	info.Failures = append(info.Failures, f)
}

// suggestion names the kernel that was perhaps meant: one whose name has the text in it, else one that is nearly the same.
func suggestion(name string, kernels []Kernel) string {
	best, distance := "", 1+len(name)/2
	for _, k := range kernels {
		if len(name) > 2 && strings.Contains(strings.ToLower(k.Name), strings.ToLower(name)) {
			return fmt.Sprintf("; did you mean %s?", foreign.Printable(k.Name))
		}
		if d := editDistance(name, k.Name, distance); d < distance {
			best, distance = k.Name, d
		}
	}
	const most = 8
	names := make([]string, 0, most)
	for _, k := range kernels[:min(most, len(kernels))] {
		names = append(names, foreign.Printable(k.Name))
	}
	switch more := len(kernels) - len(names); {
	case best != "":
		return fmt.Sprintf("; did you mean %s?", foreign.Printable(best))
	case more > 0:
		return fmt.Sprintf("; it has %s and %d more, which proton trace info lists", strings.Join(names, ", "), more)
	case len(names) == 0:
		return "; it has none"
	}
	return "; it has " + strings.Join(names, ", ")
}

// editDistance of two names, or limit if it is not below.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], limit)
}

// Filter is conditions that all hold: M=16, num_warps=4, x_ptr.shape=[64, 64].
type Filter []condition

type condition struct {
	key   string // as it was given
	path  []string
	value []byte // JSON in its canonical form
}

// ParseFilter reads conditions with commas between them. A value is JSON where it can be, else text.
func ParseFilter(s string) (Filter, error) {
	var f Filter
	for _, part := range splitOutside(s) {
		key, value, ok := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		path, err := filterPath(key)
		if !ok || err != nil {
			return nil, fmt.Errorf("read the filter %q: write NAME=VALUE, with commas between several, such as 'M=16,x_ptr.shape=[64, 64]'", strings.TrimSpace(part))
		}
		if strings.HasPrefix(value, "[") && jsontext.Valid([]byte(value)) != nil {
			return nil, fmt.Errorf("read the filter %q: %s is not a list; write one as in JSON, such as [64, 64] or [\"a\"]", strings.TrimSpace(part), value)
		}
		f = append(f, condition{key, path, filterValue(value)})
	}
	return f, nil
}

// splitOutside splits at commas that are in no brackets and no quotes.
func splitOutside(s string) []string {
	var parts []string
	depth, quoted, from := 0, false, 0
	for i, c := range s {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, s[from:i])
			from = i + 1
		}
	}
	if parts = append(parts, s[from:]); strings.TrimSpace(s) == "" {
		return nil
	}
	return parts
}

// filterPath takes name.field[2] apart.
func filterPath(key string) ([]string, error) {
	var path []string
	for _, name := range strings.Split(key, ".") {
		name, index, indexed := strings.Cut(name, "[")
		if name == "" {
			return nil, fmt.Errorf("no name in %q", key)
		}
		path = append(path, name)
		for indexed {
			var n, rest string
			n, rest, indexed = strings.Cut(index, "]")
			if _, err := strconv.ParseUint(n, 10, 31); err != nil || !indexed {
				return nil, fmt.Errorf("no index in %q", key)
			}
			path = append(path, "["+n)
			_, index, indexed = strings.Cut(rest, "[")
		}
	}
	return path, nil
}

func filterValue(s string) []byte {
	switch s {
	case "True":
		s = "true"
	case "False":
		s = "false"
	case "None":
		s = "null"
	}
	if s == "" || jsontext.Valid([]byte(s)) != nil {
		return jsontext.Quote(s)
	}
	return jsontext.Form{}.Append(nil, []byte(s))
}

// Match says whether a launch record, which must be valid JSON, fulfils all conditions.
func (f Filter) Match(record []byte) bool {
	if len(f) == 0 {
		return true
	}
	launch, err := jsontext.Members(record)
	if err != nil {
		return false
	}
	for _, c := range f {
		if !c.match(launch) {
			return false
		}
	}
	return true
}

func (c condition) match(launch []jsontext.Member) bool {
	v := c.find(launch)
	return v != nil && c.equal(v)
}

// find looks where a name may be: among the options of the compilation, the arguments, and the record's own members.
func (c condition) find(launch []jsontext.Member) []byte {
	for _, place := range []string{"compilation_metadata", "extracted_args", "extracted_inductor_args"} {
		if v := follow(ndjson.Get(launch, place), c.path); v != nil {
			return v
		}
	}
	return follow(ndjson.Get(launch, c.path[0]), c.path[1:])
}

// Misnamed collects the names of a filter that no launch has had yet: they are not those of arguments.
type Misnamed struct{ conditions Filter }

// Look begins with all names, and leaves out those that a launch has.
func (m *Misnamed) Look(f Filter, record []byte) {
	launch, err := jsontext.Members(record)
	if err != nil {
		return
	}
	if m.conditions == nil {
		m.conditions = slices.Clone(f)
	}
	m.conditions = slices.DeleteFunc(m.conditions, func(c condition) bool { return c.find(launch) != nil })
}

// Err says which names there are none of; nil if there is none, or if no launch was looked at.
func (m *Misnamed) Err(source string) error {
	if len(m.conditions) == 0 {
		return nil
	}
	var names []string
	for _, c := range m.conditions {
		names = append(names, c.key)
	}
	return fmt.Errorf("no launch in %s has %s, which the filter asks for; proton trace info --kernel NAME --args shows what they have", source, strings.Join(names, " or "))
}

func follow(v []byte, path []string) []byte {
	for _, step := range path {
		if index, ok := strings.CutPrefix(step, "["); ok {
			n, _ := strconv.Atoi(index)
			elements := jsontext.Elements(v)
			if n >= len(elements) {
				return nil
			}
			v = elements[n]
		} else {
			v = jsontext.Get(v, step)
		}
	}
	return v
}

func (c condition) equal(v []byte) bool {
	if inner := jsontext.Get(v, "value"); inner != nil {
		v = inner
	}
	text := jsontext.Form{}.Append(nil, v)
	if bytes.Equal(text, c.value) {
		return true
	}
	if !bytes.ContainsAny(text, ".eE") && !bytes.ContainsAny(c.value, ".eE") {
		return false // whole numbers may differ by less than a float64 can tell
	}
	a, errA := strconv.ParseFloat(string(text), 64)
	b, errB := strconv.ParseFloat(string(c.value), 64)
	return errA == nil && errB == nil && a == b
}
