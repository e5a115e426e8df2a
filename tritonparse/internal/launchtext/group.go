package launchtext

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/goproton/goproton/internal/jsontext"
)

// RecordGroup is the launch_group_hash of a launch record, as parsing writes it: 16 hexadecimal digits over what the launches of a
// group have in common, the stack included. record is valid JSON, raw or parsed. ok is false for a parsed record whose long texts
// were cut: the hash is of the whole record.
func RecordGroup(record []byte) (hash string, ok bool) {
	if bytes.Contains(record, []byte(" chars omitted>\"")) {
		return "", false
	}
	sum := sha256.Sum256(groupForm.Append(nil, record))
	return hex.EncodeToString(sum[:8]), true
}

var groupForm = jsontext.Form{ASCII: true, Drop: func(name string) bool { return name == "autotune_launch_type" || notHashed(name) }}

// Group is a launch_group_hash.
type Group [16]byte

// String is 16 hexadecimal digits, "" for no group.
func (g Group) String() string {
	if g == (Group{}) {
		return ""
	}
	return string(g[:])
}

// notHashed reports whether launch_group_hash leaves out members of this name, at any depth, because they differ between the
// launches of a group.
func notHashed(name string) bool {
	switch name {
	case "timestamp", "pid", "launch_group_hash", "occurrence_id", "function":
		return true
	}
	return false
}

var hashForm = jsontext.Form{ASCII: true, Drop: notHashed}

// GroupOf is the group of a launch whose members are in canonical form.
func GroupOf(canonical []byte) (g Group) {
	sum := sha256.Sum256(canonical)
	hex.Encode(g[:], sum[:len(g)/2])
	return g
}
