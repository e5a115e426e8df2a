package perfetto

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/number"
)

// annotation reads one argument of an event; of others' we know no names.
func (d *reader) annotation(state *sequenceState, e *event, message []byte) error {
	var key string
	err := fields(message, func(f field) error {
		switch f.number {
		case annotationNameIID:
			key = state.keys[f.v]
		case annotationName:
			key = d.text(f.b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch key {
	case keyCallStack:
		e.path, err = d.callStack(state, message)
	case keyScope, keyCorrelation:
		err = fields(message, func(f field) error {
			if f.number == annotationUint || f.number == annotationInt {
				e.id = f.v
			}
			return nil
		})
	case keyLaunch:
		e.launch.ID, err = d.annotatedText(state, message)
	case keyHash:
		e.launch.Hash, err = d.annotatedText(state, message)
	case keyBytes:
		e.bytes, e.hasBytes, err = d.value(state, message)
	case keyMetrics:
		err = d.metrics(state, e, message)
	}
	return err
}

// annotatedText reads the value of an annotation that is a text; "" for another.
func (d *reader) annotatedText(state *sequenceState, message []byte) (string, error) {
	v, _, err := d.value(state, message)
	if v.Type() != profile.String {
		return "", err
	}
	return v.Str(), err
}

// callStack reads a call path. Equal ones are the same bytes as long as their frames have the same numbers.
func (d *reader) callStack(state *sequenceState, message []byte) ([]string, error) {
	if known, found := state.stacks[string(message)]; found {
		return known, nil
	}
	var path []string
	err := fields(message, func(f field) error {
		if f.number != annotationArray {
			return nil
		}
		return fields(f.b, func(f field) error {
			switch f.number {
			case annotationStringIID:
				path = append(path, state.texts[f.v])
			case annotationString:
				path = append(path, d.text(f.b))
			}
			return nil
		})
	})
	if err != nil || len(path) == 0 {
		return nil, err
	}
	path = d.samePath(path)
	state.stacks[string(message)] = path
	return path, nil
}

// samePath returns the one copy of a call path.
func (d *reader) samePath(path []string) []string {
	d.key = d.key[:0]
	for _, frame := range path {
		d.key = protowire.AppendString(d.key, frame)
	}
	if known, found := d.paths[string(d.key)]; found {
		return known
	}
	d.paths[string(d.key)] = path
	return path
}

func (d *reader) metrics(state *sequenceState, e *event, message []byte) error {
	return fields(message, func(f field) error {
		if f.number != annotationDict || len(e.metrics) >= profile.MaxMetrics {
			return nil
		}
		var name string
		err := fields(f.b, func(f field) error {
			switch f.number {
			case annotationNameIID:
				name = state.keys[f.v]
			case annotationName:
				name = d.text(f.b)
			}
			return nil
		})
		if err != nil {
			return err
		}
		v, ok, err := d.value(state, f.b)
		if ok && !slices.ContainsFunc(e.metrics, func(m profile.Metric) bool { return m.Name == name }) {
			e.metrics = append(e.metrics, profile.Metric{Name: name, Value: v})
		}
		return err
	})
}

// value reads the value of an annotation: a number, a text, or a list of numbers. One without a value is an empty list.
func (d *reader) value(state *sequenceState, message []byte) (v profile.Value, ok bool, err error) {
	var list number.Vector
	unsigned := func(n uint64) profile.Value {
		v, rounded := number.OfUint(n)
		if rounded {
			d.rounded++
		}
		return v
	}
	scalar := false
	err = fields(message, func(f field) error {
		switch f.number {
		case annotationUint:
			v, scalar = unsigned(f.v), true
		case annotationBool, annotationInt:
			v, scalar = profile.IntValue(int64(f.v)), true
		case annotationDouble:
			v, scalar = profile.FloatValue(f.double()), true
		case annotationString:
			v, scalar = profile.StringValue(d.text(f.b)), true
		case annotationStringIID:
			v, scalar = profile.StringValue(state.texts[f.v]), true
		case annotationArray:
			return fields(f.b, func(f field) error {
				switch f.number {
				case annotationUint:
					list.Add(unsigned(f.v))
				case annotationInt:
					list.Add(profile.IntValue(int64(f.v)))
				case annotationDouble:
					list.Add(profile.FloatValue(f.double()))
				}
				return nil
			})
		}
		return nil
	})
	if scalar {
		return v, true, err
	}
	d.rounded += list.Rounded
	return list.Value(), true, err
}
