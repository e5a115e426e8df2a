package launchtext

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// plainly works a launch out from its record alone, value by value: what the templates are measured against.
func plainly(text []byte) (Group, []string) {
	var record []byte
	members, _ := jsontext.Members(text)
	for _, m := range members {
		if !isOurs(m.Name) {
			record = ndjson.AppendMember(record, m.Name, m.Value)
		}
	}
	if record = append(record, '}'); record[0] != '{' {
		record = append([]byte{'{'}, record...)
	}
	var leaves []string
	var walk func(path string, raw []byte)
	walk = func(path string, raw []byte) {
		if raw[0] != '{' {
			leaves = append(leaves, path+" = "+string(jsontext.Form{}.Append(nil, shrink(nil, raw))))
			return
		}
		members, _ := jsontext.Members(raw)
		for _, m := range members {
			walk(path+"\x00"+m.Name, m.Value)
		}
	}
	walk("", record)
	return GroupOf(hashForm.Append(nil, record)), leaves
}

func plainKernel(text []byte) (hash, name string) {
	return jsontext.Text(jsontext.Get(text, "compilation_metadata", "hash")), jsontext.Text(jsontext.Get(text, "name"))
}

func (l *Launch) Plain() []string {
	var leaves []string
	l.Each(func(p *LeafPath, text []byte) {
		path := "\x00" + p.Member
		if p.IsArg {
			path += "\x00" + p.Argument
		}
		for _, name := range p.Path {
			path += "\x00" + name
		}
		leaves = append(leaves, path+" = "+string(text))
	})
	return leaves
}

// checkReread reads the second record by the first, as one of the same kernel and as one of another, and compares with what
// it says alone. It says whether the template did.
func checkReread(t *testing.T, first, second []byte) bool {
	t.Helper()
	likely := checkRereadAs(t, []byte("another kernel"), first, second)
	return checkRereadAs(t, TemplateKey(second), first, second) || likely
}

func checkRereadAs(t *testing.T, key, first, second []byte) bool {
	t.Helper()
	r := LaunchReader{In: &Interner{}}
	var launches []Launch
	for _, text := range [][]byte{first, second} {
		members, err := jsontext.Members(text)
		if err != nil {
			return false
		}
		launches = append(launches, LaunchReader{In: r.In}.alone(text, members))
	}
	r.In.keep(key, launches[0].Template)
	l, ok := r.Reread(second, nil)
	if ok {
		launches = append(launches, l)
	}
	wantGroup, want := plainly(second)
	for _, l := range launches[1:] {
		if got := l.Plain(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s\nafter %s\n got %q\nwant %q", second, first, got, want)
		}
		if metadata, name := plainKernel(second); l.Hash != metadata || l.Name != name {
			t.Fatalf("%s\nafter %s\nis of %q, %q", second, first, l.Hash, l.Name)
		}
		if l.Group != wantGroup {
			t.Fatalf("%s\nafter %s\n has group %s, not %s", second, first, l.Group, wantGroup)
		}
		if a, b := l.AppendLine(nil), launches[1].AppendLine(nil); !bytes.Equal(a, b) {
			t.Fatalf("%s\nafter %s\nis written as %s\nnot %s", second, first, a, b)
		}
	}
	return ok
}

// alone takes a launch apart without a template, and keeps none.
func (r LaunchReader) alone(text []byte, members []jsontext.Member) Launch {
	t := newTemplate(r.In, text, members)
	return t.launch(text)
}

// TestTemplates reads each launch of the samples by the one before.
func TestTemplates(t *testing.T) {
	for _, name := range []string{"complex_.ndjson.gz", "handmade_.ndjson"} {
		var before []byte
		same, all := 0, 0
		for _, line := range testkit.TraceRecords(t, name) {
			if !bytes.Contains(line, []byte(`"event_type":"launch"`)) {
				continue
			}
			if before != nil {
				all++
				if checkReread(t, before, line) {
					same++
				}
			}
			before = line
		}
		if name == "complex_.ndjson.gz" && same < all-20 {
			t.Errorf("%d of %d launches were read by a template", same, all)
		}
	}
}

// FuzzTemplate reads one record by another: what comes out must be what the record says alone.
func FuzzTemplate(f *testing.F) {
	for _, change := range [][2]string{
		{`"function":7`, `"function":"0x7"`}, {`"grid":[1]`, `"grid":[ 1, 2.0 ]`}, {`"value":1`, `"value":{"a":1}`}, {`"value":1`, `"value":12`},
		{`"n":`, `"m":`}, {`"stack":[]`, `"stack":[{"pid":3,"name":"]\"["}]`}, {`"t7"`, `"\u00e9é"`}, {`"t7"`, `null`}, {`4}`, `4.50}`}, {`4}`, `{}}`},
		{`"t7"`, `"` + strings.Repeat("x", 2*MaxText) + `"`}, {`"name"`, `"function":1,"name"`}, {`}`, `,"occurrence_id":3}`},
	} {
		line := testkit.LaunchRecord("aa", 7)
		f.Add([]byte(line), []byte(strings.Replace(line, change[0], change[1], 1)))
		f.Add([]byte(strings.Replace(line, change[0], change[1], 1)), []byte(line))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		first, second = bytes.TrimSpace(first), bytes.TrimSpace(second)
		if jsontext.Valid(second) != nil || len(second) == 0 || second[0] != '{' {
			return
		}
		checkReread(t, first, second)
	})
}
