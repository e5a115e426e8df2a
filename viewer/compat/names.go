package compat

import (
	"fmt"
	"strings"
)

// NameFormat is how frame names are shortened. The rules are proton-viewer's and apply to every name, as it
// does; they mean something for names of the form /path/file:line@function.
type NameFormat string

// The formats. The empty one is FullName.
const (
	FullName         NameFormat = "full"
	FileFunctionLine NameFormat = "file_function_line" // file:line@function
	FunctionLine     NameFormat = "function_line"      // line@function
	FileFunction     NameFormat = "file_function"      // file@function
)

func (t *table) formatNames(f NameFormat) error {
	var shorten func(name string) string
	switch f {
	case "", FullName:
		return nil
	case FileFunctionLine:
		shorten = func(name string) string { return afterLast(name, "/") }
	case FunctionLine:
		shorten = func(name string) string { return afterLast(name, ":") }
	case FileFunction:
		shorten = func(name string) string {
			return before(afterLast(name, "/"), ":") + "@" + before(afterLast(name, "@"), ":")
		}
	default:
		return fmt.Errorf("format names as %q: no such format; use full, file_function_line, function_line or file_function", f)
	}
	t.each(func(r *row) { r.name = shorten(r.name) })
	return nil
}

func afterLast(s, mark string) string { return s[strings.LastIndex(s, mark)+1:] }

func before(s, mark string) string {
	first, _, _ := strings.Cut(s, mark)
	return first
}
