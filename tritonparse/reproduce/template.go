package reproduce

import (
	"fmt"
	"regexp"
	"strings"
)

// fillCode fills the placeholders for texts that the template has outside of quotes: a name there must be a name in Python, and
// lines about the launch are written as comments.
func (w *work) fillCode(template string, quoted map[string]bool, texts map[string]string) (string, error) {
	var b strings.Builder
	end := 0
	for _, m := range place.FindAllStringSubmatchIndex(template, -1) {
		name, instead := submatch(template, m, 2)+submatch(template, m, 4), m[4] >= 0 // of a comment
		if !quoted[name] || !instead && inText(template, m[0]) {
			continue
		}
		var with string
		switch {
		case name == "REPRODUCER_METADATA_PLACEHOLDER" && instead:
			for _, line := range strings.Split(strings.TrimRight(w.metadata(), "\n"), "\n") {
				with += strings.TrimRight(submatch(template, m, 1)+"# "+inPythonQuotes(line), " ") + "\n"
			}
			with += submatch(template, m, 3)
		case name == "KERNEL_NAME_PLACEHOLDER" && !instead && isIdentifier(w.launch.Name):
			with = w.launch.Name
		default:
			return "", fmt.Errorf("template %s has {{%s}} outside of quotes, where %s would be code; put quotes around it", w.Template, name, pythonQuote(texts[name]))
		}
		b.WriteString(template[end:m[0]] + with)
		end = m[1]
	}
	return b.String() + template[end:], nil
}

// submatch returns the i-th group of a match, "" if the group did not match.
func submatch(text string, m []int, i int) string {
	if m[2*i] < 0 {
		return ""
	}
	return text[m[2*i]:m[2*i+1]]
}

// inText reports whether a place of a template is in a Python text or a comment. Texts with an f before them are code in part.
func inText(template string, at int) bool {
	for i := 0; i <= at; {
		next := skip(template, i)
		if at < next {
			before := template[:i]
			prefix := before[len(strings.TrimRight(before, "bBfFrRtTuU")):]
			return template[i] == '#' || strings.IndexByte("\"'", template[i]) >= 0 && !strings.ContainsAny(prefix, "fFtT")
		}
		i = next
	}
	return false
}

// coding is how a Python file says which encoding it has, in one of its first two lines.
var coding = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`)

// checkCoding refuses scripts in another encoding than UTF-8, in which bytes of a text could be a quote. A kernel's name can declare
// one if the template has it in a comment in its first lines.
func checkCoding(template, script string) error {
	for _, line := range strings.SplitN(script, "\n", 3)[:min(2, strings.Count(script, "\n"))] {
		if m := coding.FindStringSubmatch(line); m != nil && !strings.EqualFold(m[1], "utf-8") && !strings.EqualFold(m[1], "utf8") {
			return fmt.Errorf("a script of template %s would have the encoding %s: %q; write it in UTF-8, without a placeholder in a comment in its first two lines", template, m[1], line)
		}
	}
	return nil
}
