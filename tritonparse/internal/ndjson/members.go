package ndjson

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
)

// Get is the value of a member as it is written, nil if there is none.
func Get(members []jsontext.Member, name string) []byte {
	for _, m := range members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// TextOf is the text of a member, "" if it is missing or something else.
func TextOf(members []jsontext.Member, name string) string {
	return jsontext.Text(Get(members, name))
}

// IntegerOf is the whole number of a member, 0 if it is missing or something else.
func IntegerOf(members []jsontext.Member, name string) int {
	return int(Integer(Get(members, name)))
}

// Bare is a value without its quotes, if it has any: some writers write numbers as texts.
func Bare(raw []byte) string {
	if len(raw) > 0 && raw[0] == '"' {
		return jsontext.Text(raw)
	}
	return string(raw)
}

// Integer is a whole number, 0 for any other value.
func Integer(raw []byte) int64 {
	n, _ := WholeNumber(raw)
	return n
}

// WholeNumber is Integer that also says whether the value is a whole number.
func WholeNumber(raw []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// WholeNumbers reads a list of whole numbers, which may be empty; nil for any other value.
func WholeNumbers(raw []byte) []int64 {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	all := make([]int64, 0, 4)
	for _, e := range jsontext.Elements(raw) {
		n, ok := WholeNumber(e)
		if !ok {
			return nil
		}
		all = append(all, n)
	}
	return all
}

// AppendMember adds a member to an object that is being written.
func AppendMember(out []byte, name string, value []byte) []byte {
	return append(AppendName(out, 0, name), value...)
}

// AppendName writes the name of a member of the object that begins at start, with a comma before it, or the object's brace before
// the first.
func AppendName(out []byte, start int, name string) []byte {
	if len(out) == start {
		out = append(out, '{')
	} else {
		out = append(out, ',')
	}
	return append(jsontext.Form{}.AppendText(out, name), ':')
}

// EndObject ends an object that AppendMember writes; one without members, too.
func EndObject(out []byte) []byte {
	if out == nil {
		return []byte("{}")
	}
	return append(out, '}')
}

// Object writes an object with other values of its members. A member without a value is left out.
func Object(members []jsontext.Member, value func(m jsontext.Member) []byte) []byte {
	var out []byte
	for _, m := range members {
		if v := value(m); v != nil {
			out = AppendMember(out, m.Name, v)
		}
	}
	return EndObject(out)
}

// AppendWith writes an object with another value for one member, without the brace at its end and the occurrence id.
func AppendWith(out []byte, members []jsontext.Member, name string, value func([]byte) []byte) []byte {
	start := len(out)
	for _, m := range members {
		if m.Name == "occurrence_id" {
			continue
		}
		out = AppendName(out, start, m.Name)
		if m.Name == name {
			out = value(out)
		} else {
			out = append(out, m.Value...)
		}
	}
	return out
}

var Null = []byte("null")

// TextOrNull writes a text, and null for an empty one.
func TextOrNull(s string) []byte {
	if s == "" {
		return Null
	}
	return jsontext.Quote(s)
}

// AppendTexts writes a list of texts.
func AppendTexts(out []byte, texts []string) []byte {
	return jsontext.AppendList(out, texts, jsontext.AppendString)
}

// Encode writes JSON that is not meant for HTML.
func Encode(v any) []byte {
	text, err := jsontext.Encode(v)
	if err != nil {
		return Encode("<" + err.Error() + ">")
	}
	return text
}

// Artifacts are the texts of a compilation's artifacts (file_content, file_path) by stage. Placeholders are left out.
func Artifacts(content []byte) map[string]string {
	texts := map[string]string{}
	members, err := jsontext.Members(content)
	if err != nil {
		return texts
	}
	for _, m := range members {
		stage, ok := Stage(m.Name)
		if text := jsontext.Text(m.Value); ok && !IsPlaceholder(text) {
			texts[stage] = text
		}
	}
	return texts
}

// Stage is what follows the last dot of an artifact's name: the name of its kernel may have dots.
func Stage(artifact string) (stage string, ok bool) {
	i := strings.LastIndexByte(artifact, '.')
	return artifact[i+1:], i >= 0
}

// IsPlaceholder reports whether a text is the message that a writer stores instead of a text which a tool could not make.
func IsPlaceholder(text string) bool {
	return strings.HasPrefix(text, "<") && placeholder.MatchString(text)
}

var placeholder = regexp.MustCompile(`^<(?:file too large|error|[\w./+-]+ failed\b)`)

// HashAndName reads the metadata of a compilation: Triton's compile hash, and the kernel's name.
func HashAndName(metadata []byte) (hash, name string) {
	return jsontext.Text(jsontext.Get(metadata, "hash")), jsontext.Text(jsontext.Get(metadata, "name"))
}

// Header identifies a record.
type Header struct {
	Type, Hash, Name string // event_type; of the compilation that it is about; of the kernel
	PID              int
}

// ReadHeader reads the header of a record. Each type of record has hash and name at another place.
func ReadHeader(members []jsontext.Member) Header {
	h := Header{Type: TextOf(members, "event_type"), PID: IntegerOf(members, "pid")}
	switch h.Type {
	case "compilation", "compilation_failure":
		h.Hash, h.Name = HashAndName(jsontext.Get(Get(members, "payload"), "metadata"))
	case "launch":
		h.Hash, h.Name = jsontext.Text(jsontext.Get(Get(members, "compilation_metadata"), "hash")), TextOf(members, "name")
	default:
		h.Hash, h.Name = TextOf(members, "hash"), TextOf(members, "name")
		if h.Name == "" {
			h.Name = TextOf(members, "kernel_name")
		}
	}
	return h
}
