package report

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Picture writes one static picture of a profile as SVG.
type Picture func(w io.Writer, s Source, o Options) error

// Pictures are the static pictures by name.
var Pictures = map[string]Picture{"flame": Flame, "roofline": Roofline}

// svg writes a picture. Text comes with a known width, so that labels can be cut and placed without a browser: all of
// it is monospace, and textLength is not needed as long as a letter is at most as wide as letterWidth says.
type svg struct {
	out *bufio.Writer
}

// letterWidth is the width of a letter of the usual monospace fonts, as a part of the font's size.
const letterWidth = 0.61

// The same colours as on the page, light and dark by the reader's system.
const svgStyle = `
text { font: 12px ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace; fill: #1c1d1f; }
.ground { fill: #ffffff; } .quiet { fill: #5a5d63; } .title { font-size: 14px; font-weight: bold; }
.grid { stroke: #e2e2dd; } .ceiling { fill: none; stroke: #1c1d1f; stroke-width: 2; } .other { fill: none; stroke: #8b8d88; stroke-dasharray: 4 4; }
.compute { fill: #a8450a; stroke: #a8450a; fill-opacity: .45; } .memory { fill: #0b6b8a; stroke: #0b6b8a; fill-opacity: .45; } .measured { stroke: #1c1d1f; }
.halo { paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round; }
.k0 { fill: #b9cdf2; } .k1 { fill: #bfe5da; } .k2 { fill: #fbcf9d; } .k3 { fill: #d7cde6; }
@media (prefers-color-scheme: dark) {
text { fill: #e9e9e6; } .ground { fill: #1a1b1e; } .quiet { fill: #a3a7ae; }
.grid { stroke: #2d3035; } .ceiling { stroke: #e9e9e6; } .other { stroke: #777b83; }
.compute { fill: #ffa463; stroke: #ffa463; } .memory { fill: #5fc3e4; stroke: #5fc3e4; } .measured { stroke: #e9e9e6; }
.halo { stroke: #1a1b1e; }
.k0 { fill: #33476b; } .k1 { fill: #2c4f45; } .k2 { fill: #7a4618; } .k3 { fill: #4c4260; }
}
`

func newSVG(w io.Writer, width, height float64, title string) *svg {
	s := &svg{bufio.NewWriter(w)}
	fmt.Fprintf(s.out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" viewBox=\"0 0 %s %s\" role=\"img\" data-generator=\"%s\">\n",
		short(width), short(height), short(width), short(height), Marker)
	fmt.Fprintf(s.out, "<title>%s</title>\n<style>%s</style>\n", escape(title), svgStyle)
	s.element("rect", "class", "ground", "width", short(width), "height", short(height))
	s.out.WriteString("\n")
	return s
}

func (s *svg) close() error {
	s.out.WriteString("</svg>\n")
	return s.out.Flush()
}

// element writes an element without anything in it; attributes are names and values.
func (s *svg) element(name string, attributes ...string) {
	s.start(name, attributes)
	s.out.WriteString("/>")
}

func (s *svg) start(name string, attributes []string) {
	s.out.WriteString("<" + name)
	for i := 0; i < len(attributes); i += 2 {
		fmt.Fprintf(s.out, " %s=\"%s\"", attributes[i], escape(attributes[i+1]))
	}
}

// text writes a line of text.
func (s *svg) text(x, y float64, text string, attributes ...string) {
	s.start("text", append([]string{"x", short(x), "y", short(y)}, attributes...))
	fmt.Fprintf(s.out, ">%s</text>\n", escape(text))
}

// titled writes an element that shows a text when the pointer rests on it.
func (s *svg) titled(title, name string, attributes ...string) {
	s.start(name, attributes)
	fmt.Fprintf(s.out, "><title>%s</title></%s>\n", escape(title), name)
}

// escape makes text of XML. What XML cannot hold has been spelled out by clean.
func escape(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // a strings.Builder never fails
	return b.String()
}

// short writes a coordinate to a tenth of a pixel, the same on every machine.
func short(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// widthOf is the most that a text of the usual size takes.
func widthOf(text string) float64 { return float64(utf8.RuneCountInString(text)) * letterWidth * 12 }

// fit cuts a text to what fits a width; "" if that would be less than two letters.
func fit(text string, width, size float64) string {
	letters := int(width / (letterWidth * size))
	switch runes := []rune(text); {
	case len(runes) <= letters:
		return text
	case letters < 2:
		return ""
	default:
		return string(runes[:letters-1]) + "…"
	}
}
