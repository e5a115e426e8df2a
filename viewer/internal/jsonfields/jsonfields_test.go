package jsonfields

import (
	"slices"
	"testing"
)

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
	if got := Of(&outer{}); !slices.Equal(got, []string{"a", "b", "c", "e"}) {
		t.Errorf("%q", got)
	}
	if got := Missing(outer{}, "| `b[].a` | and `c` |"); !slices.Equal(got, []string{"b", "e"}) {
		t.Errorf("missing %q", got)
	}
}
