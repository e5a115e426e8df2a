package tritonparse_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/parse"
)

// TestKindsAgree: kinds are what launches add up to when each is taken apart, in every sample, raw and parsed, whether they
// were collected when the trace was opened or later.
func TestKindsAgree(t *testing.T) {
	sources, err := filepath.Glob("../testdata/traces/*/*")
	if err != nil || len(sources) < 20 {
		t.Fatalf("samples: %v, %v", sources, err)
	}
	for _, source := range append(sources, complexTrace, parsedTrace(t, complexTrace), manyKinds(t), someRecorded(t)) {
		collected, err := tritonparse.Open(source, tritonparse.OpenOptions{NoTexts: true, Kinds: true})
		if err != nil {
			t.Fatal(err)
		}
		want := plainKinds(t, collected)
		later, err := tritonparse.Open(source, tritonparse.OpenOptions{NoTexts: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, trace := range []*tritonparse.Trace{collected, later} {
			kinds, err := trace.Kinds()
			if err != nil {
				t.Fatal(err)
			}
			if len(kinds) != len(want) {
				t.Fatalf("%s has %d kinds, want %d", source, len(kinds), len(want))
			}
			for i, k := range kinds {
				if got := kindText(k); got != want[i].text {
					t.Fatalf("%s: kind %d is\n%s, want\n%s", source, i, got, want[i].text)
				}
				l, err := k.Record()
				if err != nil || !bytes.Equal(l.Raw, want[i].first) || l.Place() != k.First || l.Kind != k.ID {
					t.Fatalf("%s: the first launch of kind %d is %s of %+v, want %s; %v", source, i, l.Raw, l.Place(), want[i].first, err)
				}
			}
		}
		for _, k := range want[max(0, len(want)-2):] {
			if l, err := later.LaunchAt(k.First.File, k.First.Line); err != nil || l.Place() != k.First {
				t.Errorf("%s: the launch at %+v is %+v; %v", source, k.First, l.Place(), err)
			}
		}
		if len(later.Compilations()) != len(collected.Compilations()) {
			t.Errorf("%s: there are %d compilations once the kinds were asked for, and were %d", source, len(later.Compilations()), len(collected.Compilations()))
		}
	}
}

// plainKind is a kind as launches say it one by one.
type plainKind struct {
	tritonparse.Kind
	first []byte
	text  string
}

func kindText(k *tritonparse.Kind) string {
	recorded := "none"
	if k.Recorded != nil {
		recorded = fmt.Sprint(*k.Recorded)
	}
	return fmt.Sprint(k.ID, k.Name, k.Hash, k.Whole, k.Launches, k.First, " recorded ", recorded)
}

func plainKinds(t *testing.T, trace *tritonparse.Trace) []*plainKind {
	t.Helper()
	var all []*plainKind
	at := map[string]*plainKind{}
	if err := trace.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		k := at[l.Name+l.Kind]
		if k == nil {
			k = &plainKind{tritonparse.Kind{ID: l.Kind, Name: l.Name, Hash: l.Hash, Whole: len(l.Args) > 0 && len(l.Grid) > 0, First: l.Place()}, bytes.Clone(l.Raw), ""}
			at[l.Name+l.Kind] = k
			all = append(all, k)
		}
		k.Launches++
		if place := l.Place(); k.Recorded == nil && bytes.Contains(l.Raw, []byte(`"blob_path"`)) && l.Recorded() {
			k.Recorded = &place
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		k.text = kindText(&k.Kind)
	}
	return all
}

// parsedTrace is a trace as Parse writes it.
func parsedTrace(t *testing.T, source string) string {
	t.Helper()
	raw, out := t.TempDir(), t.TempDir()
	text := []byte(testkit.Read(t, source))
	if err := os.WriteFile(filepath.Join(raw, filepath.Base(source)), text, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := parse.Parse(raw, out, parse.Options{}); err != nil {
		t.Fatal(err)
	}
	return out
}

// someRecorded is a trace in which the contents of tensors were kept with some launches, or some tensors, only.
func someRecorded(t *testing.T) string {
	t.Helper()
	var text []byte
	for _, blobs := range [][2]string{{"", ""}, {`,"blob_path":"a"`, ""}, {`,"blob_path":"a"`, `,"blob_path":"b"`}, {`,"blob_path":"c"`, `,"blob_path":"d"`}, {`,"error":"full"`, ""}} {
		text = fmt.Appendf(text, `{"event_type":"launch","pid":1,"name":"k","function":7,"grid":[4],"compilation_metadata":{"hash":"aa"},`+
			`"extracted_args":{"x":{"type":"tensor","shape":[4]%s},"y":{"type":"tensor","shape":[4]%s},"n":{"type":"int","value":3}}}`+"\n", blobs[0], blobs[1])
	}
	file := filepath.Join(t.TempDir(), "trace.ndjson")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}
