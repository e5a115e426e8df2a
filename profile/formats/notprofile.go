package formats

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// notProfiles lists kinds of files that users open with a profile viewer by mistake: their first bytes, what they are, and
// what to do instead.
var notProfiles = []struct{ magic, is, instead string }{
	{"\x7fELF", "a program or library (ELF)", "run it under proton run, and read the profile that writes"},
	{"SQLite format 3\x00", "an SQLite database, such as nsys export and rocprofv3 make", "record the program with proton run: reports of Nsight hold no call paths to show; rocprofv3 writes a trace with --output-format pftrace"},
	{"PK\x03\x04", "a zip archive, such as torch.save makes", "unpack it if the profile is inside"},
	{"\x89PNG", "a picture (PNG)", ""},
	{"\xff\xd8\xff", "a picture (JPEG)", ""},
	{"%PDF-", "a PDF document", ""},
	{"BZh", "packed with bzip2", "unpack it first: bunzip2"},
	{"\xfd7zXZ\x00", "packed with xz", "unpack it first: unxz"},
	{"\x04\x22\x4d\x18", "packed with lz4", "unpack it first: unlz4"},
	{"\xff\xfe", utf16, writeUTF8},
	{"\xfe\xff", utf16, writeUTF8},
	{"{\x00", utf16, writeUTF8},
	{"[\x00", utf16, writeUTF8},
	{"\x00{", utf16, writeUTF8},
	{"\x00[", utf16, writeUTF8},
	{"\x80\x02", pickle, ""},
	{"\x80\x03", pickle, ""},
	{"\x80\x04", pickle, ""},
	{"\x80\x05", pickle, ""},
	{"PERFILE2", "what perf record writes", "fold it: perf script | stackcollapse-perf.pl > out.folded"},
	{"heap profile:", oldPprof, convertPprof},
	{"heapz ", oldPprof, convertPprof},
	{"--- ", oldPprof, convertPprof},
	{"goroutine profile:", oldPprof, convertPprof},
	{"threadcreate profile:", oldPprof, convertPprof},
	{"\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00", oldPprof, convertPprof}, // of the CPU, on 64 bits
	{"\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00", oldPprof, convertPprof},
	{"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03", oldPprof, convertPprof},
	{"\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00", oldPprof, convertPprof},
	{"#!", "a script", "run it under proton run, and read the profile that writes"},
	{"PROTNCAP", "a recorded run", "play it: proton run --backend replay FILE, and read the profile that writes"},
	{"<", "a page of HTML or XML", "if it was downloaded, look at it: it may be an error page"},
}

const (
	utf16        = "text in UTF-16, as > makes in PowerShell"
	writeUTF8    = "write it as UTF-8, or to the file itself instead of redirecting: iconv -f UTF-16 -t UTF-8"
	pickle       = "a Python pickle, such as a snapshot of torch's memory"
	oldPprof     = "a profile of pprof's formats before profile.proto"
	convertPprof = "convert it: go tool pprof -proto FILE > FILE.pb.gz"
)

// notProfile says what a file is whose first bytes are in notProfiles, and what to do instead; "" for all others.
func notProfile(head []byte) string {
	if isGPUCode(head) {
		return "code for a GPU, as a compiler made it (ELF); give the profile of the run that launched it"
	}
	text := bytes.TrimLeft(head, space)
	for _, s := range notProfiles {
		if bytes.HasPrefix(head, []byte(s.magic)) || s.magic == "<" && bytes.HasPrefix(text, []byte(s.magic)) {
			return strings.TrimSuffix(s.is+"; "+s.instead, "; ")
		}
	}
	switch {
	case perfScript.Match(head):
		return "what perf script prints; fold it: stackcollapse-perf.pl < FILE > out.folded"
	case isTable(head):
		return "a table (CSV), such as nsys stats and rocprofv3 write of kernels, which has no call paths; rocprofv3 writes a trace with --output-format pftrace"
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return "a tar archive; unpack it, and give the profile that is inside: tar xf FILE"
	case pythonTree.Match(text):
		return "a tree in Python's syntax; write it as JSON: python3 -c 'import ast, json; print(json.dumps(ast.literal_eval(open(\"FILE\").read())))' > FILE.hatchet"
	case isXSpace(head):
		return "an XSpace of JAX or TensorFlow (.xplane.pb); give its trace instead, which JAX writes with create_perfetto_trace=True"
	}
	return ""
}

// pythonTree matches the beginning of a hatchet literal, a tree that Python's ast.literal_eval reads and JSON's readers do not.
var pythonTree = regexp.MustCompile(`^\[\s*\{\s*'(frame|metrics|children)'`)

// perfScript matches the beginning of a sample: program, process, perhaps its thread and CPU, time, and a count or the event.
var perfScript = regexp.MustCompile(`^\S.* +[0-9]+(?:/[0-9]+)? +(?:\[[0-9]+\] +)?[0-9]+\.[0-9]+: +\S.*\n\s+[0-9a-f]+ `)

// isTable says whether a file begins with the names of three columns or more, of times or of kernels, and a line of such a table.
func isTable(head []byte) bool {
	names, rows, _ := bytes.Cut(head, []byte("\n"))
	row, _, _ := bytes.Cut(rows, []byte("\n"))
	comma := []byte(",")
	return bytes.Count(names, comma) >= 2 && bytes.Count(row, comma) >= 2 && !bytes.ContainsAny(names, ";{[") && columnNames.Match(names)
}

var columnNames = regexp.MustCompile(`Time|Duration|Kernel`)

// isGPUCode says whether a file is an ELF file for one of the machines that are GPUs.
func isGPUCode(head []byte) bool {
	return len(head) >= 20 && string(head[:4]) == "\x7fELF" && slices.Contains([]uint16{190, 224}, binary.LittleEndian.Uint16(head[18:]))
}

// isXSpace says whether a file is a protobuf whose first field is a plane of a profile of XLA: with an id or without, and a name that begins
// with a slash.
func isXSpace(head []byte) bool {
	field, kind, n := protowire.ConsumeTag(head)
	if n < 0 || field != 1 || kind != protowire.BytesType {
		return false
	}
	_, m := protowire.ConsumeVarint(head[n:])
	if m < 0 {
		return false
	}
	plane := head[n+m:]
	if field, kind, n := protowire.ConsumeField(plane); n > 0 && field == 1 && kind == protowire.VarintType {
		plane = plane[n:]
	}
	field, kind, n = protowire.ConsumeTag(plane)
	if n < 0 || field != 2 || kind != protowire.BytesType {
		return false
	}
	name, m := protowire.ConsumeBytes(plane[n:])
	return m > 0 && bytes.HasPrefix(name, []byte("/")) && utf8.Valid(name)
}
