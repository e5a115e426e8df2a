package report

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/flate"
)

// A report's data is a head in JSON, which a page can read with what every browser has, and sections, which are flat
// arrays of numbers: four bytes with the length of the head, the head, the sections. All of it is deflated and
// written in base 64. A tree of 100,000 frames with ten columns takes about 1 MB that way, a fifth of the same as
// JSON objects, and is unpacked in a tenth of the time. web/data.js is the other side.

// section says where an array is and how it is written.
type section struct {
	At    int    `json:"at"` // offset behind the head
	Size  int    `json:"size"`
	Count int    `json:"count"`
	As    string `json:"as"`
}

// How an array can be written.
const (
	whole    = "whole"    // whole numbers of at least 0: seven bits a byte, the lowest first
	optional = "optional" // whole numbers, 0 for none, 1 for 0, 2 for -1, 3 for 1, 4 for -2 …
	float    = "float"    // float32: first bytes of all, second bytes of all, …
	double   = "double"   // float64, likewise
)

// packer collects sections.
type packer struct {
	body []byte
}

func (p *packer) section(as string, count int, write func()) section {
	at := len(p.body)
	write()
	return section{At: at, Size: len(p.body) - at, Count: count, As: as}
}

// whole writes numbers that are at least 0.
func (p *packer) whole(values []uint64) section {
	return p.section(whole, len(values), func() {
		for _, v := range values {
			p.body = binary.AppendUvarint(p.body, v)
		}
	})
}

// measured writes what was recorded: without loss.
func (p *packer) measured(values []float64) section {
	if allWhole(values) {
		return p.section(optional, len(values), func() {
			for _, v := range values {
				p.body = binary.AppendUvarint(p.body, optionalBits(v))
			}
		})
	}
	return p.section(double, len(values), func() {
		p.shuffled(len(values), 8, func(i int) uint64 { return math.Float64bits(values[i]) })
	})
}

// derived writes rates and shares with a precision of one part in 65,000. Pages show four digits, and further bits would not
// compress.
func (p *packer) derived(values []float64) section {
	if allWhole(values) {
		return p.measured(values)
	}
	return p.section(float, len(values), func() {
		p.shuffled(len(values), 4, func(i int) uint64 { return uint64(math.Float32bits(float32(values[i]))+0x7f) &^ 0xff })
	})
}

// exact is the largest number below which every whole number is a float64, in JavaScript too, once it is doubled.
const exact = 1 << 51

func allWhole(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v == v && (v != math.Trunc(v) || math.Abs(v) >= exact) })
}

func optionalBits(v float64) uint64 {
	switch {
	case v != v:
		return 0
	case v < 0:
		return uint64(-v) * 2
	}
	return uint64(v)*2 + 1
}

// shuffled writes values byte by byte, so that the bytes which hardly differ stand together and deflate well.
func (p *packer) shuffled(count, width int, bits func(i int) uint64) {
	for b := range width {
		for i := range count {
			p.body = append(p.body, byte(bits(i)>>(8*b)))
		}
	}
}

// finish returns everything as text, and how many bytes it unpacks to.
func (p *packer) finish(head any) (text string, size int, err error) {
	js, err := json.Marshal(head)
	if err != nil {
		return "", 0, fmt.Errorf("pack report: %w", err)
	}
	raw := binary.LittleEndian.AppendUint32(nil, uint32(len(js)))
	raw = append(append(raw, js...), p.body...)
	var packed bytes.Buffer
	// This level packs 100,000 frames in a tenth of a second; the standard library's best takes two.
	w, err := flate.NewWriter(&packed, 5)
	if err != nil {
		return "", 0, err
	}
	if _, err := w.Write(raw); err != nil {
		return "", 0, err
	}
	if err := w.Close(); err != nil {
		return "", 0, err
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), len(raw), nil
}
