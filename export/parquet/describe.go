package parquet

import (
	"encoding/binary"

	"github.com/goproton/goproton/internal/version"
)

// Numbers of the format: https://github.com/apache/parquet-format, parquet.thrift.
const (
	typeInt64, typeDouble, typeBytes = 2, 5, 6
	encodingPlain                    = 0
	encodingRuns                     = 3 // of levels
	encodingDictionary               = 8
	codecZstd                        = 6
	required, optional, repeated     = 0, 1, 2
	convertedText                    = 0
	convertedMap                     = 1
	convertedList                    = 3
	pageData, pageDictionary         = 0, 2
)

func (k Type) physical() int64 {
	switch k {
	case Text:
		return typeBytes
	case Float:
		return typeDouble
	}
	return typeInt64
}

// chunk writes what a leaf has as one page, behind its dictionary if it has one.
func (w *Writer) chunk(l *leaf) chunk {
	c := chunk{values: int64(len(l.defined)), nulls: int64(len(l.defined) - len(l.numbers) - len(l.texts)), least: l.least, most: l.most}
	c.hasRange = (l.kind == Int || l.kind == Time) && len(l.numbers) > 0
	if l.kind == Text {
		c.dictionary = w.offset
		w.page(&c, l.dictionaryPage(), pageDictionary, func(o *object) {
			o.within(7, func(o *object) {
				o.i32(1, int64(len(l.words)))
				o.i32(2, encodingPlain)
			})
		})
	}
	c.data = w.offset
	w.page(&c, l.values(l.levels()), pageData, func(o *object) {
		o.within(5, func(o *object) {
			o.i32(1, c.values)
			o.i32(2, l.kind.encoding())
			o.i32(3, encodingRuns)
			o.i32(4, encodingRuns)
		})
	})
	return c
}

func (k Type) encoding() int64 {
	if k == Text {
		return encodingDictionary
	}
	return encodingPlain
}

// page writes a page, compressed, behind its header.
func (w *Writer) page(c *chunk, content []byte, kind int64, describe func(*object)) {
	packed := w.zip.EncodeAll(content, nil)
	header := appendObject(nil, func(o *object) {
		o.i32(1, kind)
		o.i32(2, int64(len(content)))
		o.i32(3, int64(len(packed)))
		describe(o)
	})
	w.write(header)
	w.write(packed)
	c.unpacked += int64(len(header) + len(content))
	c.packed += int64(len(header) + len(packed))
}

// footer describes the file.
func (w *Writer) footer() []byte {
	schema := w.schema()
	return appendObject(nil, func(o *object) {
		o.i32(1, 1) // version
		o.objects(2, len(schema), func(i int, o *object) { schema[i](o) })
		o.i64(3, w.total)
		o.objects(4, len(w.groups), func(i int, o *object) { w.group(o, &w.groups[i]) })
		o.objects(5, len(w.facts), func(i int, o *object) {
			o.text(1, w.facts[i][0])
			o.text(2, w.facts[i][1])
		})
		o.text(6, "goproton version "+version.Number)
		o.objects(7, len(w.leaves), func(_ int, o *object) { o.within(1, empty) }) // ranges are in the order of the types
	})
}

// schema is the tree of columns: each node, then those below it.
func (w *Writer) schema() (nodes []func(*object)) {
	node := func(fill func(*object)) { nodes = append(nodes, fill) }
	value := func(name string, kind Type, repetition int64) {
		node(func(o *object) {
			o.i32(1, kind.physical())
			o.i32(3, repetition)
			o.text(4, name)
			kind.describe(o)
		})
	}
	inner := func(name string, repetition int64, children int64, describe func(*object)) {
		node(func(o *object) {
			if repetition >= 0 {
				o.i32(3, repetition)
			}
			o.text(4, name)
			o.i32(5, children)
			describe(o)
		})
	}
	inner("rows", -1, int64(len(w.columns)), empty)
	for _, c := range w.columns {
		switch c.Shape {
		case One:
			value(c.Name, c.Kind, optional)
		case List:
			inner(c.Name, required, 1, func(o *object) { o.i32(6, convertedList); o.within(10, func(o *object) { o.within(3, empty) }) })
			inner("list", repeated, 1, empty)
			value("element", c.Kind, required)
		case Map:
			inner(c.Name, required, 1, func(o *object) { o.i32(6, convertedMap); o.within(10, func(o *object) { o.within(2, empty) }) })
			inner("key_value", repeated, 2, empty)
			value("key", Text, required)
			value("value", c.Kind, required)
		}
	}
	return nodes
}

// describe says what the values of a kind mean.
func (k Type) describe(o *object) {
	switch k {
	case Text:
		o.i32(6, convertedText)
		o.within(10, func(o *object) { o.within(1, empty) })
	case Time:
		o.within(10, func(o *object) {
			o.within(8, func(o *object) {
				o.yes(1)                                            // in UTC
				o.within(2, func(o *object) { o.within(3, empty) }) // ns
			})
		})
	}
}

func (w *Writer) group(o *object, g *group) {
	unpacked := int64(0)
	o.objects(1, len(g.chunks), func(i int, o *object) {
		c := &g.chunks[i]
		unpacked += c.unpacked
		o.i64(2, 0)
		o.within(3, func(o *object) { w.leaves[i].describe(o, c) })
	})
	o.i64(2, unpacked)
	o.i64(3, g.rows)
}

// describe says where a leaf's values are in a row group.
func (l *leaf) describe(o *object, c *chunk) {
	o.i32(1, l.kind.physical())
	encodings := []int64{encodingRuns, encodingPlain}
	if l.kind == Text {
		encodings = append(encodings, encodingDictionary)
	}
	o.list(2, isI32, len(encodings))
	for _, e := range encodings {
		o.out = binary.AppendVarint(o.out, e)
	}
	o.list(3, isBinary, len(l.path))
	for _, name := range l.path {
		o.out = appendText(o.out, name)
	}
	o.i32(4, codecZstd)
	o.i64(5, c.values)
	o.i64(6, c.unpacked)
	o.i64(7, c.packed)
	o.i64(9, c.data)
	if c.dictionary > 0 {
		o.i64(11, c.dictionary)
	}
	if c.hasRange {
		o.within(12, func(o *object) {
			o.i64(3, c.nulls)
			o.text(5, string(binary.LittleEndian.AppendUint64(nil, uint64(c.most))))
			o.text(6, string(binary.LittleEndian.AppendUint64(nil, uint64(c.least))))
		})
	}
}
