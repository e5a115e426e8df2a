package jsontext

import (
	"bytes"
	"slices"
	"strconv"
)

// Form is a way to write a value so that equal values have equal text.
type Form struct {
	ASCII  bool                   // \uXXXX for what is not ASCII, as Python's json writes it; else as it is, as orjson does
	Orjson bool                   // small numbers as orjson writes them: 0.00001 and 1e-6, not 1e-05 and 1e-06
	Drop   func(name string) bool // members that are left out, at any depth
}

// Canonical says of a valid value whether it is a scalar that every Form writes as it stands.
func Canonical(raw []byte) bool {
	switch c := raw[0]; c {
	case '"':
		return isPlain(raw[1 : len(raw)-1])
	case 't', 'f', 'n':
		return true
	case '{', '[':
		return false
	}
	return len(raw) < 19 && !bytes.ContainsAny(raw, ".eE") && string(raw) != "-0"
}

// Append writes a valid value: members sorted by their names, no blanks, numbers as Python writes them.
func (f Form) Append(out, text []byte) []byte {
	text = bytes.TrimSpace(text)
	switch text[0] {
	case '"':
		return f.appendString(out, text)
	case '{':
		return f.appendObject(out, text)
	case '[':
		out = append(out, '[')
		first := true
		_, _ = list(text, 0, 0, func(v []byte) {
			if !first {
				out = append(out, ',')
			}
			first = false
			out = f.Append(out, v)
		})
		return append(out, ']')
	case 't', 'f', 'n':
		return append(out, text...)
	}
	from := len(out)
	out = appendNumber(out, text)
	if at := bytes.Index(out[from:], []byte("e-0")); f.Orjson && at >= 0 {
		if v, err := strconv.ParseFloat(string(out[from:]), 64); err == nil && bytes.HasSuffix(out, []byte("5")) {
			return strconv.AppendFloat(out[:from], v, 'f', -1, 64)
		}
		return slices.Delete(out, from+at+2, from+at+3)
	}
	return out
}

func (f Form) appendObject(out, text []byte) []byte {
	var room [24]Member
	members, err := AppendMembers(room[:0], text)
	if err != nil {
		return out
	}
	// The order of UTF-8's bytes is the order of code points, which is Python's.
	slices.SortFunc(members, func(a, b Member) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	out = append(out, '{')
	first := true
	for _, m := range members {
		if f.Drop != nil && f.Drop(m.Name) {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = f.AppendText(out, m.Name)
		out = append(out, ':')
		out = f.Append(out, m.Value)
	}
	return append(out, '}')
}

func (f Form) appendString(out, raw []byte) []byte {
	if isPlain(raw[1 : len(raw)-1]) {
		return append(out, raw...)
	}
	return f.AppendText(out, Text(raw))
}

// appendNumber writes a number as Python does after it has read it: whole numbers of 64 bits as they are, all others as
// the shortest decimal of a double.
func appendNumber(out, text []byte) []byte {
	if !bytes.ContainsAny(text, ".eE") {
		if len(text) < 19 || fits(text) {
			if string(text) == "-0" {
				text = text[1:]
			}
			return append(out, text...)
		}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return append(out, text...)
	}
	return AppendFloat(out, v)
}

func fits(text []byte) bool {
	if _, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(string(text), 10, 64)
	return err == nil
}

// isPlain says whether every Form writes a text as it stands.
func isPlain(text []byte) bool {
	return PlainASCII(text) == len(text) && bytes.IndexByte(text, 0x7f) < 0
}
