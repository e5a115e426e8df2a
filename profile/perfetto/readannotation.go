package perfetto

import (
	"cmp"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
	"github.com/goproton/goproton/profile/internal/lanes"
)

func (d *reader) annotationName(state *sequenceState, message []byte) (name string, err error) {
	err = fields(message, func(f field) error {
		switch f.number {
		case annotationNameIID:
			name = state.keys[f.v]
		case annotationName:
			name = d.text(f.b)
		}
		return nil
	})
	return name, err
}

// annotation reads one argument of an event. Arguments that other programs invented are skipped.
func (d *reader) annotation(state *sequenceState, e *event, message []byte) error {
	key, err := d.annotationName(state, message)
	if err != nil {
		return err
	}
	switch cmp.Or(lanes.OurName(key), key) {
	case lanes.CallStack:
		e.Path, err = d.callStack(state, message)
	case lanes.ScopeID, lanes.Correlation:
		err = fields(message, func(f field) error {
			if f.number == annotationUint || f.number == annotationInt {
				e.ID = f.v
			}
			return nil
		})
	case lanes.LaunchID:
		e.Launch.ID, err = d.annotatedText(state, message)
	case lanes.CompileHash:
		e.Launch.Hash, err = d.annotatedText(state, message)
	case lanes.Bytes:
		e.HasBytes = true
		e.Bytes, err = d.value(state, message)
	case lanes.Metrics:
		err = d.metrics(state, e, message)
	}
	return err
}

// annotatedText reads the value of an annotation if it is a text; "" for other types.
func (d *reader) annotatedText(state *sequenceState, message []byte) (string, error) {
	v, err := d.value(state, message)
	if v.Type() != profile.String {
		return "", err
	}
	return v.Str(), err
}

// callStack reads a call path. Equal paths have equal bytes as long as the numbers of their frames stay the same.
func (d *reader) callStack(state *sequenceState, message []byte) (path int32, err error) {
	if known, found := state.stacks[string(message)]; found {
		return known, nil
	}
	frame := func(name string) (err error) {
		path, err = d.b.Paths.Child(path, name)
		return err
	}
	err = fields(message, func(f field) error {
		if f.number != annotationArray {
			return nil
		}
		return fields(f.b, func(f field) error {
			switch f.number {
			case annotationStringIID:
				return frame(state.texts[f.v])
			case annotationString:
				return frame(d.text(f.b))
			}
			return nil
		})
	})
	if err == nil {
		state.stacks[string(message)] = path
	}
	return path, err
}

func (d *reader) metrics(state *sequenceState, e *event, message []byte) error {
	return fields(message, func(f field) error {
		if f.number != annotationDict || len(e.Metrics) >= profile.MaxMetrics {
			return nil
		}
		name, err := d.annotationName(state, f.b)
		if err != nil {
			return err
		}
		v, err := d.value(state, f.b)
		e.Set(name, v)
		return err
	})
}

// value reads the value of an annotation: a number, a text, or a list of numbers. An annotation without a value is an empty list.
func (d *reader) value(state *sequenceState, message []byte) (v profile.Value, err error) {
	var list jsonscan.Vector
	unsigned := func(n uint64) profile.Value {
		v, rounded := jsonscan.OfUint(n)
		if rounded {
			d.b.Profile.Rounded++
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
		return v, err
	}
	d.b.Profile.Rounded += list.Rounded
	return list.Value(), err
}
