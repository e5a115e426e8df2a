package merge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// cloned is a value that shares no memory with the profile it comes from.
func cloned(v profile.Value) profile.Value {
	switch v.Type() {
	case profile.String:
		return profile.StringValue(strings.Clone(v.Str()))
	case profile.Ints:
		return profile.IntsValue(slices.Clone(v.Ints()))
	case profile.Floats:
		return profile.FloatsValue(slices.Clone(v.Floats()))
	}
	return v
}

func same(a, b profile.Value) bool {
	return a.Type() == b.Type() && (a.Type() == profile.String && a.Str() == b.Str() || text(a) == text(b))
}

// text is how a value looks among the distinct values of a property.
func text(v profile.Value) string {
	switch v.Type() {
	case profile.String:
		return v.Str()
	case profile.Int:
		return strconv.FormatInt(v.Int(), 10)
	case profile.Float:
		f, _ := v.Float()
		return strconv.FormatFloat(f, 'g', -1, 64)
	case profile.Ints:
		return fmt.Sprint(v.Ints())
	}
	return fmt.Sprint(v.Floats())
}

// spread is the set of distinct texts that something had. It keeps the first spreadLimit of them in sorted order,
// which merges the same way in any order; "…" then stands for the others.
type spread struct {
	values []string
	more   bool
}

const (
	spreadLimit = 16
	separator   = " | " // commas are frequent in values
	andMore     = "…"
)

// addText adds a value, or the values of a spread that was written out before.
func (s *spread) addText(t string) {
	for _, v := range strings.Split(t, separator) {
		if v == andMore {
			s.more = true
			continue
		}
		at, found := slices.BinarySearch(s.values, v)
		switch {
		case found:
			continue
		case at >= spreadLimit:
			s.more = true
			continue
		}
		s.values = slices.Insert(s.values, at, strings.Clone(v))
		if len(s.values) > spreadLimit {
			s.values, s.more = s.values[:spreadLimit], true
		}
	}
}

func (s *spread) String() string {
	t := strings.Join(s.values, separator)
	if s.more {
		t += separator + andMore
	}
	return t
}
