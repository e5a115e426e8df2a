package formats_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// raw is JSON as it is written.
type raw string

// object is a JSON object of keys and values in this order. Values that are nil are left out.
func object(pairs ...any) raw {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == nil {
			continue
		}
		sep := ", "
		if b.Len() == 0 {
			sep = "{"
		}
		fmt.Fprintf(&b, "%s%s: %s", sep, value(pairs[i]), value(pairs[i+1]))
	}
	if b.Len() == 0 {
		return "{}"
	}
	return raw(b.String() + "}")
}

func value(v any) raw {
	if r, is := v.(raw); is {
		return r
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw(text)
}

// list is a JSON array with a value on each line.
func list(values []raw) raw {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		b.WriteString(string(v))
	}
	return raw("[" + b.String() + "\n]")
}

// micros are decimal microseconds with as many digits after the point as are needed, at most three.
func micros(ns int64) raw {
	text := fmt.Sprintf("%d.%03d", ns/1000, ns%1000)
	return raw(strings.TrimRight(strings.TrimRight(text, "0"), "."))
}
