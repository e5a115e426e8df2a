package listing

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fieldsOf are the names of all members of a type and of what it holds, each once, in the order of the alphabet.
func fieldsOf(document any) []string {
	names := map[string]bool{}
	collectFields(reflect.TypeOf(document), names, map[reflect.Type]bool{})
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func collectFields(t reflect.Type, names map[string]bool, seen map[reflect.Type]bool) {
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
		collectFields(f.Type, names, seen)
	}
}

// undocumented are the names that a page does not have in code marks, by themselves or at the end of a path: `a[].b`, `b[]`.
func undocumented(document any, page string) (missing []string) {
	for _, name := range fieldsOf(document) {
		if !regexp.MustCompile("[`.]" + regexp.QuoteMeta(name) + "(?:\\[\\])?`").MatchString(page) {
			missing = append(missing, name)
		}
	}
	return missing
}

func TestDocumentsAreDocumented(t *testing.T) {
	for page, document := range map[string]any{"../../docs/sampling.md": jsonDocument{}, "../../docs/tritonparse.md": joinedDocument{}} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if missing := undocumented(document, string(text)); len(missing) > 0 {
			t.Errorf("%s does not say what these are: %q", page, missing)
		}
	}
}

type inner struct {
	A int `json:"a,omitempty"`
}

type outer struct {
	inner
	B []inner           `json:"b"`
	C map[string]*outer `json:"c"`
	D int               `json:"-"`
	E *inner            `json:"e"`
}

func TestFields(t *testing.T) {
	if got := fieldsOf(&outer{}); !slices.Equal(got, []string{"a", "b", "c", "e"}) {
		t.Errorf("%q", got)
	}
	if got := undocumented(outer{}, "| `b[].a` | and `c` |"); !slices.Equal(got, []string{"b", "e"}) {
		t.Errorf("missing %q", got)
	}
}
