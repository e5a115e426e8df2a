package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
)

// leaf is a column of values, which lists and maps have below themselves. Each of its entries is a value, or stands for a row without.
type leaf struct {
	path     []string // names from the outermost
	kind     Type
	repeated bool

	defined []byte // 1: there is a value, 0: none, of each entry
	again   []byte // 1: the entry is of the same row as the one before
	begun   bool   // this row has an entry

	numbers     []int64 // bits of fractions too
	texts       []uint32
	dictionary  map[string]uint32
	words       []string
	least, most int64
}

// leaves are those of a column, as readers expect lists and maps to be laid out.
func (c *Column) leaves() []*leaf {
	below := func(kind Type, path ...string) *leaf {
		l := &leaf{path: append([]string{c.Name}, path...), kind: kind, repeated: c.Shape != One}
		l.reset()
		return l
	}
	switch c.Shape {
	case List:
		return []*leaf{below(c.Kind, "list", "element")}
	case Map:
		return []*leaf{below(Text, "key_value", "key"), below(c.Kind, "key_value", "value")}
	}
	return []*leaf{below(c.Kind)}
}

func (l *leaf) reset() {
	l.defined, l.again, l.numbers, l.texts, l.words = l.defined[:0], l.again[:0], l.numbers[:0], l.texts[:0], l.words[:0]
	l.dictionary = map[string]uint32{}
	l.least, l.most = math.MaxInt64, math.MinInt64
}

func (l *leaf) entry(defined byte) {
	l.defined = append(l.defined, defined)
	if l.repeated {
		again := byte(0)
		if l.begun {
			again = 1
		}
		l.again = append(l.again, again)
	}
	l.begun = true
}

func (l *leaf) text(v string) {
	l.entry(1)
	at, known := l.dictionary[v]
	if !known {
		v = strings.Clone(v) // not to hold on to the text of a whole file
		at = uint32(len(l.words))
		l.dictionary[v] = at
		l.words = append(l.words, strings.ToValidUTF8(v, "\uFFFD")) // paths of files have any bytes, for which readers refuse the whole file
	}
	l.texts = append(l.texts, at)
}

func (l *leaf) int(v int64) {
	l.entry(1)
	l.numbers = append(l.numbers, v)
	l.least, l.most = min(l.least, v), max(l.most, v)
}

func (l *leaf) float(v float64) {
	l.entry(1)
	l.numbers = append(l.numbers, int64(math.Float64bits(v)))
}

func (l *leaf) endRow() {
	if !l.begun {
		l.entry(0)
	}
	l.begun = false
}

// levels are the entries as a page has them: which are of the same row, and which are values.
func (l *leaf) levels() (out []byte) {
	for _, list := range [][]byte{l.again, l.defined} {
		if list == nil {
			continue
		}
		at := len(out)
		out = appendHybrid(append(out, 0, 0, 0, 0), list, 1)
		binary.LittleEndian.PutUint32(out[at:], uint32(len(out)-at-4))
	}
	return out
}

// values are the values as a page has them: numbers, or numbers of words in the dictionary behind their width.
func (l *leaf) values(out []byte) []byte {
	if l.kind == Text {
		width := max(1, bits.Len(uint(max(1, len(l.words))-1)))
		return appendHybrid(append(out, byte(width)), l.texts, width)
	}
	for _, v := range l.numbers {
		out = binary.LittleEndian.AppendUint64(out, uint64(v))
	}
	return out
}

// dictionaryPage has the words one after another.
func (l *leaf) dictionaryPage() (out []byte) {
	for _, word := range l.words {
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(word))), word...)
	}
	return out
}
