package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// table numbers the strings of one kind. A new string is declared in the packet that uses it first.
type table struct {
	field protowire.Number
	ids   map[string]uint64
	fresh []string
}

func newTable(field protowire.Number) table { return table{field: field, ids: map[string]uint64{}} }

func (t *table) of(text string) uint64 {
	id, found := t.ids[text]
	if !found {
		id = uint64(len(t.ids) + 1)
		t.ids[text] = id
		t.fresh = append(t.fresh, text)
	}
	return id
}

// declare writes the new strings of all tables.
func (t *writer) declare() {
	tables := [...]*table{&t.cats, &t.names, &t.keys, &t.texts}
	if len(t.cats.fresh)+len(t.names.fresh)+len(t.keys.fresh)+len(t.texts.fresh) == 0 {
		return
	}
	data := t.begin(packetInternedData)
	for _, table := range tables {
		for i, text := range table.fresh {
			entry := t.begin(table.field)
			t.uint(internedIID, uint64(len(table.ids)-len(table.fresh)+i+1))
			t.text(internedText, text)
			t.end(entry)
		}
		table.fresh = table.fresh[:0]
	}
	t.end(data)
}

// annotations writes the arguments of a slice, by the names that they have in .chrome_trace files.
func (t *writer) annotations(a *lanes.Arguments) {
	if len(a.Path) > 0 {
		t.callStack(a.Path)
	}
	if a.ID != 0 {
		t.annotation(a.IDName, func() { t.uint(annotationUint, a.ID) })
	}
	if a.Launch != nil {
		t.annotation(lanes.LaunchID, func() { t.uint(annotationStringIID, t.texts.of(a.Launch.ID)) })
		t.annotation(lanes.CompileHash, func() { t.uint(annotationStringIID, t.texts.of(a.Launch.Hash)) })
	}
	if a.HasBytes {
		t.annotation(lanes.Bytes, func() { t.uint(annotationInt, uint64(a.Bytes)) })
	}
	if a.HasRate {
		t.annotation(lanes.Rate, func() { t.double(annotationDouble, a.Rate) })
	}
	if len(a.Metrics) == 0 {
		return
	}
	t.annotation(lanes.Metrics, func() {
		for i := range a.Metrics {
			entry := t.begin(annotationDict)
			t.uint(annotationNameIID, t.keys.of(a.Metrics[i].Name))
			t.value(a.Metrics[i].Value)
			t.end(entry)
		}
	})
}

// callStack writes a call path. Neighbours share most of their frames, and comparing names is cheaper than looking them up.
func (t *writer) callStack(path []string) {
	t.annotation(lanes.CallStack, func() {
		for i, name := range path {
			if i >= len(t.stack) || t.stack[i].name != name {
				t.stack = append(t.stack[:i], stackFrame{name, t.texts.of(name)})
			}
			entry := t.begin(annotationArray)
			t.uint(annotationStringIID, t.stack[i].id)
			t.end(entry)
		}
	})
}

// annotation writes one argument.
func (t *writer) annotation(key string, value func()) {
	start := t.begin(eventAnnotations)
	t.uint(annotationNameIID, t.keys.of(key))
	value()
	t.end(start)
}

func (t *writer) value(v profile.Value) {
	switch v.Type() {
	case profile.Int:
		t.uint(annotationInt, uint64(v.Int()))
	case profile.Float:
		f, _ := v.Float()
		t.double(annotationDouble, f)
	case profile.String:
		t.uint(annotationStringIID, t.texts.of(v.Str()))
	case profile.Ints:
		for _, i := range v.Ints() {
			entry := t.begin(annotationArray)
			t.uint(annotationInt, uint64(i))
			t.end(entry)
		}
	case profile.Floats:
		for _, f := range v.Floats() {
			entry := t.begin(annotationArray)
			t.double(annotationDouble, f)
			t.end(entry)
		}
	}
}
