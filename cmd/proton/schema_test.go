package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/compare"
	"github.com/goproton/goproton/viewer/explain"
	"github.com/goproton/goproton/viewer/gate"
)

// What commands print as JSON is what their schemas say: no field is missing, and none is more than they say.
func TestOutputsFollowTheirSchemas(t *testing.T) {
	folder := t.TempDir()
	demo := filepath.Join(folder, "demo.hatchet")
	if err := writeDemo(folder, demo); err != nil {
		t.Fatal(err)
	}
	recorded := "../../viewer/testdata/recorded/"
	tree, timeline := recorded+"matmul.hatchet", recorded+"overlap.chrome_trace.gz"
	for _, c := range []struct {
		schema func() (*jsonschema.Schema, error)
		lines  [][]string
	}{
		{schemaOf[explain.Document], [][]string{{"explain", "--json", demo}, {"explain", "--json", tree}, {"explain", "--json", timeline}, {"explain", "--json", "missing.hatchet"}, {"explain", "--json"}, {"explain", "--json", "--nosuch", demo}}},
		{schemaOf[viewer.Document], [][]string{{"viewer", "--json", "-m", "util,bound,time", demo}, {"viewer", "--json", tree}, {"viewer", "--json", "--top", "3", timeline}, {"viewer", "--json", "missing.hatchet"}, {"viewer", "--view", "json"}, {"viewer", "--json", "-m", "nosuch", tree}}},
		{schemaOf[compare.Document], [][]string{{"diff", "--view", "json", tree, demo}, {"diff", "--json", "-m", "util,count", tree, tree}, {"diff", "--json", tree, "missing.hatchet"}, {"diff", "--view", "json", tree}}},
		{schemaOf[gate.Document], [][]string{{"gate", "--json", "--baseline", tree, "--", demo}, {"gate", "--json", "--baseline", tree, "--", "missing.hatchet"}, {"gate", "--json", tree}, {"gate", "--json", "--nosuch"}}},
	} {
		s, err := c.schema()
		if err != nil {
			t.Fatal(err)
		}
		strict, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range c.lines {
			var out bytes.Buffer
			subcommand(&out, io.Discard, words...) //nolint:errcheck // a failure is a document too
			var doc any
			if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
				t.Errorf("%v: %v", words, err)
			} else if err := strict.Validate(doc); err != nil {
				t.Errorf("%v: %v", words, err)
			}
			if object, is := doc.(map[string]any); is {
				delete(object, "schema")
				if strict.Validate(doc) == nil {
					t.Errorf("%v: a document without its schema's name is taken", words)
				}
			}
		}
	}
}

// Who knows only the schema of explain reads there what each field is.
func TestSchemaDescribesEveryField(t *testing.T) {
	s, err := schemaOf[explain.Document]()
	if err != nil {
		t.Fatal(err)
	}
	var describe func(at string, s *jsonschema.Schema)
	describe = func(at string, s *jsonschema.Schema) {
		for name, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("%s.%s has no description", at, name)
			}
			describe(at+"."+name, p)
		}
		if s.Items != nil {
			describe(at, s.Items)
		}
	}
	describe("explain", s)
}

// The published schema allows the fields of later versions.
func TestPublishedSchemasAllowMore(t *testing.T) {
	var out bytes.Buffer
	if err := printSchema[explain.Document](&out); err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	published, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	var text bytes.Buffer
	failed[explain.Document](explain.Schema, "f", jsontext.Diagnostic{Message: "gone"}).WriteJSON(&text, 0) //nolint:errcheck // a bytes.Buffer
	if err := json.Unmarshal(text.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	doc["new"] = 1
	if err := published.Validate(doc); err != nil {
		t.Error(err)
	}
}

// --json and --markdown give the rows of flat and bottom-up their form, as --view flat,json does.
func TestRowsHaveForms(t *testing.T) {
	tree := "../../viewer/testdata/recorded/matmul.hatchet"
	printed := func(words ...string) string {
		var out bytes.Buffer
		if err := subcommand(&out, io.Discard, append([]string{"viewer"}, append(words, tree)...)...); err != nil {
			t.Errorf("%v: %v", words, err)
		}
		return out.String()
	}
	for _, rows := range []string{"flat", "bottom-up"} {
		for _, form := range []string{"json", "markdown"} {
			if got, want := printed("--view", rows, "--"+form), printed("--view", rows+","+form); got != want || got == printed("--"+form) {
				t.Errorf("--view %s --%s differs from --view %s,%s, or is not of these rows", rows, form, rows, form)
			}
		}
	}
}
