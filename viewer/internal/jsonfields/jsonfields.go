// Package jsonfields tells tests the names that a document for programs may have, so that its page can be held against them.
package jsonfields

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Of are the names of all members of a type and of what it holds, each once, in the order of the alphabet.
func Of(document any) []string {
	names := map[string]bool{}
	collect(reflect.TypeOf(document), names, map[reflect.Type]bool{})
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func collect(t reflect.Type, names map[string]bool, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names[name] = true
		}
		collect(f.Type, names, seen)
	}
}

// Missing are the names that a page does not have in code marks, by themselves or at the end of a path: `a[].b`, `b[]`.
func Missing(document any, page string) (missing []string) {
	for _, name := range Of(document) {
		if !regexp.MustCompile("[`.]" + regexp.QuoteMeta(name) + "(?:\\[\\])?`").MatchString(page) {
			missing = append(missing, name)
		}
	}
	return missing
}
