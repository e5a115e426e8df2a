package main

import (
	"io"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

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

// withSchema gives a command the flag --schema, which prints the schema of what the command prints as JSON, and reads nothing.
func withSchema[T any](cmd *cobra.Command) {
	asked, arguments, run := false, cmd.Args, cmd.RunE
	cmd.Flags().BoolVar(&asked, "schema", false, "print the JSON Schema of the JSON that the command prints, and read nothing")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if asked || arguments == nil {
			return nil
		}
		return arguments(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if asked {
			return printSchema[T](cmd.OutOrStdout())
		}
		return run(cmd, args)
	}
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
