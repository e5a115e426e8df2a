package prometheus

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	families := []Family{
		{Name: "a_total", Help: "Back\\slash\nand line.", Series: []Series{
			{[]Label{{"scope", "x \"y\" \\ \n{z},="}, {"rank", "3"}}, 12},
			{nil, 1e21}, {[]Label{{"rank", "4"}}, 0.000191297},
		}},
		{Name: "b", Help: "B.", Gauge: true},
	}
	want := `# HELP a_total Back\\slash\nand line.
# TYPE a_total counter
a_total{scope="x \"y\" \\ \n{z},=",rank="3"} 12
a_total 1000000000000000000000
a_total{rank="4"} 0.000191297
# HELP b B.
# TYPE b gauge
`
	if got := string(Text(families)); got != want {
		t.Errorf("%s", got)
	}
}

// label is one label of a line, as https://prometheus.io/docs/instrumenting/exposition_formats describes them.
var label = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|})`)

// parse reads a line with a value, written from the description of the format.
func parse(line string) (name string, labels []Label, value float64, err error) {
	at := strings.IndexAny(line, "{ ")
	if at < 0 {
		return "", nil, 0, fmt.Errorf("no value in %q", line)
	}
	name, line = line[:at], line[at:]
	for more := line[0] == '{'; more; {
		m := label.FindStringSubmatch(line[1:])
		if m == nil {
			return "", nil, 0, fmt.Errorf("no label in %q", line)
		}
		labels = append(labels, Label{m[1], strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`).Replace(m[2])})
		line, more = line[len(m[0]):], m[3] == ","
		if !more {
			line = line[1:]
		}
	}
	value, err = strconv.ParseFloat(strings.TrimPrefix(line, " "), 64)
	return name, labels, value, err
}

// A page has one line for each value whatever the labels are, and a reader gets back what was written.
func FuzzText(f *testing.F) {
	for _, text := range []string{"train", `"`, `\`, `\n`, "\n", "a\"} 1\nevil 2\n", "é\xff\x00", "{", `\"`, "# HELP x"} {
		f.Add(text, text, 1.5)
	}
	f.Fuzz(func(t *testing.T, first, second string, value float64) {
		if !utf8.ValidString(first) || !utf8.ValidString(second) { // the collector makes them valid
			first, second = clean(first), clean(second)
		}
		if math.IsNaN(value) {
			value = 0
		}
		page := string(Text([]Family{{Name: "x_total", Help: "X.", Series: []Series{{[]Label{{"a", first}, {"b", second}}, value}}}}))
		lines := strings.Split(page, "\n")
		if len(lines) != 4 || lines[3] != "" {
			t.Fatalf("%q", page)
		}
		name, labels, got, err := parse(lines[2])
		if err != nil || name != "x_total" || len(labels) != 2 || labels[0].Value != first || labels[1].Value != second || got != value {
			t.Errorf("%q is read as %s %q %g, %v", lines[2], name, labels, got, err)
		}
	})
}
