package tritonparse

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
)

// LaunchKind names what launches of one specialisation with the same arguments have in common: 16 hexadecimal digits.
// Where tensors lie, what is in them and where their contents are kept does not count; their shapes, types and strides do,
// and every other argument by its value. Arguments count by name, not by their order.
//
// It is the beginning of SHA-256 over Triton's compile hash, the grid and the arguments, each of the latter two behind a
// line's end and in the canonical form of Python's json (names sorted, no blanks, ASCII), null where there is none.
// grid and arguments are as in a launch record (grid, extracted_args) and must be valid JSON, or empty.
func LaunchKind(hash string, grid, arguments json.RawMessage) string {
	return kindOf(hash, grid, appendArguments(nil, arguments))
}

// kindOf is LaunchKind of arguments that are in their form already; none for null.
func kindOf(hash string, grid, arguments []byte) string {
	text := append(make([]byte, 0, len(arguments)+256), hash...)
	text = append(text, '\n')
	text = appendCanonical(text, grid)
	text = append(text, '\n')
	if arguments == nil {
		arguments = []byte("null")
	}
	sum := sha256.Sum256(append(text, arguments...))
	return hex.EncodeToString(sum[:8])
}

// kindForm leaves out of each argument what belongs to one launch only. Names of arguments are not looked at: a
// kernel may well have one that is called mean.
var kindForm = jsontext.Form{ASCII: true, Drop: func(name string) bool { return launchtext.OfOneLaunch[name] }}

func appendCanonical(out, raw []byte) []byte {
	if len(raw) == 0 {
		return append(out, "null"...)
	}
	return kindForm.Append(out, raw)
}

func appendArguments(out, raw []byte) []byte {
	var room [32]jsontext.Member
	members, err := jsontext.AppendMembers(room[:0], raw)
	if err != nil {
		return appendCanonical(out, raw)
	}
	slices.SortFunc(members, func(a, b jsontext.Member) int { return strings.Compare(a.Name, b.Name) })
	return jsontext.AppendObject(out, members, func(out []byte, m jsontext.Member) []byte {
		return kindForm.Append(append(kindForm.AppendText(out, m.Name), ':'), m.Value)
	})
}
