package viewer

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// FuzzViews takes the whole way from a file of any format to every view, with whatever a user may type. Any answer
// but a panic is right, as long as no line could take over a terminal, json is JSON and an error prints nothing else.
func FuzzViews(f *testing.F) {
	paths, err := filepath.Glob("testdata/profiles/*.hatchet")
	if err != nil {
		f.Fatal(err)
	}
	for i, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "time,count,gbyte/s,device_id", "", "launch", "", "", "a|b", 0.0, i, "time", i%3*40)
	}
	f.Fuzz(func(t *testing.T, file []byte, metrics, include, exclude, focus, trim, hide string, threshold float64, depth int, sort string, width int) {
		p, err := formats.Read(bytes.NewReader(file))
		if err != nil {
			p = profileOf(file)
		}
		o := Options{Include: include, Exclude: exclude, Focus: focus, Trim: trim, Hide: hide, Threshold: threshold, Depth: depth, Sort: sort}
		if metrics != "" {
			o.Metrics = strings.Split(metrics, ",")
		}
		// One view each: all of them in one execution were six executions a second.
		all := Views()
		v := all[uint(width+depth)%uint(len(all))]
		var out bytes.Buffer
		terminal := Terminal{Width: width % 1000, Color: depth%2 == 1, ASCII: depth%3 == 1, All: depth%5 == 1}
		_, err = Render(&out, p, v.Name, o, terminal)
		if err != nil && out.Len() > 0 {
			t.Fatalf("%s printed %d bytes next to the error %v", v.Name, out.Len(), err)
		}
		if err != nil {
			return
		}
		if v.Name == "json" && !json.Valid(out.Bytes()) {
			t.Fatalf("no JSON:\n%s", out.String())
		}
		checkPlain(t, v.Name, out.String(), terminal.Color)
	})
}

// profileOf makes a profile of any bytes, so that bytes which are not a file lead beyond the readers too.
func profileOf(tape []byte) *profile.Profile {
	names := append([]string{"time (ns)", "count", "bytes", "flops16", "cpu_time (ns)", "device_id", "__proton_launch_metadata"}, rudeNames...)
	values := []profile.Value{profile.IntValue(864), profile.IntValue(-1), profile.FloatValue(math.NaN()), profile.FloatValue(math.Inf(1)), profile.FloatValue(math.MaxFloat64),
		profile.FloatValue(5e-324), profile.IntValue(math.MaxInt64), profile.StringValue("\x1b[2J"), profile.IntsValue([]int64{1, 2}), profile.FloatsValue(nil)}
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{}, Devices: []profile.Device{{Type: "CUDA", ID: "0", Arch: "90"}}}
	open := []*profile.Node{p.Root}
	for _, b := range tape {
		top, name, value := open[len(open)-1], names[int(b>>2)%len(names)], values[int(b>>2)%len(values)]
		switch b & 3 {
		case 0:
			c := &profile.Node{Name: name}
			top.Children, open = append(top.Children, c), append(open, c)
		case 1:
			open = open[:max(len(open)-1, 1)]
		case 2:
			top.Set(name, values[len(open)%len(values)])
		case 3:
			top.Set(names[len(open)%len(names)], value)
			p.Kinds[names[len(open)%len(names)]] = profile.Kind(b >> 6 % 3)
		}
	}
	return p
}

// checkPlain looks for what moves a cursor or turns text around. Colours are allowed where they were asked for.
func checkPlain(t *testing.T, view, text string, colored bool) {
	t.Helper()
	for i, r := range text {
		if r == '\x1b' && colored && strings.HasPrefix(text[i:], "\x1b[") {
			continue
		}
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0xe0001) || r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			t.Errorf("%s prints %q raw: %q", view, r, text[max(i-20, 0):min(i+20, len(text))])
			return
		}
	}
}
