package tritonparse

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/trace/sourcemap"
)

// compilation is what is made of one compilation record; it holds no reference to the record.
type compilation struct {
	hash, name string
	file       string // of output, for a compilation of Inductor's; "" for the common one
	tuned      tuning
	// What the analysis of a session shows; common is nil if the autotuner did not compile it.
	parameters, common []byte
	line               []byte // the record with maps and stages, without its end: the occurrence id follows
	analysis           []byte // the event that follows the launches; nil if there is none
	work               *workSource
}

// readCompilation maps the lines of all that was compiled.
func readCompilation(members []jsontext.Member, o *Options) compilation {
	payload := member(members, "payload")
	parts, err := jsontext.Members(payload)
	if err != nil {
		return compilation{}
	}
	metadata := member(parts, "metadata")
	var c compilation
	c.hash, c.name = hashAndName(metadata)
	if c.file = inductorFile(member(parts, "pt_info"), o.Compat); c.file == "" {
		c.file = o.torch.find(jsontext.Text(jsontext.Get(member(parts, "python_source"), "file_path")), member(members, "stack"))
	}
	backend, known := backendFor(jsontext.Text(jsontext.Get(metadata, "backend_name")))
	if !known {
		backend = unknownBackend
	}
	texts := artifacts(member(parts, "file_content"))
	stages := make([]sourcemap.Stage, 0, len(backend.Stages))
	for _, s := range backend.Stages {
		if text := texts[s.Name]; s.Parser != "" && text != "" {
			stages = append(stages, sourcemap.Stage{Name: s.Name, Parser: s.Parser, Text: text})
		}
	}
	source := member(parts, "python_source")
	python := sourcemap.Python{File: jsontext.Text(jsontext.Get(source, "file_path")), Has: len(source) > 0 && source[0] == '{'}
	maps := sourcemap.New(stages, python, o.Compat)

	c.tune(member(members, "stack"), metadata, source, o.Compat)

	c.line = appendWith(make([]byte, 0, len(payload)+maps.Room()+roomBeside), members, "payload", func(out []byte) []byte {
		return append(appendPayload(out, parts, texts["ttgir"], backend, known, maps), '}')
	})
	c.line = append(c.line, ',')
	if text := texts["ttir"]; known && text != "" && o.wants(rooflineName) {
		c.work = &workSource{text, bytes.Clone(jsontext.Get(metadata, "src_constants"))}
	}
	c.analysis = irAnalysis(c.hash, backend, &Artifacts{c.name, metadata, texts, maps, readPython(source, true), o, jsontext.Text(jsontext.Get(metadata, "backend_name"))})
	return c
}

// roomBeside is for what a compilation record has besides its payload: above all a stack.
const roomBeside = 16 << 10

// appendPayload writes a payload with maps and stages, without its end.
func appendPayload(out []byte, parts []jsontext.Member, ttgir string, b Backend, known bool, maps *sourcemap.Map) []byte {
	start := len(out)
	for _, m := range parts {
		value := m.Value
		switch m.Name {
		case "ir_stages", "source_mappings":
			continue
		case "metadata":
			value = withBaseWarps(value, ttgir)
		}
		out = append(appendName(out, start, m.Name), value...)
	}
	if known {
		out = b.appendStages(appendName(out, start, "ir_stages"))
	}
	return maps.AppendJSON(appendName(out, start, "source_mappings"))
}

// tune finds out whether the autotuner compiled it, and keeps what it chose between.
func (c *compilation) tune(stack, metadata, source []byte, compat bool) {
	c.parameters = tunedParameters(func(name string) []byte { return jsontext.Get(metadata, name) })
	if stack == nil {
		return
	}
	if c.tuned = readTuning(stack).seenBy(compat); c.tuned.session == "" {
		return
	}
	c.common = commonInfo(stack, source)
}

// tunedParameters is an object of the options that configurations may differ in, without those that have no value.
func tunedParameters(get func(string) []byte) []byte {
	var out []byte
	for _, name := range []string{"num_warps", "num_stages", "num_ctas", "maxnreg"} {
		if v := get(name); v != nil && string(v) != "null" {
			out = appendMember(out, name, v)
		}
	}
	if out == nil {
		out = []byte{'{'}
	}
	return append(out, '}')
}

