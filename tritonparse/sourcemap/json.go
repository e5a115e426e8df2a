package sourcemap

import (
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
)

// AppendJSON writes the maps as payload.source_mappings has them.
func (m *Map) AppendJSON(out []byte) []byte {
	w := writer{out: append(out, '{'), written: map[*others]span{}}
	for i, s := range m.stages {
		w.out = append(w.out, jsontext.Quote(s.Name)...)
		w.out = append(w.out, ":{"...)
		own := `,"` + s.Name + `_line":`
		for k := range m.entries[i] {
			if k > 0 {
				w.out = append(w.out, ',')
			}
			w.entry(&m.entries[i][k], own)
		}
		w.out = append(w.out, "},"...)
	}
	w.out = jsontext.AppendObject(append(w.out, `"python":`...), m.python, appendPython)
	return append(w.out, '}')
}

// Room estimates how many bytes AppendJSON writes; it is rather too high.
func (m *Map) Room() int {
	const member, number = 200, 5
	n := 0
	for i := range m.entries {
		for k := range m.entries[i] {
			e := &m.entries[i][k]
			n += member + len(e.File) + len(e.Outer.File)
			for _, o := range e.others {
				n += len(o.stage) + 12 + number*len(o.lines)
			}
		}
	}
	for _, p := range m.python {
		for _, o := range p.stages {
			n += member + (number+2)*len(o.lines)
		}
	}
	return n
}

// writer writes maps. Many lines of a kernel come from one location, and all of them have the same long lists of lines, so the
// writer copies a list that it has written before. Formatting each list anew took a seventh of the time of parsing a trace.
type writer struct {
	out     []byte
	written map[*others]span
	file    string // the path that was written last
	quoted  []byte // file in JSON
}

// span is a part of out.
type span struct{ start, end int }

func (w *writer) text(name, value string) {
	w.out = append(w.out, name...)
	w.out = append(w.out, jsontext.Quote(value)...)
}

func (w *writer) number(name string, value int) {
	w.out = append(w.out, name...)
	w.out = strconv.AppendInt(w.out, int64(value), 10)
}

func (w *writer) path(name, path string) {
	if path != w.file || w.quoted == nil {
		w.file, w.quoted = path, jsontext.Quote(path)
	}
	w.out = append(w.out, name...)
	w.out = append(w.out, w.quoted...)
}

// entry writes one line's entry; own is the beginning of the member that repeats its number.
func (w *writer) entry(e *Entry, own string) {
	w.number(`"`, e.Own)
	w.path(`":{"file":`, e.File)
	w.number(`,"line":`, e.Line)
	w.number(`,"column":`, e.Column)
	w.number(own, e.Own)
	if e.Inlined {
		w.out = append(w.out, `,"is_callsite":true`...)
		if e.HasIDs {
			w.text(`,"callsite_callee":`, e.Callee)
			w.text(`,"callsite_caller":`, e.Caller)
		}
		if e.Outer.File != "" {
			w.path(`,"inlined_at_file":`, e.Outer.File)
			w.number(`,"inlined_at_line":`, e.Outer.Line)
		}
	}
	if e.Kind != "" {
		w.text(`,"kind":`, e.Kind)
	}
	if e.Alias != "" {
		w.text(`,"alias_name":`, e.Alias)
	}
	if e.ID != "" {
		w.text(`,"loc_id":`, e.ID)
	}
	for _, o := range e.others {
		w.lines(o)
	}
	w.out = append(w.out, '}')
}

func (w *writer) lines(o *others) {
	if s, ok := w.written[o]; ok {
		w.out = append(w.out, w.out[s.start:s.end]...)
		return
	}
	start := len(w.out)
	w.out = append(w.out, `,"`...)
	w.out = append(w.out, o.stage...)
	w.out = append(w.out, `_lines":[`...)
	for i, l := range o.lines {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = strconv.AppendInt(w.out, int64(l), 10)
	}
	w.out = append(w.out, ']')
	w.written[o] = span{start, len(w.out)}
}

// appendPython writes line numbers as text: readers of tritonparse's files expect them so here, and only here.
func appendPython(out []byte, p pythonLine) []byte {
	return jsontext.AppendObject(append(appendQuoted(out, p.line), ':'), p.stages, func(out []byte, s others) []byte {
		out = append(append(append(out, '"'), s.stage...), `_lines":`...)
		return jsontext.AppendList(out, s.lines, appendQuoted)
	})
}

func appendQuoted(out []byte, line int) []byte {
	return append(strconv.AppendInt(append(out, '"'), int64(line), 10), '"')
}
