package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/version"
)

// event is a compilation or autotune record as Python hands it over: all that it knows without reading a file.
type event struct {
	Type    string          `json:"event_type"`
	Nanos   int64           `json:"ns"`
	Stack   []frame         `json:"stack"`
	Members json.RawMessage `json:"members"` // of an autotune record

	// Of a compilation.
	Metadata     json.RawMessage `json:"metadata"`
	PTInfo       json.RawMessage `json:"pt_info"`
	Files        []artifact      `json:"files"`
	Binary       string          `json:"binary"` // which of the files is the binary
	PythonSource json.RawMessage `json:"python_source"`
	Extension    json.RawMessage `json:"goproton"`
}

type artifact struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Text bool   `json:"text"`
}

type frame struct {
	File     string
	Line     int
	Function string
}

// UnmarshalJSON reads [file, line, function].
func (f *frame) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&f.File, &f.Line, &f.Function})
}

// maxFile is the size of the largest text that TritonParse stores.
const maxFile = 10 << 20

// completed is the record of an event.
type completed struct {
	line    []byte
	counts  Counts
	err     error // why there is none
	missing error // what could not be recorded of it
}

// complete makes the record of an event: reads the files, disassembles, stores the binary. It may take seconds.
func (h header) complete(text []byte, sources *sourceLines) (c completed) {
	var e event
	if err := json.Unmarshal(text, &e); err != nil {
		return completed{err: fmt.Errorf("%w: an event: %v", errDamaged, err)}
	}
	out := []byte(`{"event_type":`)
	out = appendText(out, e.Type)
	out = append(out, `,"pid":`...)
	out = appendInt(out, int64(h.PID))
	if members := bytes.TrimSpace(e.Members); len(members) > 2 {
		out = append(append(out, ','), members[1:len(members)-1]...)
	}
	out = jsontext.AppendList(append(out, `,"stack":`...), e.Stack, sources.appendFrame)
	out = append(out, `,"timestamp":"`...)
	out = append(time.Unix(0, e.Nanos).UTC().AppendFormat(out, timestampForm), '"')
	if e.Type == "autotune" {
		c.counts.Autotunes = 1
	} else { // a compilation, or one that failed
		c.counts.Compilations = 1
		out, c.missing = h.appendPayload(out, e)
	}
	c.line = append(out, "}\n"...)
	return c
}

func (h header) appendPayload(out []byte, e event) ([]byte, error) {
	out = append(append(out, `,"payload":{"metadata":`...), orElse(e.Metadata, "{}")...)
	if len(e.PTInfo) > 2 {
		out = append(append(out, `,"pt_info":`...), e.PTInfo...)
	}
	out = jsontext.AppendObject(append(out, `,"file_path":`...), e.Files, func(out []byte, a artifact) []byte {
		return appendText(append(appendText(out, a.Name), ':'), a.Path)
	})
	out = append(out, `,"file_content":{`...)
	first := true
	content := func(name, text string) {
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(appendText(out, name), ':')
		out = appendText(out, text)
	}
	for _, a := range e.Files {
		if a.Text {
			content(a.Name, readText(a.Path))
		}
	}
	binary := e.binaryPath()
	if format := vendors.FormatOf(binary); format != nil && format.List != nil {
		if tool := h.Options.Disassemblers[format.Suffix]; tool != "" {
			content(strings.TrimSuffix(filepath.Base(binary), format.Suffix)+format.ListingName, format.List(tool, binary))
		}
	}
	out = append(out, '}')
	if len(e.PythonSource) > 2 {
		out = append(append(out, `,"python_source":`...), e.PythonSource...)
	}
	out = append(out, `},"goproton":{"version":1,"tool":"`+version.Tool()+`"`...)
	image, err := h.storeBinary(binary)
	if image != "" {
		out = append(append(out, `,"image":"`...), image...)
		out = append(append(append(out, `","cubin":"cubins/`...), image...), filepath.Ext(binary)...)
		out = append(out, '"')
	}
	if members := bytes.TrimSpace(e.Extension); len(members) > 2 {
		out = append(append(out, ','), members[1:len(members)-1]...)
	}
	return append(out, '}'), err
}

func (e event) binaryPath() string {
	for _, a := range e.Files {
		if a.Name == e.Binary && e.Binary != "" {
			return a.Path
		}
	}
	return ""
}

// readText returns a file's text, or in its place what TritonParse writes there.
func readText(path string) string {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		return fmt.Sprintf("<file too large: %d bytes>", info.Size())
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err == nil && !utf8.Valid(text) {
		err = fmt.Errorf("%s is not UTF-8", path)
	}
	if err != nil {
		return fmt.Sprintf("<error reading file: %v>", err)
	}
	return string(text)
}

// storeBinary keeps a copy of a GPU binary: a trace that moves to another machine still has it. It returns the image's
// name, "" if there is none to store, or no place.
func (h header) storeBinary(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	image, err := os.ReadFile(path)
	if err != nil || len(image) == 0 {
		return "", nil // Triton's cache may be cleared at any time
	}
	name := vendors.ImageName(image)
	folder := filepath.Join(h.Options.Folder, "cubins")
	target := filepath.Join(folder, name+filepath.Ext(path))
	if _, err := os.Stat(target); err == nil {
		return name, nil
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", binariesMissing(folder, err)
	}
	part := fmt.Sprintf("%s.%d.part", target, os.Getpid())
	err = os.WriteFile(part, image, 0o666)
	if err == nil {
		err = os.Rename(part, target)
	}
	if err != nil {
		_ = os.Remove(part)
		return "", binariesMissing(folder, err)
	}
	return name, nil
}

// binariesMissing is one sentence for all binaries of a run, and so said once.
func binariesMissing(folder string, err error) error {
	return fmt.Errorf("store binaries in %s: %s: kernels are traced without; lines of machine code need them", folder, why(err))
}