// appendMember adds a member to an object that is being written.
func appendMember(out []byte, name string, value []byte) []byte {
	return append(appendName(out, 0, name), value...)
}

// appendName begins a member of an object that begins at start, and that object with its first.
func appendName(out []byte, start int, name string) []byte {
	if len(out) == start {
		out = append(out, '{')
	} else {
		out = append(out, ',')
	}
	return append(diffForm.AppendText(out, name), ':')
}

// appendWith writes an object with another value for one member, without the brace at its end and the occurrence id.
func appendWith(out []byte, members []jsontext.Member, name string, value func([]byte) []byte) []byte {
	start := len(out)
	for _, m := range members {
		if m.Name == "occurrence_id" {
			continue
		}
		out = appendName(out, start, m.Name)
		if m.Name == name {
			out = value(out)
		} else {
			out = append(out, m.Value...)
		}
	}
	return out
}

// artifacts are the texts by the end of their names. What stands there instead of a text that could not be had is none.
func artifacts(content []byte) map[string]string {
	texts := map[string]string{}
	members, err := jsontext.Members(content)
	if err != nil {
		return texts
	}
	for _, m := range members {
		_, end, ok := cutLast(m.Name, ".")
		text := jsontext.Text(m.Value)
		if !ok || isExcuse(text) {
			continue
		}
		texts[end] = text
	}
	return texts
}

// cutLast cuts at the last dot, so that names of kernels may have some.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// isExcuse says whether a text stands there instead of one that could not be had. Any backend's tool may have failed.
func isExcuse(text string) bool {
	return strings.HasPrefix(text, "<") && excuse.MatchString(text)
}

var excuse = regexp.MustCompile(`^<(?:file too large|error|[\w./+-]+ failed\b)`)

// inductorFile names the output of a compilation that torch.compile asked for; "" for any other.
func inductorFile(info []byte, compat bool) string {
	part := func(name, missing string) string {
		v := jsontext.Get(info, name)
		switch {
		case v == nil:
			return missing
		case string(v) == "null" && compat:
			return "None"
		case string(v) == "null":
			return missing
		case v[0] == '"':
			return fileSafe(jsontext.Text(v))
		}
		return fileSafe(string(v))
	}
	frame, compilation := part("frame_id", "None"), part("frame_compile_id", "None")
	if frame == "None" && compilation == "None" {
		return ""
	}
	return fmt.Sprintf("f%s_fc%s_a%s_cai%s.ndjson.gz", frame, compilation, part("attempt", "0"), part("compiled_autograd_id", "-"))
}

// fileSafe keeps what a trace says from becoming a path.
func fileSafe(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, s)
}

var ttgirWarps = regexp.MustCompile(`"ttg\.num-warps"\s*=\s*(\d+)`)

// withBaseWarps adds num_warps_base where the kernel's groups of warps do different work: num_warps counts all of them.
func withBaseWarps(metadata []byte, ttgir string) []byte {
	m := ttgirWarps.FindStringSubmatch(ttgir)
	total, err := strconv.Atoi(string(jsontext.Get(metadata, "num_warps")))
	if m == nil || err != nil {
		return metadata
	}
	base, err := strconv.Atoi(m[1])
	if err != nil || base == total {
		return metadata
	}
	members, err := jsontext.Members(metadata)
	if err != nil {
		return metadata
	}
	var out []byte
	for _, p := range members {
		out = appendMember(out, p.Name, p.Value)
	}
	return append(appendMember(out, "num_warps_base", strconv.AppendInt(nil, int64(base), 10)), '}')
}

// Mapped is a compilation record as Parse writes it, with source maps and stages, but for its occurrence id.
func Mapped(record []byte) ([]byte, error) {
	members, err := jsontext.Members(record)
	if err != nil {
		return nil, err
	}
	c := readCompilation(members, &Options{Analyses: []string{}})
	if len(c.line) == 0 {
		return nil, errors.New("the record is no compilation")
	}
	return append(bytes.TrimSuffix(c.line, []byte{','}), '}'), nil
}
