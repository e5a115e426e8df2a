package perfetto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/profile"
)

// table numbers the strings of one kind; what is new is declared in the packet that uses it first.
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

// declare writes what is new in any table.
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
func (t *writer) annotations(s *profile.Slice, kind profile.SliceKind) {
	if len(s.Path) > 0 {
		stack := t.annotation(keyCallStack)
		for _, frame := range s.Path {
			entry := t.begin(annotationArray)
			t.uint(annotationStringIID, t.texts.of(frame))
			t.end(entry)
		}
		t.end(stack)
	}
	if s.ID != 0 {
		key := keyCorrelation
		if kind == profile.ScopeSlice {
			key = keyScope
		}
		id := t.annotation(key)
		t.uint(annotationUint, s.ID)
		t.end(id)
	}
	if s.Launch != nil && kind == profile.KernelSlice {
		t.annotatedText(keyLaunch, s.Launch.ID)
		t.annotatedText(keyHash, s.Launch.Hash)
	}
	metrics := s.Metrics
	if (kind == profile.CopySlice || kind == profile.FillSlice) && len(metrics) > 0 && metrics[0].Name == keyBytes && metrics[0].Value.Type() == profile.Int {
		t.amount(metrics[0].Value, s.Duration)
		metrics = metrics[1:]
	}
	if len(metrics) == 0 {
		return
	}
	list := t.annotation(keyMetrics)
	for i := range metrics {
		entry := t.begin(annotationDict)
		t.uint(annotationNameIID, t.keys.of(metrics[i].Name))
		t.value(metrics[i].Value)
		t.end(entry)
	}
	t.end(list)
}

func (t *writer) annotation(key string) int {
	start := t.begin(eventAnnotations)
	t.uint(annotationNameIID, t.keys.of(key))
	return start
}

func (t *writer) annotatedText(key, text string) {
	start := t.annotation(key)
	t.uint(annotationStringIID, t.texts.of(text))
	t.end(start)
}

// amount writes the bytes that were copied or set, and how fast.
func (t *writer) amount(bytes profile.Value, duration int64) {
	size := t.annotation(keyBytes)
	t.value(bytes)
	t.end(size)
	if duration > 0 {
		rate := t.annotation(keyRate)
		t.double(annotationDouble, float64(bytes.Int())/float64(duration))
		t.end(rate)
	}
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
