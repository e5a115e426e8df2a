package main

import (
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer/explain"
	"github.com/goproton/goproton/viewer/gate"
)

// written are types whose JSON does not follow from their kind.
var written = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[figures.JSON]():       {Types: []string{"number", "null"}},
	reflect.TypeFor[gate.Outcome]():       {Type: "string"},
	reflect.TypeFor[explain.Confidence](): {Type: "string", Enum: []any{"low", "medium", "high"}},
}

// schemaOf derives the JSON Schema of a document from its Go type.
func schemaOf[T any]() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: written})
	if err != nil {
		return nil, err
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	return s, nil
}

// withSchema gives a command the flag --schema, which prints the schema of what the command prints as JSON, and reads nothing. A failure
// is printed as JSON too, unless the layout has no name: then the command does so.
func withSchema[T any](cmd *cobra.Command, layout string) {
	asked, arguments, run := false, cmd.Args, cmd.RunE
	cmd.Flags().BoolVar(&asked, "schema", false, "print the JSON Schema of the JSON that the command prints, and read nothing")
	explained := func(cmd *cobra.Command, args []string, err error) error {
		if why := reason(err); why != nil && layout != "" && asksForJSON(cmd.Flags()) {
			doc := failed[T](layout, strings.Join(args, " "), jsontext.Diagnostic{Message: why.Error(), Next: cmd.CommandPath() + " --help"})
			if wrong := jsontext.Write(term.Raw(cmd.OutOrStdout()), doc, ""); wrong != nil {
				return wrong
			}
		}
		return err
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return explained(cmd, nil, cmd.Parent().FlagErrorFunc()(cmd, err))
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if asked || arguments == nil {
			return nil
		}
		return explained(cmd, args, arguments(cmd, args))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if asked {
			return printSchema[T](cmd.OutOrStdout())
		}
		return explained(cmd, args, run(cmd, args))
	}
}

// reason is what an error says, nil if it is an exit code alone: of a gate that failed, for example, whose report has been printed.
func reason(err error) error {
	if exit, is := errors.AsType[*exitError](err); is {
		return exit.err
	}
	return err
}

// asksForJSON says whether a command prints JSON to standard output. Behind a wrong flag, others have not been read.
func asksForJSON(flags *pflag.FlagSet) bool {
	is := func(name string, values ...string) bool {
		f := flags.Lookup(name)
		return f != nil && slices.Contains(values, f.Value.String())
	}
	return is("json", "true", "-") || is("view", "json") || slices.Contains(os.Args, "--json")
}

// failed is a document without contents, which says why.
func failed[T any](layout, profile string, why jsontext.Diagnostic) *T {
	doc := new(T)
	v := reflect.ValueOf(doc).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
		}
	}
	v.FieldByName("Schema").SetString(layout)
	v.FieldByName("Errors").Set(reflect.ValueOf([]jsontext.Diagnostic{why}))
	if f := v.FieldByName("Profile"); f.IsValid() {
		f.SetString(profile)
	}
	return doc
}

// printSchema prints it. Other fields are allowed, because later versions add some.
func printSchema[T any](w io.Writer) error {
	s, err := schemaOf[T]()
	if err != nil {
		return err
	}
	open(s)
	return jsontext.Write(term.Raw(w), s, "  ")
}

// open allows further fields in all objects of a schema.
func open(s *jsonschema.Schema) {
	if len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		open(p)
	}
	if s.Items != nil {
		open(s.Items)
	}
}
