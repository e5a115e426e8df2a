package goproton

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// place is a function as docs/architecture.md names it: `profiler/drain.go:collect`, `cupti/callback.c:cupti_on_callback`.
var place = regexp.MustCompile("`([a-z][a-z0-9_/]*\\.(?:go|c|h|py|js)):([A-Za-z_][A-Za-z0-9_.]*)`")

// lives are the headings below which architecture.md follows something through the code, function by function.
var lives = []string{"The life of one launch with scopes inside", "The life of one launch", "The life of one phase", "The life of one file", "The life of one traced launch", "The life of one sample", "The life of a number on the screen"}

// TestArchitectureNamesWhatIsThere finds every function that docs/architecture.md names in the file that it names, so that
// "go to definition" leads through each life.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range place.FindAllStringSubmatch(string(text), -1) {
		if err := defines(m[1], m[2]); err != "" {
			t.Errorf("docs/architecture.md names %s:%s: %s; say where it is now", m[1], m[2], err)
		}
	}
	for _, life := range lives {
		_, section, found := strings.Cut(string(text), "\n## "+life+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !found {
			t.Errorf("docs/architecture.md has no section %q", life)
		} else if n := len(place.FindAllString(section, -1)); n < 5 {
			t.Errorf("%s names %d functions in the form `file:function`; a reader cannot follow it", life, n)
		}
	}
}

// TestArchitectureListsControlMethods compares the table of control methods with those that profiler/control and tritonparse/record
// have.
func TestArchitectureListsControlMethods(t *testing.T) {
	page := testkit.Read(t, "docs/architecture.md")
	_, table, _ := strings.Cut(page, "\nControl methods, each")
	table, _, _ = strings.Cut(table, "\n\nAn error is")
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|").FindAllStringSubmatch(table, -1) {
		listed[m[1]] = false
	}
	for file, method := range map[string]string{"profiler/control/control.go": `(?m)^\t"([a-z_.]+)":`, "tritonparse/record/service.go": `"(trace\.[a-z]+)"`} {
		for _, m := range regexp.MustCompile(method).FindAllStringSubmatch(testkit.Read(t, file), -1) {
			if _, found := listed[m[1]]; !found {
				t.Errorf("%s has the control method %s, which docs/architecture.md does not list: add a row", file, m[1])
			}
			listed[m[1]] = true
		}
	}
	for name, found := range listed {
		if !found {
			t.Errorf("docs/architecture.md lists the control method %s, which nothing has", name)
		}
	}
}

// defines says why a file does not define a function, type or variable; "" if it does.
func defines(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	last := name[strings.LastIndex(name, ".")+1:] // Type.Method
	pattern := map[string]string{
		"go": `(?m)^func (\([^)]*\) )?` + last + `\b|^(type|var|const) ` + last + `\b|^\t` + last + `\b.*[=({]`,
		"c":  `(?m)^[A-Za-z_].*\b` + last + `\b`,
		"h":  `(?m)^[A-Za-z_#].*\b` + last + `\b|^\s.*\(\*` + last + `\)`,
		"py": `(?m)^\s*(async )?(def|class) ` + last + `\b`,
		"js": `(?m)^\s*(async )?(function |class )?` + last + `\b.*\{`,
	}[file[strings.LastIndex(file, ".")+1:]]
	if !regexp.MustCompile(pattern).Match(text) {
		return "the file does not define it"
	}
	return ""
}
