package hatchet

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func TestEverythingRoundTrips(t *testing.T) {
	roundTrips(t, 500, func(*profile.Profile, uint64) {})
}

func TestExtraKeysAsTheyStand(t *testing.T) {
	k := &profile.Node{Name: "k", Times: &profile.Sketch{}}
	for _, ns := range []uint64{900, 3, 901} {
		k.Times.Add(ns)
	}
	k.Set("p", profile.IntValue(1))
	root := &profile.Node{Name: "ROOT", Times: &profile.Sketch{}, Children: []*profile.Node{k}}
	root.Set("own", profile.IntValue(2))
	p := &profile.Profile{Root: root, Kinds: profile.Kinds{"p": profile.Property}, Info: profile.Info{"pid": "7", "host": "a\"b"}}
	var out bytes.Buffer
	if err := Write(&out, p); err != nil {
		t.Fatal(err)
	}
	want := `
[
    {
        "children": [
            {
                "children": [],
                "frame": {
                    "name": "k",
                    "type": "function"
                },
                "metrics": {
                    "p": 1
                },
                "times": {"count":3,"min":3,"max":901,"mean":601.3333333333334,"m2":537004.6666666666,"buckets":[[3,1],[896,2]]}
            }
        ],
        "frame": {
            "name": "ROOT",
            "type": "function"
        },
        "info": {
            "host": "a\"b",
            "pid": "7"
        },
        "kinds": {
            "own": "exclusive",
            "p": "property"
        },
        "metrics": {
            "own": 2
        }
    },
    {}
]
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestExtraKeysThatAreWrong(t *testing.T) {
	const frame = `[{"frame":{"name":"r"},` // 23 bytes
	for name, test := range map[string]struct {
		in   string
		at   int64
		want string
	}{
		"info is a list":     {`"info":[]}]`, 30, "expected '{' at the start of info"},
		"info of numbers":    {`"info":{"a":1}}]`, 35, "expected a string"},
		"kinds is text":      {`"kinds":"x"}]`, 31, "expected '{' at the start of kinds"},
		"no kind":            {`"kinds":{"a":"b"}}]`, 36, `"b" is not a kind of metric`},
		"times is a number":  {`"times":3}]`, 31, "expected '{' at the start of times"},
		"times are empty":    {`"times":{"min":1}}]`, 31, "count is 0, and"},
		"negative count":     {`"times":{"count":-1}}]`, 40, "whole number of at least 0"},
		"fraction":           {`"times":{"count":1.5}}]`, 40, "whole number of at least 0"},
		"mean is null":       {`"times":{"mean":null}}]`, 39, "expected a number"},
		"mean is text":       {`"times":{"mean":"1"}}]`, 39, "expected a value"},
		"bucket is a number": {`"times":{"buckets":[1]}}]`, 43, "expected '['"},
		"bucket of one":      {`"times":{"buckets":[[1]]}}]`, 43, "[lower bound, count]"},
		"no such bucket":     {`"times":{"buckets":[[129,1]]}}]`, 43, "none begins at 129"},
		"counts differ":      {`"times":{"count":2,"buckets":[[1,1]]}}]`, 31, "the buckets count 1 values and count says 2"},
		"out of order":       {`"times":{"count":2,"buckets":[[2,1],[1,1]]}}]`, 31, "out of order"},
		"empty bucket":       {`"times":{"count":1,"buckets":[[1,1],[2,0]]}}]`, 31, "empty"},
		"min elsewhere":      {`"times":{"count":1,"min":2,"max":1,"buckets":[[1,1]]}}]`, 31, "min and max"},
		"negative mean":      {`"times":{"count":1,"min":1,"max":1,"mean":-1,"buckets":[[1,1]]}}]`, 31, "mean and m2"},
		"counts overflow":    {`"times":{"count":1,"buckets":[[1,18446744073709549568],[2,18446744073709549568]]}}]`, 31, "64 bits"},
	} {
		p, err := Read(strings.NewReader(frame + test.in))
		var bad *profile.FormatError
		if !errors.As(err, &bad) {
			t.Errorf("%s: read %+v, error %v", name, p, err)
		} else if bad.Offset != test.at || !strings.Contains(bad.Reason, test.want) {
			t.Errorf("%s: got %v\nwant byte %d: …%s…", name, bad, test.at, test.want)
		}
	}
	// Below the root these keys belong to other programs.
	in := `[{"frame":{"name":"r"},"children":[{"info":3,"kinds":[],"frame":{"name":"c"}}]}]`
	if p, err := Read(strings.NewReader(in)); err != nil || p.Info != nil {
		t.Errorf("keys of another program below the root: %+v, error %v", p, err)
	}
}

// TestUpstreamSkipsExtraKeys prints profiles with our keys, and without, with the proton-viewer of two Triton wheels
// and with llnl-hatchet itself. They must not notice.
func TestUpstreamSkipsExtraKeys(t *testing.T) {
	dir := t.TempDir()
	var with, without []string
	for seed := range uint64(6) {
		p := profiletest.Random(seed)
		profiletest.Reduce(p, func(name string) string { return "n" + strings.Map(printable, profiletest.Valid(name)) }, small)
		p.Root.Metrics = slices.DeleteFunc(p.Root.Metrics, func(m profile.Metric) bool { return m.Name == "text" }) // it adds up what the root has
		p.Info, p.Kinds["ints"] = profile.Info{"host": "x", "metrics": "y"}, profile.Inclusive
		p.Root.Children = append(p.Root.Children, &profile.Node{Name: "leaf", Times: &profile.Sketch{}})
		leaf := p.Root.Children[len(p.Root.Children)-1]
		leaf.Times.Add(7)
		leaf.Set("time (ns)", profile.IntValue(7_000_000))
		profiletest.Sample(p, seed)
		leaf.Samples = []profile.FunctionSamples{{PCs: []profile.PCSamples{{Offset: 16, Stalls: []profile.Stall{{Samples: 3}}}}}}
		profiletest.Launch(p, seed)
		leaf.Launches = []profile.LaunchTimes{{Durations: profile.Durations{Count: 1, Nanos: 7, Least: 7, Most: 7}}}
		full := writeTo(t, filepath.Join(dir, "with"+string(rune('a'+seed))), p)
		for _, key := range []string{`"times"`, `"info"`, `"samples"`, `"sampling"`, `"launches"`, `"launch_kinds"`} {
			if !bytes.Contains(full, []byte(key)) {
				t.Fatalf("profile %d has no %s", seed, key)
			}
		}
		with = append(with, filepath.Join(dir, "with"+string(rune('a'+seed))))
		without = append(without, filepath.Join(dir, "without"+string(rune('a'+seed))))
		if err := os.WriteFile(without[seed], bare(t, full), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []string{"3.6.0", "3.9.0"} {
		t.Run(version, func(t *testing.T) {
			a, b := askViewer(t, version, with), askViewer(t, version, without)
			for i := range a {
				if a[i] != b[i] || !strings.Contains(a[i], "leaf") {
					t.Errorf("profile %d prints as\n%s\nand without our keys as\n%s", i/2, a[i], b[i])
				}
			}
		})
	}
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '_'
	}
	return r
}

// small keeps the metrics that pandas can add up.
func small(name string, v profile.Value) (profile.Value, bool) {
	if v.Type() == profile.Int {
		return profile.IntValue(v.Int() % 1_000_000), name != "" && !strings.Contains(name, "(inc)")
	}
	return v, v.Type() == profile.String && name == "text"
}

func writeTo(t *testing.T, path string, p *profile.Profile) []byte {
	t.Helper()
	var data bytes.Buffer
	if err := Write(&data, p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// bare takes our keys out of a file, without any code of ours.
func bare(t *testing.T, data []byte) []byte {
	t.Helper()
	var document []map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	pending := []map[string]any{document[0]}
	for len(pending) > 0 {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for key := range n {
			if !slices.Contains([]string{"children", "frame", "metrics"}, key) {
				delete(n, key)
			}
		}
		for _, c := range n["children"].([]any) {
			pending = append(pending, c.(map[string]any))
		}
	}
	stripped, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return stripped
}

// askViewer prints files with the proton-viewer of a wheel: the metrics it lists, and the tree.
func askViewer(t *testing.T, version string, files []string) []string {
	t.Helper()
	type run struct {
		Args []string `json:"args"`
		TTY  bool     `json:"tty"`
	}
	var runs []run
	for _, file := range files {
		runs = append(runs, run{Args: []string{"-l", file}}, run{Args: []string{"-m", "time/ms", file}})
	}
	stdin, err := json.Marshal(runs)
	if err != nil {
		t.Fatal(err)
	}
	out := testkit.Python(t, "triton-"+version, "viewer/testdata/proton_viewer.py", stdin)
	var answers []struct{ Stdout, Error string }
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatal(err)
	}
	var printed []string
	for i, a := range answers {
		if a.Error != "" {
			t.Fatalf("proton-viewer %v: %s", runs[i].Args, a.Error)
		}
		printed = append(printed, strings.ReplaceAll(a.Stdout, "without", "with"))
		if i%2 == 0 {
			printed[i] += "leaf" // the list has no frames
		}
	}
	return printed
}
