package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
)

// recognise finds the format of a file by its first bytes or, if it is JSON, by the keys of its objects, however far they are apart. head is the
// beginning of r; the reader that it returns has all of r.
func recognise(r io.Reader, head []byte) (*Format, io.Reader, error) {
	if isXSpace(head) {
		return nil, nil, unknown(head)
	}
	for _, f := range all {
		if f.Sniff != nil && f.Sniff(head) {
			return f, r, nil
		}
	}
	if text := bytes.TrimLeft(head, space); len(text) == 0 || text[0] != '{' && text[0] != '[' || notProfile(head) != "" {
		return nil, nil, unknown(head)
	}
	var seen bytes.Buffer
	d := document{Scanner: jsonscan.New(io.TeeReader(r, &seen))}
	d.Lenient = true
	d.look()
	var wrong *profile.FormatError
	switch {
	case d.name != "":
	case d.Err != nil && !errors.As(d.Err, &wrong): // reading failed
		return nil, nil, d.Err
	default:
		d.name = d.likely
	}
	if d.name == "" {
		return nil, nil, d.unknown()
	}
	f, err := ByName(d.name)
	return f, io.MultiReader(&seen, r), err
}

// document is a JSON document of which only keys are looked at, until one of them says what it is.
type document struct {
	*jsonscan.Scanner
	name   string // of the format, once it is known
	likely string // what the keys so far speak for, though other documents may have them
	is     string // what it is instead of a profile
	keys   []string
}

const space = " \r\n\t"

// look goes through the document: an object, or the first objects of a list.
func (d *document) look() {
	switch d.Peek() {
	case '{':
		d.object(d.memberOfDocument)
	case '[':
		d.Expect('[', "")
		for more := d.Begin(']'); more && !d.done(); more = d.More(']') {
			if d.Peek() == '{' {
				d.object(d.memberOfElement)
			} else if d.Peek() != ']' {
				d.Skip(0)
			}
			if d.done() {
				return
			}
		}
		return
	}
	if !d.done() && d.likely == "" && d.Peek() == '{' {
		d.is = "JSON lines, one document on each line, with no key that a profile has; if it is one, give --from FORMAT"
	}
}

// object calls member for each key until the document is known. member may read the value.
func (d *document) object(member func(key string)) {
	d.Expect('{', "")
	for more := d.Begin('}'); more && !d.done(); more = d.More('}') {
		key := string(d.Key())
		d.Peek()
		at := d.Offset()
		if member(key); d.done() {
			return
		}
		if len(d.keys) < 5 {
			d.keys = append(d.keys, fmt.Sprintf("%.40q", key))
		}
		if d.Offset() == at {
			d.Skip(0)
		}
	}
}

func (d *document) done() bool { return d.name != "" || d.is != "" || d.Err != nil }

// memberOfDocument looks at a key of the document itself. Its value comes next.
func (d *document) memberOfDocument(key string) {
	switch key {
	case "traceEvents":
		d.name = "chrome_trace"
	case "graph", "dataframe_indices":
		d.likely = "hatchet"
	case "dataframe":
		if d.likely == "hatchet" {
			d.name = "hatchet"
		}
	case "baseTimeNanoseconds", "deviceProperties", "displayTimeUnit", "otherData":
		d.likely = "chrome_trace"
	case "shared":
		d.name = "speedscope"
	case "profiles", "activeProfileIndex":
		d.likely = "speedscope"
	case "$schema":
		if d.Peek() == '"' && bytes.Contains(d.Str(""), []byte("speedscope")) {
			d.name = "speedscope"
		}
	case "schema":
		if d.Peek() == '"' && bytes.Contains(d.Str(""), []byte("chakra")) {
			d.is = "an execution trace of PyTorch (Chakra), which has no times of a GPU; give the trace that torch.profiler writes"
		}
	default:
		d.is = otherDocuments[key]
	}
}

// memberOfElement looks at a key of an object in a list: of a trace's event or a tree's node.
func (d *document) memberOfElement(key string) {
	switch key {
	case "ph":
		d.name = "chrome_trace"
	case "ts", "pid", "tid", "args":
		d.likely = "chrome_trace"
	case "frame":
		if d.Peek() == '{' {
			d.name = "hatchet"
		}
	case "children":
		if d.Peek() == '[' {
			d.name = "hatchet"
		}
	case "metrics", "info", "kinds", "times", "samples", "inside", "launches", "sampling", "launch_kinds":
		d.likely = "hatchet"
	}
}

// otherDocuments are JSON documents that users give to a profile viewer by mistake, by a key that only they have.
var otherDocuments = map[string]string{
	"rocprofiler-sdk-tool": "what rocprofv3 writes as JSON, which is not a trace; have it write one: rocprofv3 --output-format pftrace",
	"event_type":           "a TritonParse trace; read it with proton trace info FILE, or join it with a profile: proton viewer --trace FILE PROFILE",
	"timeDeltas":           "a CPU profile of V8 (.cpuprofile); speedscope.app opens it",
	"resourceProfiles":     "an OpenTelemetry export",
	"resourceSpans":        "an OpenTelemetry export of spans, which hold no call paths",
	"nbformat":             "a Jupyter notebook",
	"libs":                 "a profile of Firefox or samply; profiler.firefox.com opens it",
	"frame_tree":           pyinstrument,
	"root_frame":           pyinstrument,
}

const pyinstrument = "a profile of pyinstrument; have it write speedscope's form: pyinstrument -r speedscope -o FILE.speedscope.json"

// unknown says what was found instead of a profile.
func (d *document) unknown() error {
	var wrong *profile.FormatError
	switch {
	case d.is != "":
		return fmt.Errorf("byte 0: it is %s", d.is)
	case errors.As(d.Err, &wrong) && !wrong.Cut:
		return fmt.Errorf("%w: the JSON is broken here, before a key that says which format it is; if you know, give --from FORMAT", d.Err)
	}
	what := "the file is JSON, with no key that a profile has"
	if len(d.keys) > 0 {
		what += fmt.Sprintf(" (the first are %s)", strings.Join(d.keys, ", "))
	}
	if wrong != nil {
		what = "the file is cut off: " + what
	}
	return fmt.Errorf("byte 0: %s; proton reads %s, and --from FORMAT names the one that it is", what, names())
}

// unknown says what was found instead of a profile.
func unknown(head []byte) error {
	if len(head) == 0 {
		return errors.New("byte 0: the file is empty: what wrote it was ended before its first byte, or has not begun")
	}
	if is := notProfile(head); is != "" {
		return errors.New("byte 0: it is " + is)
	}
	return fmt.Errorf("byte 0: it starts with %q, which is none of the formats that proton reads (%s); if it is one of them, give --from FORMAT", head[:min(len(head), 16)], names())
}
