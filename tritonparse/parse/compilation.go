package parse

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/backend"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/work"
	"github.com/goproton/goproton/tritonparse/sourcemap"
)

// compilation is a compilation record, ready to be numbered. It holds no memory of the record.
type compilation struct {
	hash, name string
	file       string // output file of a compilation of Inductor's; "" for the rank's own
	tuned      launchtext.Tuning
	// What the analysis of a session shows; common is nil if the autotuner did not compile it.
	parameters, common []byte
	baseWarps          []byte // num_warps_base, where the trace says it
	line               []byte // the record with maps and stages, up to its occurrence id
	analysis           []byte // the ir_analysis event, which follows the launches; nil if there is none
	work               *work.Source
}

// readCompilation maps the lines of all texts and makes the analyses.
func readCompilation(members []jsontext.Member, o *Options) compilation {
	payload := ndjson.Get(members, "payload")
	parts, err := jsontext.Members(payload)
	if err != nil {
		return compilation{}
	}
	metadata := ndjson.Get(parts, "metadata")
	var c compilation
	settings := &backend.Settings{Quirks: o.quirks, Analyses: o.Analyses, Procedures: o.Procedures, OwnProcedures: o.OwnProcedures, FileCheck: o.FileCheck}
	c.hash, c.name = ndjson.HashAndName(metadata)
	if c.file = inductorFile(ndjson.Get(parts, "pt_info"), o.quirks); c.file == "" {
		c.file = o.torch.find(jsontext.Text(jsontext.Get(ndjson.Get(parts, "python_source"), "file_path")), ndjson.Get(members, "stack"))
	}
	chip, known := backend.For(jsontext.Text(jsontext.Get(metadata, "backend_name")))
	texts := ndjson.Artifacts(ndjson.Get(parts, "file_content"))
	source := ndjson.Get(parts, "python_source")
	python := sourcemap.Python{File: jsontext.Text(jsontext.Get(source, "file_path")), Has: len(source) > 0 && source[0] == '{'}
	maps := sourcemap.NewQuirky(chip.Mapped(texts), python, o.quirks)

	c.tune(ndjson.Get(members, "stack"), metadata, source, o.quirks)
	c.baseWarps = bytes.Clone(jsontext.Get(metadata, "num_warps_base"))

	c.line = ndjson.AppendWith(make([]byte, 0, len(payload)+maps.Room()+roomAround), members, "payload", func(out []byte) []byte {
		return append(appendPayload(out, parts, texts["ttgir"], chip, known, maps), '}')
	})
	c.line = append(c.line, ',')
	if text := texts["ttir"]; known && text != "" && settings.Wants(backend.Roofline) {
		c.work = &work.Source{Text: text, Constants: bytes.Clone(jsontext.Get(metadata, "src_constants"))}
	}
	c.analysis = backend.Run(c.hash, chip, &backend.Artifacts{Kernel: c.name, Metadata: metadata, Texts: texts, Maps: maps, Python: readSource(source)}, settings)
	return c
}

// readSource is the Python source as analyses see it; nil if there is none.
func readSource(raw []byte) *backend.Source {
	members, err := jsontext.Members(raw)
	if err != nil {
		return nil
	}
	return &backend.Source{File: ndjson.TextOf(members, "file_path"), Start: ndjson.IntegerOf(members, "start_line"), Code: ndjson.TextOf(members, "code")}
}

// roomAround is for the other members of a compilation record, above all the stack.
const roomAround = 16 << 10

// appendPayload writes a payload with maps and stages, without its end.
func appendPayload(out []byte, parts []jsontext.Member, ttgir string, b backend.Backend, known bool, maps *sourcemap.Map) []byte {
	start := len(out)
	for _, m := range parts {
		value := m.Value
		switch m.Name {
		case "ir_stages", "source_mappings":
			continue
		case "metadata":
			value = withBaseWarps(value, ttgir)
		}
		out = append(ndjson.AppendName(out, start, m.Name), value...)
	}
	if known {
		out = b.AppendStages(ndjson.AppendName(out, start, "ir_stages"))
	}
	return maps.AppendJSON(ndjson.AppendName(out, start, "source_mappings"))
}

// tune finds out whether the autotuner compiled the kernel, and keeps the options that it varies.
func (c *compilation) tune(stack, metadata, source []byte, q quirks.Set) {
	c.parameters = tunedParameters(func(name string) []byte { return jsontext.Get(metadata, name) })
	if stack == nil {
		return
	}
	if c.tuned = launchtext.ReadTuning(stack).SeenBy(q); c.tuned.Session == "" {
		return
	}
	c.common = commonInfo(stack, source)
}

// tunedParameters is an object of the options by which configurations may differ. Options without a value are left out.
func tunedParameters(get func(string) []byte) []byte {
	var out []byte
	for _, name := range []string{"num_warps", "num_stages", "num_ctas", "maxnreg"} {
		if v := get(name); v != nil && string(v) != "null" {
			out = ndjson.AppendMember(out, name, v)
		}
	}
	return ndjson.EndObject(out)
}

// inductorFile names the output of a compilation that torch.compile asked for; "" for any other.
func inductorFile(info []byte, q quirks.Set) string {
	part := func(name, missing string) string {
		v := jsontext.Get(info, name)
		switch {
		case v == nil:
			return missing
		case string(v) == "null" && q.Has(quirks.NoneInNames):
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

// fileSafe makes a text of a trace a part of a file name that cannot lead to another folder.
func fileSafe(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, s)
}

// withBaseWarps adds num_warps_base where the kernel's groups of warps do different work: num_warps counts all of them. Triton may have
// said it.
func withBaseWarps(metadata []byte, ttgir string) []byte {
	m := work.TTGIRWarps.FindStringSubmatch(ttgir)
	total, err := strconv.Atoi(string(jsontext.Get(metadata, "num_warps")))
	if m == nil || err != nil || jsontext.Get(metadata, "num_warps_base") != nil {
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
	members = append(members, jsontext.Member{Name: "num_warps_base", Value: strconv.AppendInt(nil, int64(base), 10)})
	return ndjson.Object(members, func(m jsontext.Member) []byte { return m.Value })
}

// Mapped is a compilation record as Parse writes it, with source maps and stages and without occurrence id.
func Mapped(record []byte) ([]byte, error) {
	members, err := jsontext.Members(record)
	if err != nil {
		return nil, err
	}
	c := readCompilation(members, &Options{Analyses: []string{}})
	if len(c.line) == 0 {
		return nil, errors.New("the record is not a compilation")
	}
	return append(bytes.TrimSuffix(c.line, []byte{','}), '}'), nil
}
