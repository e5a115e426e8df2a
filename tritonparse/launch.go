package tritonparse

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goproton/goproton/tritonparse/jsontext"
)

// launch is what is kept of a launch record until its place in the order of all is known.
type launch struct {
	hash, name string
	group      string // launch_group_hash
	line       []byte // the record as it is written, without its end
	slots      []slot
	stack      *span
}

// slot is one member of a launch, or one argument of it.
type slot struct {
	name     string // of the member
	argument string // "" for members that are no arguments
	isArg    bool
	value    *span
}

// span is a value that is seen often: nearly all of a launch is like the launch before it. Spans are shared; they are
// never changed.
type span struct {
	hashed []byte // as launch_group_hash has it
	leaves []leaf // as launch_diff compares them
	shrunk []byte // with its long texts left out; nil if it has none
	tuned  tuning // of a stack
}

// leaf is a value that is no object, with the path to it.
type leaf struct {
	path []string
	text string // canonical
}

// internBudget bounds the bytes that spans are made of. A trace of one process has a few hundred kilobytes.
const internBudget = 24 << 20

// interner shares spans between the workers.
type interner struct {
	sync.RWMutex
	spans map[string]*span
	size  int
}

func (in *interner) get(raw []byte, stack bool) *span {
	in.RLock()
	s := in.spans[string(raw)]
	in.RUnlock()
	if s != nil && (!stack || s.tuned.known) {
		return s
	}
	s = newSpan(raw, stack)
	in.Lock()
	defer in.Unlock()
	if in.size += len(raw) * 4; in.size > internBudget || in.spans == nil {
		in.spans, in.size = map[string]*span{}, len(raw)*4
	}
	in.spans[string(raw)] = s
	return s
}

// notHashed are left out of launch_group_hash wherever they are: they differ between launches that are alike.
func notHashed(name string) bool {
	switch name {
	case "timestamp", "pid", "launch_group_hash", "occurrence_id", "function":
		return true
	}
	return false
}

var (
	hashForm = jsontext.Form{ASCII: true, Drop: notHashed}
	diffForm = jsontext.Form{}
)

func newSpan(raw []byte, stack bool) *span {
	s := &span{hashed: hashForm.Append(nil, raw)}
	if long(raw) {
		s.shrunk = shrink(nil, raw)
	}
	shown := raw
	if s.shrunk != nil {
		shown = s.shrunk
	}
	s.leaves = appendLeaves(nil, nil, shown)
	if stack {
		s.tuned = readTuning(raw)
	}
	return s
}

func appendLeaves(leaves []leaf, path []string, raw []byte) []leaf {
	if raw[0] != '{' {
		return append(leaves, leaf{slices.Clone(path), string(diffForm.Append(nil, raw))})
	}
	members, _ := jsontext.Members(raw)
	for _, m := range members {
		leaves = appendLeaves(leaves, append(path, m.Name), m.Value)
	}
	return leaves
}

// maxText is how long a text of a launch may be; some backends put whole programs into the metadata of a launch.
const maxText = 4096

// long says whether there may be a text that is too long.
func long(raw []byte) bool {
	for len(raw) > maxText {
		at := bytes.IndexByte(raw, '"')
		if at < 0 {
			return false
		}
		end := at + 1
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		if end-at > maxText {
			return true
		}
		if end >= len(raw) {
			return false
		}
		raw = raw[end+1:]
	}
	return false
}

// shrink writes a value with its long texts replaced by how long they were, in code points.
func shrink(out, raw []byte) []byte {
	switch raw[0] {
	case '"':
		if n := utf8.RuneCountInString(jsontext.Text(raw)); n > maxText {
			return append(out, fmt.Sprintf(`"<%d chars omitted>"`, n)...)
		}
	case '[':
		out = append(out, '[')
		for i, e := range jsontext.Elements(raw) {
			if i > 0 {
				out = append(out, ',')
			}
			out = shrink(out, e)
		}
		return append(out, ']')
	case '{':
		members, _ := jsontext.Members(raw)
		object := []byte{}
		for _, m := range members {
			object = appendMember(object, m.Name, shrink(nil, m.Value))
		}
		if len(object) == 0 {
			object = append(object, '{')
		}
		return append(append(out, object...), '}')
	}
	return append(out, raw...)
}

