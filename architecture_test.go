package goproton

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// place is a function as a page of docs/lives names it: `profiler/drainer.go:drain`, `cupti/callback.c:cupti_on_callback`.
var place = regexp.MustCompile("`([a-z][a-z0-9_/]*\\.(?:go|c|h|py|js)):([A-Za-z_][A-Za-z0-9_.]*)`")

// named is a name as a page of docs/lives has it, such as `Tree.addInside` or `pywalk.c`; folder a path, such as `gpu/peaks`.
var (
	named  = regexp.MustCompile("`([A-Za-z_][A-Za-z0-9_]*(?:\\.[A-Za-z_][A-Za-z0-9_]*)*)(?:\\(\\))?`")
	folder = regexp.MustCompile("`((?:cmd|cupti|docs|export|gpu|hooks|hotpath|internal|profile|profiler|replay|roctracer|tools|tritonparse|viewer)/[A-Za-z0-9_./-]+)`")
)

// sourceWords are all words of the sources but of comments and tests, and the names of files.
func sourceWords(t *testing.T) map[string]bool {
	word, comment := regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`), regexp.MustCompile(`(?m)(^|\s)(//|#\s).*$`)
	known := map[string]bool{}
	for _, file := range sources(t, ".go", ".c", ".h", ".py", ".js", ".sh") {
		known[filepath.Base(file)] = true
		text := comment.ReplaceAllString(testkit.Read(t, file), "")
		if strings.HasSuffix(file, "_test.go") { // only what it declares
			text = strings.Join(regexp.MustCompile(`(?m)^(?:func|type|var|const) (?:\([^)]*\) )?\w+|^\t\w+ += `).FindAllString(text, -1), "\n")
		}
		for _, w := range word.FindAllString(text, -1) {
			known[w] = true
		}
	}
	return known
}

// TestLivesNameWhatIsThere finds every function that docs/lives names in the file that it names, so that "go to definition" leads
// through each life, every other name in some source, every path, and docs/architecture.md's link to each page.
func TestLivesNameWhatIsThere(t *testing.T) {
	pages, err := filepath.Glob("docs/lives/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	overview, known := testkit.Read(t, "docs/architecture.md"), sourceWords(t)
	for _, page := range pages {
		if !strings.Contains(overview, "("+strings.TrimPrefix(page, "docs/")+")") {
			t.Errorf("docs/architecture.md does not link to %s", page)
		}
		text := testkit.Read(t, page)
		places := place.FindAllStringSubmatch(text, -1)
		for _, m := range places {
			if err := defines(m[1], m[2]); err != "" {
				t.Errorf("%s names %s:%s: %s; say where it is now", page, m[1], m[2], err)
			}
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if name := m[1][strings.LastIndex(m[1], ".")+1:]; !known[name] && !known[m[1]] {
				t.Errorf("%s names %s, which is in no source: say what it is called now", page, m[1])
			}
		}
		for _, m := range folder.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names a path that is not there: %v", page, err)
			}
		}
		if strings.HasPrefix(text, "# The life of ") && len(places) < 5 {
			t.Errorf("%s names %d functions in the form `file:function`; a reader cannot follow it", page, len(places))
		}
	}
}

// TestLengthsOfPages keeps the pages short that grow by themselves.
func TestLengthsOfPages(t *testing.T) {
	for page, limit := range map[string]struct {
		lines int
		why   string
	}{
		"docs/architecture.md": {150, "a newcomer reads no more; move what follows one thing through the code to docs/lives"},
		"docs/performance.md":  {300, "it has one table for each claim, with its newest figures; earlier runs are in git"},
	} {
		if n := strings.Count(testkit.Read(t, page), "\n"); n > limit.lines {
			t.Errorf("%s has %d lines, at most %d: %s", page, n, limit.lines, limit.why)
		}
	}
}

// TestPromisedPackages compares CONTRIBUTING.md's list of the Go packages whose API is promised with the comments of all packages, and
// wants an example in each that has more than a registration.
func TestPromisedPackages(t *testing.T) {
	_, table, _ := strings.Cut(testkit.Read(t, "CONTRIBUTING.md"), "\n## What is promised\n")
	table, _, _ = strings.Cut(table, "\n## ")
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(table, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			listed[strings.Trim(name, "`")] = true
		}
	}
	if len(listed) < 5 {
		t.Fatalf("CONTRIBUTING.md lists %v as promised", listed)
	}
	comment := regexp.MustCompile(`(?s)// Package .*promised, see CONTRIBUTING\.md.*\npackage `)
	for _, p := range list(t, nil, "./...") {
		says, example := false, false
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text := testkit.Read(t, file)
			says = says || comment.MatchString(text)
			example = example || strings.HasSuffix(file, "_test.go") && strings.Contains(text, "\nfunc Example")
		}
		name := inModule(p.ImportPath)
		if says != listed[name] {
			t.Errorf("%s: its comment says that it is promised: %v; CONTRIBUTING.md lists it: %v", name, says, listed[name])
		}
		if listed[name] && !example && name != "cupti" && name != "roctracer" {
			t.Errorf("%s is promised and has no Example: show how a program uses it", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("CONTRIBUTING.md lists %s, and no package has this path", name)
	}
}

// TestSeamsListControlMethods compares the table of control methods with those that profiler/control and tritonparse/record
// have.
func TestSeamsListControlMethods(t *testing.T) {
	page := testkit.Read(t, "docs/lives/seams.md")
	_, table, _ := strings.Cut(page, "\nControl methods, each")
	table, _, _ = strings.Cut(table, "\n\nAn error is")
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|").FindAllStringSubmatch(table, -1) {
		listed[m[1]] = false
	}
	for file, method := range map[string]string{"profiler/control/control.go": `(?m)^\t"([a-z_.]+)":`, "tritonparse/record/service.go": `"(trace\.[a-z]+)"`} {
		for _, m := range regexp.MustCompile(method).FindAllStringSubmatch(testkit.Read(t, file), -1) {
			if _, found := listed[m[1]]; !found {
				t.Errorf("%s has the control method %s, which docs/lives/seams.md does not list: add a row", file, m[1])
			}
			listed[m[1]] = true
		}
	}
	for name, found := range listed {
		if !found {
			t.Errorf("docs/lives/seams.md lists the control method %s, which nothing has", name)
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
