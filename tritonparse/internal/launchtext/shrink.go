package launchtext

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// MaxText is how long a text of a launch may be, in code points; some backends put whole programs into the metadata of a launch.
const MaxText = 4096

// long says whether a value may hold a text that is too long.
func long(raw []byte) bool {
	for len(raw) > MaxText {
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
		if end-at > MaxText {
			return true
		}
		if end >= len(raw) {
			return false
		}
		raw = raw[end+1:]
	}
	return false
}

// shrink writes a value, with the length of each long text in its place.
func shrink(out, raw []byte) []byte {
	switch raw[0] {
	case '"':
		if n := utf8.RuneCountInString(jsontext.Text(raw)); n > MaxText {
			return append(out, fmt.Sprintf(`"<%d chars omitted>"`, n)...)
		}
	case '[':
		return jsontext.AppendList(out, jsontext.Elements(raw), shrink)
	case '{':
		members, _ := jsontext.Members(raw)
		return append(out, ndjson.Object(members, func(m jsontext.Member) []byte { return shrink(nil, m.Value) })...)
	}
	return append(out, raw...)
}