// readLaunch takes a launch apart. raw is the whole record; nothing of it is kept but its copy.
func readLaunch(in *interner, raw []byte, members []jsontext.Member) launch {
	l := launch{
		hash: jsontext.Text(jsontext.Get(member(members, "compilation_metadata"), "hash")),
		name: jsontext.Text(member(members, "name")),
	}
	shrunk, again := false, false
	for _, m := range members {
		if m.Name == "extracted_args" && m.Value[0] == '{' {
			shrunk = l.addArguments(in, m) || shrunk
			continue
		}
		switch m.Name {
		case "launch_group_hash", "occurrence_id", "autotune_launch_type": // of a trace that was parsed before
			again = true
			continue
		}
		s := slot{name: m.Name, value: in.get(m.Value, m.Name == "stack")}
		if m.Name == "stack" {
			l.stack = s.value
		}
		shrunk = shrunk || s.value.shrunk != nil
		l.slots = append(l.slots, s)
	}
	l.group = groupHash(l.slots, member(members, "extracted_args"))
	if !shrunk && !again {
		l.line = append(bytes.Clone(bytes.TrimRight(raw[:len(raw)-1], " \t")), ',')
		return l
	}
	for _, m := range members {
		switch m.Name {
		case "launch_group_hash", "occurrence_id", "autotune_launch_type":
			continue
		}
		l.line = appendMember(l.line, m.Name, shrink(nil, m.Value))
	}
	l.line = append(l.line, ',')
	return l
}

// addArguments says whether one of them was too long.
func (l *launch) addArguments(in *interner, m jsontext.Member) bool {
	args, _ := jsontext.Members(m.Value)
	shrunk := false
	for _, a := range args {
		s := slot{m.Name, a.Name, true, in.get(a.Value, false)}
		shrunk = shrunk || s.value.shrunk != nil
		l.slots = append(l.slots, s)
	}
	return shrunk
}

// groupHash puts the record's canonical text together from its parts, sorted by name, and hashes it.
func groupHash(slots []slot, arguments []byte) string {
	sorted := slices.Clone(slots)
	slices.SortFunc(sorted, func(a, b slot) int { // no two are equal
		if a.name == b.name {
			return strings.Compare(a.argument, b.argument)
		}
		return strings.Compare(a.name, b.name)
	})
	text := make([]byte, 0, 8<<10)
	text = append(text, '{')
	if arguments != nil && !slices.ContainsFunc(slots, func(s slot) bool { return s.name == "extracted_args" }) {
		// No argument at all: the member is there nevertheless.
		empty := slot{name: "extracted_args", value: &span{hashed: []byte("{}")}}
		at, _ := slices.BinarySearchFunc(sorted, empty, func(a, b slot) int { return strings.Compare(a.name, b.name) })
		sorted = slices.Insert(sorted, at, empty)
	}
	inArguments := false
	for i := 0; i < len(sorted); i++ {
		s := sorted[i]
		if s.isArg && !inArguments {
			text = appendName(text, s.name)
			text = append(text, '{')
			inArguments = true
		}
		if !s.isArg && inArguments {
			text = append(text, '}')
			inArguments = false
		}
		name := s.name
		if s.isArg {
			name = s.argument
		}
		if notHashed(name) {
			continue
		}
		text = appendName(text, name)
		text = append(text, s.value.hashed...)
	}
	if inArguments {
		text = append(text, '}')
	}
	sum := sha256.Sum256(append(text, '}'))
	return hex.EncodeToString(sum[:8])
}

func appendName(text []byte, name string) []byte {
	if text[len(text)-1] != '{' {
		text = append(text, ',')
	}
	text = hashForm.AppendText(text, name)
	return append(text, ':')
}
