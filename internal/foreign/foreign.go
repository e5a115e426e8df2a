// Package foreign turns text that a file brings along into text that is safe where it is going: Python code, a terminal, a
// path.
//
// Profiles, traces and captures come from other people and other machines. Their authors choose every name in them: of
// kernels, arguments, metrics, devices, files. Such a name must stay a name. Each destination has one function here, which
// either returns text that the destination reads as data or says that there is none. Packages that write scripts, print
// reports or name files call these functions and have no rules of their own. IsSource says which files are sources of GPU code: keys and
// settings, for example, are never read for their lines. FromThisMachine says which requests are not from elsewhere.
//
// JSON and HTML need no function: encoding/json and internal/jsontext escape whatever they are given, and pages get their data as
// JSON. Cells of CSV are not changed for spreadsheets: docs/security.md says why.
package foreign

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain makes a text that every protocol takes: UTF-8 without control characters, of at most so many bytes.
func Plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > most {
		end := most - len("…")
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return text
}

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

// Printable returns a text as it may be sent to a terminal, in one line: characters that have no shape of their own are
// spelled out as Go and C spell them. Otherwise a name could move the cursor, rewrite the lines above it or turn the
// direction of the text around, and so decide what its reader sees.
func Printable(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return spelledOut(s)
		}
	}
	return s
}

func spelledOut(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		_, size, ok := printableRune(s[i:])
		if ok {
			b.WriteString(s[i : i+size])
		} else {
			b.WriteString(escaped(s[i : i+size]))
		}
		i += size
	}
	return b.String()
}

// escaped is a character, or one byte that is not UTF-8, as Go writes it in quotes.
func escaped(char string) string {
	quoted := strconv.QuoteToGraphic(char)
	return quoted[1 : len(quoted)-1]
}

// printableRune is the first character of a text, and whether it may be printed.
func printableRune(s string) (r rune, size int, ok bool) {
	r, size = utf8.DecodeRuneInString(s)
	return r, size, (r != utf8.RuneError || size > 1) && unicode.IsPrint(r)
}
