package term

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"
)

// Names keep their meaning, and cannot end a cell, a row or the table.
func TestMarkdownKeepsNames(t *testing.T) {
	names := []string{"a|b", "x\ny", "`code`", "<script>alert(1)</script>", "@user *bold* _it_ ~~no~~", "[link](http://x)", `back\slash|`, "$math$", "&amp;", "void f<int*>(T&)[8]"}
	table := Markdown{Heads: []string{"time", "frame"}, Left: []bool{false, true}}
	for depth, name := range names {
		table.Rows = append(table.Rows, []string{"1", MarkdownTree(depth, name)})
	}
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != len(names)+2 || lines[1] != "|--:|---|" {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	for i, line := range lines[2:] {
		if strings.Count(line, "|") != 3 || regexp.MustCompile("[`*_~\\[@$\\\\]").MatchString(line) {
			t.Errorf("%q is not only a row", line)
		}
		code := regexp.MustCompile("<code>(.*)</code>").FindStringSubmatch(line)
		if got, want := html.UnescapeString(code[1]), strings.ReplaceAll(names[i], "\n", " "); got != Printable(want) && got != Printable(names[i]) {
			t.Errorf("%q is rendered as %q", names[i], got)
		}
	}
}
