package tritonparse

import (
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
)

// How records are read: what is not there, or is something else than it should be, is a zero value. Records come from many
// versions of several writers.

// member is the value of a member as it is written, nil if there is none.
func member(members []jsontext.Member, name string) []byte {
	for _, m := range members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

func textOf(members []jsontext.Member, name string) string {
	return jsontext.Text(member(members, name))
}

func integerOf(members []jsontext.Member, name string) int {
	return int(integer(member(members, name)))
}

// hashAndName are those of a compilation's metadata.
func hashAndName(metadata []byte) (hash, name string) {
	return jsontext.Text(jsontext.Get(metadata, "hash")), jsontext.Text(jsontext.Get(metadata, "name"))
}

// bareText is a value without its quotes, if it has any: some writers write numbers as texts.
func bareText(raw []byte) string {
	if len(raw) > 0 && raw[0] == '"' {
		return jsontext.Text(raw)
	}
	return string(raw)
}

func integer(raw []byte) int64 {
	n, _ := wholeNumber(raw)
	return n
}

// wholeNumber also says whether it is one.
func wholeNumber(raw []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// wholeNumbers are those of a list that has nothing else, which may be empty; nil for any other value.
func wholeNumbers(raw []byte) []int64 {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	all := make([]int64, 0, 4)
	for _, e := range jsontext.Elements(raw) {
		n, ok := wholeNumber(e)
		if !ok {
			return nil
		}
		all = append(all, n)
	}
	return all
}
