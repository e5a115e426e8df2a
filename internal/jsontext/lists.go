package jsontext

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// List are the elements of a list that is too long to be in memory as text.
type List struct {
	Key string
	Len int
	At  func(i int) any // of an element, which is encoded as it is written
}

// Encode writes a value as JSON in one line, with the < and > of C++ names as they are.
func Encode(v any) ([]byte, error) {
	var text bytes.Buffer
	err := encoder(&text, "").Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// Write writes a document with an indent, "" for one line.
func Write(w io.Writer, v any, indent string) error { return encoder(w, indent).Encode(v) }

func encoder(w io.Writer, indent string) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e
}

// WriteLists writes a document as Write does, in which the elements of some lists are encoded one by one. In v these lists are empty; they
// are given in the order of the text. A text within v cannot be taken for one, since its quotes are escaped.
func WriteLists(w io.Writer, v any, indent string, lists ...List) error {
	var text bytes.Buffer
	encoder := encoder(&text, indent)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	rest := bytes.Clone(text.Bytes())
	colon, newline := `": [`, "\n"
	if indent == "" {
		colon, newline = `":[`, ""
	}
	out := bufio.NewWriter(w)
	for _, list := range lists {
		before, after, found := bytes.Cut(rest, []byte(`"`+list.Key+colon+"]"))
		if !found {
			return fmt.Errorf("write JSON: there is no empty list %q for its elements", list.Key)
		}
		rest = after
		line := before[bytes.LastIndexByte(before, '\n')+1:]
		outer := string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
		out.Write(before)
		out.WriteString(`"` + list.Key + colon)
		encoder.SetIndent(outer+indent, indent)
		for i := range list.Len {
			text.Reset()
			if err := encoder.Encode(list.At(i)); err != nil {
				return err
			}
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(newline + outer + indent)
			out.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
		}
		if list.Len > 0 {
			out.WriteString(newline + outer)
		}
		out.WriteByte(']')
	}
	out.Write(rest)
	return out.Flush()
}
