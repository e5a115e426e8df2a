package push

import (
	"cmp"
	"encoding/hex"
	"strings"

	pprof "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/internal/version"
)

// encodeOTLP makes an opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest. The protocol is alpha.
// Series labels are attributes of the resource. A profile there has one sample type, so that each column of ours is a profile;
// they share their stacks.
func encodeOTLP(s Series) ([]byte, error) {
	d := newDictionary()
	stacks := make([]int32, len(s.Profile.Sample))
	for i, one := range s.Profile.Sample {
		stacks[i] = d.stack(one.Location)
	}
	var profiles []byte
	for column := range s.Profile.SampleType {
		profiles = message(profiles, 2, d.profile(&s, column, stacks))
	}
	var resource []byte
	for _, l := range s.Labels {
		resource = message(resource, 1, attribute(l.Name, l.Value))
	}
	return message(message(nil, 1, ofResource(resource, profiles)), 2, d.encode()), nil
}

// ofResource is a ResourceProfiles or a ResourceMetrics: a resource, and what it has.
func ofResource(resource, list []byte) []byte {
	scope := message(nil, 1, text(text(nil, 1, Name), 2, version.Number))
	return message(message(nil, 1, resource), 2, append(scope, list...))
}

// dictionary is what profiles of a request share. Element 0 of every table is empty and stands for "none".
type dictionary struct {
	strings                      []string
	byString                     map[string]int32
	functions, locations, stacks [][]byte
	byLocation                   map[*pprof.Location]int32
	byFunction                   map[*pprof.Function]int32
	byStack                      map[string]int32
}

func newDictionary() *dictionary {
	return &dictionary{strings: []string{""}, byString: map[string]int32{"": 0}, functions: [][]byte{nil}, locations: [][]byte{nil},
		stacks: [][]byte{nil}, byLocation: map[*pprof.Location]int32{}, byFunction: map[*pprof.Function]int32{}, byStack: map[string]int32{}}
}

// numbered is the number of what has a key in a table, which of makes the first time that it is needed.
func numbered[K comparable, T any](table *[]T, known map[K]int32, key K, of func() T) int32 {
	at, has := known[key]
	if !has {
		one := of()
		at = int32(len(*table))
		known[key] = at
		*table = append(*table, one)
	}
	return at
}

func (d *dictionary) text(s string) int32 {
	return numbered(&d.strings, d.byString, s, func() string { return s })
}

func (d *dictionary) function(f *pprof.Function) int32 {
	return numbered(&d.functions, d.byFunction, f, func() []byte {
		out := number(number(nil, 1, int64(d.text(f.Name))), 2, int64(d.text(f.SystemName)))
		return number(out, 3, int64(d.text(f.Filename)))
	})
}

func (d *dictionary) location(l *pprof.Location) int32 {
	return numbered(&d.locations, d.byLocation, l, func() (out []byte) {
		for _, line := range l.Line {
			out = message(out, 3, number(number(nil, 1, int64(d.function(line.Function))), 2, line.Line))
		}
		return out
	})
}

func (d *dictionary) stack(list []*pprof.Location) int32 {
	places := make([]int32, len(list))
	for i, l := range list {
		places[i] = d.location(l)
	}
	out := numbers(nil, 1, places...)
	return numbered(&d.stacks, d.byStack, string(out), func() []byte { return out })
}

// profile is one column of a series.
func (d *dictionary) profile(s *Series, column int, stacks []int32) []byte {
	p := s.Profile
	valueType := func(t *pprof.ValueType) []byte {
		return number(number(nil, 1, int64(d.text(t.Type))), 2, int64(d.text(t.Unit)))
	}
	out := message(nil, 1, valueType(p.SampleType[column]))
	for i, one := range p.Sample {
		if v := one.Value[column]; v != 0 {
			out = message(out, 2, numbers(number(nil, 1, int64(stacks[i])), 4, v))
		}
	}
	out = fixed(out, 3, uint64(p.TimeNanos))
	out = number(out, 4, p.DurationNanos)
	out = message(out, 5, valueType(p.SampleType[column])) // Pyroscope names the profile by the period's type
	out = number(out, 6, 1)
	id, _ := hex.DecodeString(strings.ReplaceAll(s.ID, "-", "")) //nolint:errcheck // we made it
	id[0] ^= byte(column)
	return message(out, 7, id)
}

func (d *dictionary) encode() []byte {
	out := message(nil, 1, nil) // no mapping
	for _, l := range d.locations {
		out = message(out, 2, l)
	}
	for _, f := range d.functions {
		out = message(out, 3, f)
	}
	out = message(out, 4, nil) // no link
	for _, s := range d.strings {
		out = protowire.AppendString(protowire.AppendTag(out, 5, protowire.BytesType), s)
	}
	out = message(out, 6, nil) // no attribute
	for _, s := range d.stacks {
		out = message(out, 7, s)
	}
	return out
}

// refusedOTLP reads an ExportProfilesServiceResponse: partial_success = 1 with rejected_profiles = 1 and error_message = 2.
func refusedOTLP(body []byte) string {
	rejected, reason := uint64(0), ""
	each(body, func(field protowire.Number, _ uint64, partial []byte) {
		if field != 1 {
			return
		}
		each(partial, func(field protowire.Number, v uint64, text []byte) {
			switch field {
			case 1:
				rejected = v
			case 2:
				reason = string(text)
			}
		})
	})
	if rejected == 0 {
		return ""
	}
	return cmp.Or(reason, "the server does not say why")
}

// each calls f for the fields of a message that are numbers or bytes, and stops at what cannot be read.
func each(b []byte, f func(field protowire.Number, v uint64, data []byte)) {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		var v uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return
		}
		b = b[n:]
		f(field, v, data)
	}
}
