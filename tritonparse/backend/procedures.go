package backend

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
	"github.com/goproton/goproton/tritonparse/internal/work"
)

// defaultProcedures are those that tritonparse ships (LICENSE is in the same folder): the ways in which AMD's compiler schedules
// the warps of a matrix multiplication against each other.
//
//go:embed procedures/default_procedure_checks.json
var defaultProcedures []byte

// Procedure is a pattern in TTGIR by which an optimisation of the compiler is recognised.
type Procedure struct {
	Name       string
	Message    string
	Patterns   string // lines of CHECK, CHECK-NOT …, as LLVM's FileCheck reads them
	Attributes []procedureAttribute
	display    json.RawMessage // the attributes as they were given
}

// procedureAttribute is a number or text that is shown with a procedure, and where it is found.
type procedureAttribute struct {
	Key     string   `json:"key"`
	Type    string   `json:"type"`
	Source  string   `json:"source"`          // module_attrs, ir_content, computed
	Rule    string   `json:"extract_rule"`    // regex, count, dot_shape
	Pattern string   `json:"extract_pattern"` // for regex and count
	Group   int      `json:"extract_group"`   // of regex
	Field   string   `json:"extract_field"`   // of dot_shape
	Compute string   `json:"compute_rule"`    // pp_clusters, tile_size_bits
	From    []string `json:"compute_from"`
	pattern *regexp.Regexp
}

