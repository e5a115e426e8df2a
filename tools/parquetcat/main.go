// Command parquetcat prints a Parquet file for tests, as parquet-go reads it: the schema as a text, then each row as an object that
// has, by the path of a column, the values of its entries; null is an entry without.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"
)

func main() {
	if err := run(os.Args[1], json.NewEncoder(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "parquetcat:", err)
		os.Exit(1)
	}
}

func run(path string, out *json.Encoder) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return err
	}
	facts := map[string]string{}
	for _, pair := range file.Metadata().KeyValueMetadata {
		facts[pair.Key] = pair.Value
	}
	if err := out.Encode(map[string]any{"schema": file.Schema().String(), "rows": file.NumRows(), "facts": facts}); err != nil {
		return err
	}
	var names []string
	for _, column := range file.Schema().Columns() {
		names = append(names, strings.Join(column, "."))
	}
	for _, group := range file.RowGroups() {
		if err := each(group, names, out); err != nil {
			return err
		}
	}
	return nil
}

func each(group parquet.RowGroup, names []string, out *json.Encoder) error {
	rows := group.Rows()
	defer rows.Close()
	buffer := make([]parquet.Row, 100)
	for {
		n, err := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			entries := map[string][]any{}
			for _, v := range row {
				name := names[v.Column()]
				entries[name] = append(entries[name], plain(v))
			}
			if err := out.Encode(entries); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// plain is a value as JSON has it. Whole numbers are texts, because JSON's readers may round them.
func plain(v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.Int64:
		return fmt.Sprint(v.Int64())
	case v.Kind() == parquet.Double:
		return v.Double()
	}
	return string(v.ByteArray())
}
