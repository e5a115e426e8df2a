package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
)

// What is written element by element is what an encoder writes of the whole, whatever texts are in it.
func TestWriteLists(t *testing.T) {
	type inner struct {
		Name string   `json:"name"`
		Rows []string `json:"rows"`
	}
	type outer struct {
		Text  string  `json:"text"`
		Lists []inner `json:"lists"`
		Rows  []any   `json:"rows"`
		Last  int     `json:"last"`
	}
	for _, n := range []int{0, 1, 3} {
		whole := outer{Text: `"rows": [] <x>`, Rows: []any{}}
		holed := outer{Text: whole.Text, Rows: []any{}}
		var lists []List
		for i := range n {
			rows := []string{}
			for range i {
				rows = append(rows, `"rows": []`)
			}
			whole.Lists = append(whole.Lists, inner{"a", rows})
			holed.Lists = append(holed.Lists, inner{"a", []string{}})
			lists = append(lists, List{"rows", len(rows), func(i int) any { return rows[i] }})
		}
		for i := range n {
			whole.Rows = append(whole.Rows, map[string]any{"n": i, "of": []int{n}})
		}
		lists = append(lists, List{"rows", n, func(i int) any { return whole.Rows[i] }})
		for _, indent := range []string{"  ", ""} {
			var got, want strings.Builder
			if err := WriteLists(&got, holed, indent, lists...); err != nil {
				t.Fatal(err)
			}
			encoder := json.NewEncoder(&want)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", indent)
			if encoder.Encode(whole); got.String() != want.String() {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want.String())
			}
			if err := WriteLists(&got, holed, indent, append(lists, List{Key: "rows"})...); err == nil {
				t.Error("a list without a place was lost")
			}
		}
	}
}
