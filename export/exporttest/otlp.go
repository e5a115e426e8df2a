package exporttest

import (
	"fmt"
	"net/http"

	pprof "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// otlp takes an ExportProfilesServiceRequest. Profiles of one sample type each are joined by scope, as a backend does.
func (s *Server) otlp(w http.ResponseWriter, _ *http.Request, body []byte) {
	all, why := DecodeOTLP(body)
	if why != "" {
		refuse(w, http.StatusBadRequest, "%s", why)
		return
	}
	s.keep(all)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// DecodeOTLP reads a request. Field numbers are those of OpenTelemetry's published schema; TestSchemas compares them.
func DecodeOTLP(body []byte) (all []Stored, why string) {
	request := Fields(body)
	if len(request[2]) != 1 {
		return nil, "no dictionary"
	}
	d, why := readDictionary(request[2][0])
	if why != "" {
		return nil, why
	}
	for _, resource := range request[1] {
		fields := Fields(resource)
		labels := map[string]string{}
		for _, r := range fields[1] {
			for _, attribute := range Fields(r)[1] {
				f := Fields(attribute)
				labels[First(f[1])] = First(Fields(f[2][0])[1])
			}
		}
		labels["service_name"] = labels["service.name"]
		for _, scope := range fields[2] {
			for _, profile := range Fields(scope)[2] {
				p, why := d.profile(profile)
				if why != "" {
					return nil, why
				}
				all = append(all, Stored{Labels: labels, Profile: p})
			}
		}
	}
	return all, ""
}

type dictionary struct {
	locations, functions [][]byte
	strings              [][]byte
	stacks               [][]byte
}

func readDictionary(b []byte) (*dictionary, string) {
	f := Fields(b)
	d := &dictionary{f[2], f[3], f[5], f[7]}
	for field, name := range []string{"mapping", "location", "function", "link", "string", "attribute", "stack"} {
		table := f[protowire.Number(field+1)]
		if len(table) == 0 || len(table[0]) > 0 {
			return nil, "element 0 of table " + name + " is not empty"
		}
	}
	return d, ""
}

// scalar returns a number of a message, and list the numbers of a packed field.
func scalar(b []byte, want protowire.Number) int64 {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0
		}
		b = b[n:]
		if field == want && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(b)
			return int64(v)
		}
		if field == want && kind == protowire.Fixed64Type {
			v, _ := protowire.ConsumeFixed64(b)
			return int64(v)
		}
		if n = protowire.ConsumeFieldValue(field, kind, b); n < 0 {
			return 0
		}
		b = b[n:]
	}
	return 0
}

func list(b []byte) (out []int64) {
	for len(b) > 0 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil
		}
		out = append(out, int64(v))
		b = b[n:]
	}
	return out
}

func (d *dictionary) text(at int64) string {
	if at < 0 || at >= int64(len(d.strings)) {
		return fmt.Sprintf("<string %d of %d>", at, len(d.strings))
	}
	return string(d.strings[at])
}

func (d *dictionary) valueType(b []byte) *pprof.ValueType {
	return &pprof.ValueType{Type: d.text(scalar(b, 1)), Unit: d.text(scalar(b, 2))}
}

func (d *dictionary) profile(b []byte) (*pprof.Profile, string) {
	f := Fields(b)
	if len(f[1]) != 1 || len(f[7]) != 1 || len(f[7][0]) != 16 {
		return nil, "a profile without a type, or without an id of 16 bytes"
	}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{d.valueType(f[1][0])}, TimeNanos: scalar(b, 3), DurationNanos: scalar(b, 4)}
	for _, sample := range f[2] {
		values := list(Fields(sample)[4][0])
		stack := scalar(sample, 1)
		if len(values) != 1 || stack <= 0 || stack >= int64(len(d.stacks)) {
			return nil, fmt.Sprintf("a sample with stack %d of %d and values %v", stack, len(d.stacks), values)
		}
		one := &pprof.Sample{Value: values}
		for _, at := range list(Fields(d.stacks[stack])[1][0]) {
			if at <= 0 || at >= int64(len(d.locations)) {
				return nil, fmt.Sprintf("a stack with location %d of %d", at, len(d.locations))
			}
			l := &pprof.Location{}
			for _, line := range Fields(d.locations[at])[3] {
				n := scalar(line, 1)
				if n <= 0 || n >= int64(len(d.functions)) {
					return nil, fmt.Sprintf("a line with function %d of %d", n, len(d.functions))
				}
				l.Line = append(l.Line, pprof.Line{Line: scalar(line, 2), Function: &pprof.Function{Name: d.text(scalar(d.functions[n], 1))}})
			}
			one.Location = append(one.Location, l)
		}
		p.Sample = append(p.Sample, one)
	}
	return p, ""
}
