package foreign

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// longestName is what every file system takes, in bytes, with room for what is added to a name.
const longestName = 200

// FileName makes one element of a path of any text: it names no other folder, is not hidden, is not taken for a flag, and
// works on the file systems of Linux, macOS and Windows. A text that is too long keeps its beginning and its extension, and
// a hash keeps it different from others.
func FileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(s, "_"))
	if s = strings.TrimLeft(s, "."); s == "" || s[0] == '-' {
		s = "_" + s
	}
	if len(s) <= longestName {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	end := "_" + hex.EncodeToString(sum[:8])
	if kind := filepath.Ext(s); len(kind) < 16 { // Triton decides by the extension how to read a file
		end += kind
	}
	return strings.ToValidUTF8(s[:longestName-len(end)], "") + end
}
