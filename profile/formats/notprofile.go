package formats

import (
	"bytes"
	"strings"
)

// notProfiles lists kinds of files that users open with a profile viewer by mistake: their first bytes, what they are, and
// what to do instead.
var notProfiles = []struct{ magic, is, instead string }{
	{"\x7fELF", "a program or library (ELF)", "run it under proton run, and read the profile that writes"},
	{"SQLite format 3\x00", "an SQLite database, such as nsys export makes", "record the program with proton run: reports of Nsight hold no call paths to show"},
	{"PK\x03\x04", "a zip archive, such as torch.save makes", "unpack it if the profile is inside"},
	{"\x89PNG", "a picture (PNG)", ""},
	{"\xff\xd8\xff", "a picture (JPEG)", ""},
	{"%PDF-", "a PDF document", ""},
	{"BZh", "packed with bzip2", "unpack it first: bunzip2"},
	{"\xfd7zXZ\x00", "packed with xz", "unpack it first: unxz"},
	{"\x04\x22\x4d\x18", "packed with lz4", "unpack it first: unlz4"},
	{"\xff\xfe", "text in UTF-16, as > makes in PowerShell", "write the profile to the file itself instead of redirecting"},
	{"\xef\xbb\xbf", "text behind a byte order mark", "take away the first three bytes: tail -c +4"},
	{"#!", "a script", "run it under proton run, and read the profile that writes"},
	{`{"event_type"`, "a TritonParse trace", "read it with proton trace info FILE, or join it with a profile: proton viewer --trace FILE PROFILE"},
	{"PROTNCAP", "a recorded run", "play it: proton run --backend replay FILE, and read the profile that writes"},
	{"<", "a page of HTML or XML", "if it was downloaded, look at it: it may be an error page"},
}

// notProfile says what a file is whose first bytes are in notProfiles, and what to do instead; "" for all others.
func notProfile(head []byte) string {
	text := bytes.TrimLeft(head, space)
	for _, s := range notProfiles {
		if bytes.HasPrefix(head, []byte(s.magic)) || s.magic == "<" && bytes.HasPrefix(text, []byte(s.magic)) {
			return strings.TrimSuffix("it is "+s.is+"; "+s.instead, "; ")
		}
	}
	return ""
}