// ReadProcedures reads a file in tritonparse's format of procedure checks; it returns the built-in ones for "".
func ReadProcedures(path string) ([]Procedure, error) {
	if path == "" {
		return ParseProcedures(defaultProcedures)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	checks, err := ParseProcedures(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return checks, nil
}

// ParseProcedures reads the text of such a file.
func ParseProcedures(text []byte) ([]Procedure, error) {
	var file struct {
		Procedures []struct {
			Name     string          `json:"name"`
			Message  string          `json:"message"`
			Patterns string          `json:"pattern_checks"`
			Display  json.RawMessage `json:"display_attributes"`
		} `json:"procedures"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	var checks []Procedure
	for i, p := range file.Procedures {
		if p.Name == "" || p.Patterns == "" {
			return nil, fmt.Errorf("procedure %d needs a name and pattern_checks", i)
		}
		c := Procedure{Name: p.Name, Message: p.Message, Patterns: p.Patterns, display: p.Display}
		if len(p.Display) == 0 || string(p.Display) == "null" {
			c.display = json.RawMessage("[]")
		}
		if err := json.Unmarshal(c.display, &c.Attributes); err != nil {
			return nil, fmt.Errorf("procedure %s: display_attributes: %w", p.Name, err)
		}
		for k := range c.Attributes {
			if err := c.Attributes[k].compile(); err != nil {
				return nil, fmt.Errorf("procedure %s: attribute %s: %w", p.Name, c.Attributes[k].Key, err)
			}
		}
		checks = append(checks, c)
	}
	if len(checks) == 0 {
		return nil, errors.New("the file has no procedures")
	}
	return checks, nil
}

func (a *procedureAttribute) compile() (err error) {
	if a.Group < 0 {
		return fmt.Errorf("extract_group %d: groups are counted from 1", a.Group)
	}
	if a.Group == 0 {
		a.Group = 1
	}
	if a.Rule != "regex" {
		return nil
	}
	if a.pattern, err = regexp.Compile(a.Pattern); err == nil && a.pattern.NumSubexp() < a.Group {
		err = fmt.Errorf("the pattern has no group %d", a.Group)
	}
	return err
}

// procedureChecks looks for procedures in TTGIR. The built-in ones apply to AMD's kernels only. With quirks.FileCheckOnly,
// FileCheck looks for them in all kernels.
func procedureChecks(a *Artifacts) []Finding {
	o := a.settings
	if !o.Quirks.Has(quirks.FileCheckOnly) && !o.OwnProcedures && a.backend != "hip" || len(o.Procedures) == 0 {
		return nil
	}
	ttgir := a.Texts["ttgir"]
	var out []byte
	for i := range o.Procedures {
		p := &o.Procedures[i]
		r := p.check(ttgir, o)
		tile := work.DotShape(a.Texts["ttir"])
		for _, m := range tile.Members {
			if r.attributes.Get(m.Name) == nil {
				r.attributes.At(m.Name).Text = m.Text
			}
		}
		out = ndjson.AppendMember(out, p.Name, r.appendJSON(nil))
	}
	return []Finding{{"procedure_checks", json.RawMessage(append(out, '}'))}}
}

// procedureResult is what one check found.
type procedureResult struct {
	check      *Procedure
	detected   bool
	pattern    string
	details    []string
	err        string
	module     []byte
	attributes *store.Object
	method     string
}

func (p *Procedure) check(ttgir string, o *Settings) procedureResult {
	r := procedureResult{check: p, pattern: p.Patterns, details: []string{}, module: ndjson.Null, attributes: &store.Object{}, method: "filecheck"}
	directives := p.Directives()
	program := o.FileCheck
	if o.Quirks.Has(quirks.FileCheckOnly) && program == "" {
		r.err = "FileCheck binary not available. Set FILECHECK_PATH env var or install Triton."
		return r
	}
	r.details = directives
	r.pattern = "; " + strings.Join(directives, "\n; ")
	r.module, r.attributes = p.attributes(ttgir)
	if !o.Quirks.Has(quirks.FileCheckOnly) {
		plain, holds, why := inOrder(directives, ttgir)
		if plain {
			r.method, r.detected, r.err = "proton", holds, why
			return r
		}
		if program == "" {
			r.err = "only LLVM's FileCheck can check more than CHECK and CHECK-NOT with plain words: install Triton, which has it, or set FILECHECK_PATH to it"
			return r
		}
	}
	r.detected, r.err = RunFileCheck(program, r.pattern, ttgir)
	return r
}

// Directives are the lines that check something.
func (p *Procedure) Directives() []string {
	lines := []string{}
	for _, l := range strings.Split(p.Patterns, "\n") {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "CHECK") {
			lines = append(lines, l)
		}
	}
	return lines
}

func (r procedureResult) appendJSON(out []byte) []byte {
	out = ndjson.AppendMember(out, "procedure_name", jsontext.Quote(r.check.Name))
	out = ndjson.AppendMember(out, "detected", strconv.AppendBool(nil, r.detected))
	out = ndjson.AppendMember(out, "check_pattern", jsontext.Quote(r.pattern))
	out = ndjson.AppendMember(out, "match_details", ndjson.AppendTexts(nil, r.details))
	out = ndjson.AppendMember(out, "error_message", ndjson.TextOrNull(r.err))
	out = ndjson.AppendMember(out, "message", jsontext.Quote(r.check.Message))
	out = ndjson.AppendMember(out, "module_attributes", r.module)
	out = ndjson.AppendMember(out, "attributes", r.attributes.AppendJSON(nil))
	out = ndjson.AppendMember(out, "display_attributes", jsontext.Form{}.Append(nil, r.check.display))
	return append(ndjson.AppendMember(out, "detection_method", jsontext.Quote(r.method)), '}')
}

var moduleAttributes = regexp.MustCompile(`module\s+attributes\s*\{([^}]+)\}`)

// attributes finds what is shown with a procedure: first what the text has, then what is computed from that.
func (p *Procedure) attributes(ttgir string) (module []byte, found *store.Object) {
	module, found = ndjson.Null, &store.Object{}
	if m := moduleAttributes.FindStringSubmatch(ttgir); m != nil {
		module = jsontext.Quote(strings.TrimSpace(m[1]))
	}
	shape := work.DotShape(ttgir)
	for i := range p.Attributes {
		p.Attributes[i].extract(ttgir, shape, found)
	}
	for _, a := range p.Attributes {
		if a.Source != "computed" || found.Get(a.Key) != nil {
			continue
		}
		for _, need := range a.From {
			if found.Get(need) != nil {
				continue
			}
			declared := false
			for i := range p.Attributes {
				if p.Attributes[i].Key == need {
					declared = true
					p.Attributes[i].extract(ttgir, shape, found)
				}
			}
			if v := shape.Get(need); v != nil && !declared {
				found.At(need).Text = v.Text
			}
		}
		if v, ok := a.compute(found, ttgir); ok {
			found.At(a.Key).Text = strconv.AppendInt(nil, int64(v), 10)
		}
	}
	return module, found
}

func (a *procedureAttribute) extract(text string, shape, found *store.Object) {
	switch {
	case a.Source != "module_attrs" && a.Source != "ir_content":
	case a.Rule == "regex" && a.Pattern != "":
		if m := a.pattern.FindStringSubmatch(text); m != nil {
			v := jsontext.Quote(m[a.Group])
			if _, err := strconv.Atoi(m[a.Group]); err == nil && a.Type == "number" {
				v = []byte(m[a.Group])
			}
			found.At(a.Key).Text = v
		}
	case a.Rule == "count" && a.Pattern != "" && a.Source == "ir_content":
		found.At(a.Key).Text = strconv.AppendInt(nil, int64(strings.Count(text, a.Pattern)), 10)
	case a.Rule == "dot_shape" && a.Source == "ir_content":
		field := a.Field
		if field == "" {
			field = a.Key
		}
		if v := shape.Get(field); v != nil {
			found.At(a.Key).Text = v.Text
		}
	}
}

func (a *procedureAttribute) compute(found *store.Object, text string) (int, bool) {
	count := func(name, pattern string) int {
		if n, ok := found.Number(name); ok {
			return n
		}
		return strings.Count(text, pattern)
	}
	switch a.Compute {
	case "pp_clusters":
		warps, ok := found.Number("num_warps")
		if m := work.TTGIRWarps.FindStringSubmatch(text); !ok && m != nil {
			warps, _ = strconv.Atoi(m[1])
		}
		barriers := count("cond_barrier_count", "amdgpu.cond_barrier")
		switch {
		case warps == 4 && barriers == 0:
			return 1, true
		case warps == 8 && barriers > 0 && count("dot_count", "tt.dot") >= 4:
			return 4, true
		case warps == 8 && barriers > 0:
			return 2, true
		}
	case "tile_size_bits":
		m, okM := found.Number("tile_m")
		n, okN := found.Number("tile_n")
		k, okK := found.Number("tile_k")
		dtype := found.Get("input_dtype")
		if !okM || !okN || !okK || dtype == nil {
			return 0, false
		}
		bits, ok := work.TypeBits(jsontext.Text(dtype.Text))
		return m * n * k * bits, ok
	}
	return 0, false
}
