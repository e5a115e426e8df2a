package control

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/testkit"
)

// TestDocumentedParameters compares the parameters of each method with the table in the documentation.
func TestDocumentedParameters(t *testing.T) {
	for name, m := range methods {
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(name) + "` \\| ([^|]*)\\|").FindStringSubmatch(testkit.Read(t, "../../docs/lives/seams.md"))
		if row == nil {
			t.Errorf("there is no row of %s", name)
			continue
		}
		if name == "check" { // "those of start"
			continue
		}
		var listed []string
		names, _, _ := strings.Cut(row[1], ":") // what they are for
		for _, words := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(names, -1) {
			listed = append(listed, strings.Fields(words[1])...)
		}
		takes := parameters(reflect.TypeOf(m.takes))
		if slices.Sort(listed); !slices.Equal(listed, takes) {
			t.Errorf("%s takes %q, and docs/lives/seams.md lists %q", name, takes, listed)
		}
	}
}

// parameters are the names in JSON of a structure's members, sorted.
func parameters(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		switch f := of.Field(i); {
		case f.Type == reflect.TypeFor[runinfo.Session]():
			names = append(names, "runinfo.Session")
		case f.Anonymous:
			names = append(names, parameters(f.Type)...)
		default:
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestParametersThatCannotBeRead are an error that names the method.
func TestParametersThatCannotBeRead(t *testing.T) {
	if got := string(New().Call("data.get", []byte(`{"phase":"x"}`))); !strings.Contains(got, `"ValueError"`) || !strings.Contains(got, "read the arguments of data.get: ") {
		t.Error(got)
	}
	if got := string(New().Call("start", []byte(`{"name":3}`))); !strings.Contains(got, "read the arguments of start: name cannot be a JSON number\"") {
		t.Error(got)
	}
}
