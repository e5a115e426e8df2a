package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
)

func small() *profile.Profile {
	kernel := &profile.Node{Name: "gemm"}
	kernel.Set("time (ns)", profile.IntValue(864))
	kernel.Set("count", profile.IntValue(2))
	kernel.Set("device_id", profile.StringValue("0"))
	scope := &profile.Node{Name: "step", Children: []*profile.Node{kernel}}
	return &profile.Profile{
		Root:  &profile.Node{Name: "ROOT", Children: []*profile.Node{scope}},
		Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "device_id": profile.Property},
	}
}

// text is what a file would hold of p.
func text(t testing.TB, p *profile.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := hatchet.Compact(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func packed(t testing.TB, data []byte, layers ...Compression) []byte {
	t.Helper()
	for _, c := range layers {
		var b bytes.Buffer
		w, err := pack(&b, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = b.Bytes()
	}
	return data
}

func TestReadUnpacks(t *testing.T) {
	plain := []byte(text(t, small()))
	for _, layers := range [][]Compression{{}, {Gzip}, {Zstd}, {Gzip, Zstd}, {Zstd, Gzip}, {Gzip, Gzip}} {
		p, err := Read(bytes.NewReader(packed(t, plain, layers...)))
		if err != nil {
			t.Errorf("%v: %v", layers, err)
		} else if got := text(t, p); got != string(plain) {
			t.Errorf("%v: read %s\nwant %s", layers, got, plain)
		}
	}
	if _, err := Read(bytes.NewReader(packed(t, plain, Gzip, Gzip, Zstd))); err == nil || !strings.Contains(err.Error(), "more than 2 times") {
		t.Errorf("three layers: error %v", err)
	}
}

func TestReadRefusesDamagedPacks(t *testing.T) {
	plain := []byte(text(t, small()))
	for _, c := range []Compression{Gzip, Zstd} {
		whole := packed(t, plain, c)
		for n := 1; n < len(whole); n++ {
			if _, err := Read(bytes.NewReader(whole[:n])); err == nil {
				t.Errorf("the first %d of %d bytes of %s were read as a whole file", n, len(whole), c)
			}
		}
	}
	_, err := Read(bytes.NewReader(packed(t, plain[:40], Zstd)))
	if err == nil || !strings.Contains(err.Error(), "byte 40") || !strings.Contains(err.Error(), "unpacked data") {
		t.Errorf("error %v, want one at byte 40 of the unpacked data", err)
	}
}

// zeros is an endless stream of white space, which every JSON reader would follow forever.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestBombs(t *testing.T) {
	const size = 100 << 20
	var z, g bytes.Buffer
	zw, _ := zstd.NewWriter(&z)
	gw := gzip.NewWriter(&g)
	for _, w := range []io.WriteCloser{zw, gw} {
		if _, err := io.WriteString(w, "["); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, blanks{}, size); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	nested := packed(t, z.Bytes(), Gzip)
	for name, bomb := range map[string][]byte{"zstd": z.Bytes(), "gzip": g.Bytes(), "zstd in gzip": nested} {
		if _, err := Read(bytes.NewReader(bomb)); !errors.Is(err, ErrBomb) {
			t.Errorf("%s: %d bytes that hold %d: error %v, want a bomb", name, len(bomb), size, err)
		}
	}
}

func TestUnknownFiles(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "the file is empty",
		"PK\x03\x04":       "a zip archive",
		"not a profile":    "none of the formats that proton reads",
		"\x1f\x8b":         "unpack gzip",
		"\x28\xb5\x2f\xfd": "cut off",
	} {
		if _, err := Read(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want …%s…", in, err, want)
		}
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]string{
		"a.hatchet": "hatchet plain", "dir.x/a.b.hatchet.gz": "hatchet gzip", "a.hatchet.zst": "hatchet zstd",
		".hatchet": "none", "a": "none", "a.gz": "none", "dir/.hatchet": "none", "a.hatchet.txt": "none",
	} {
		got := "none"
		if target, err := TargetOf(path, nil); err == nil {
			got = target.Format.Name + " " + target.Compression.String()
		}
		if got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestWriteFilePacksByName(t *testing.T) {
	for name, magic := range map[string]string{"a.hatchet": "\n[", "a.hatchet.gz": "\x1f\x8b", "a.hatchet.zst": "\x28\xb5\x2f\xfd"} {
		path := filepath.Join(t.TempDir(), name)
		target, err := TargetOf(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := target.WriteFile(path, small()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ReadFile(path)
		if err != nil || !bytes.HasPrefix(data, []byte(magic)) || text(t, p) != text(t, small()) {
			t.Errorf("%s starts with %q and reads as %v, %v", name, data[:4], p, err)
		}
	}
}

func writeParts(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		target, err := TargetOf(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := target.WriteFile(path, small()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPartsReadAsOne(t *testing.T) {
	dir := writeParts(t, "run.part_0.hatchet", "run.part_10.hatchet.gz", "run.part_2.hatchet", "run.part_2.hatchet.zst",
		"run.part_x.hatchet", "run.part_01.hatchet", "other.part_3.hatchet")
	p, err := ReadFile(filepath.Join(dir, "run.hatchet"))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Root.Child("step").Child("gemm"); !strings.Contains(text(t, p), `"count":6,"device_id":"0","time (ns)":2592`) {
		t.Errorf("three parts add up to %+v", got.Metrics)
	}
	one, err := ReadFile(filepath.Join(dir, "run.part_2.hatchet"))
	if err != nil || text(t, one) != text(t, small()) {
		t.Errorf("a part alone reads as %v, %v", one, err)
	}
	if _, err := ReadFile(filepath.Join(dir, "absent.hatchet")); !NotThere(err) {
		t.Errorf("error %v, want that it is not there", err)
	}
}

func TestSortParts(t *testing.T) {
	got, err := SortParts([]string{"d/a.part_10.hatchet", "d/a.part_9.hatchet.gz"})
	if want := []string{"d/a.part_9.hatchet.gz", "d/a.part_10.hatchet"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("sorted to %v, %v", got, err)
	}
	for want, files := range map[string][]string{
		"is not a part":      {"a.part_0.hatchet", "b.hatchet"},
		"different profiles": {"a.part_0.hatchet", "b.part_1.hatchet"},
		"given twice":        {"a.part_0.hatchet", "a.part_0.hatchet"},
	} {
		if _, err := SortParts(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want …%s…", files, err, want)
		}
	}
}

func TestJoin(t *testing.T) {
	part := func(v profile.Value, pty string, times ...uint64) *profile.Profile {
		p := small()
		n := p.Root.Child("step")
		n.Set("v", v)
		n.Set("p", profile.StringValue(pty))
		n.Times = &profile.Sketch{}
		for _, x := range times {
			n.Times.Add(x)
		}
		n.Children = append(n.Children, &profile.Node{Name: "only " + pty})
		p.Kinds["v"], p.Kinds["p"] = profile.Inclusive, profile.Property
		p.Devices = []profile.Device{{Type: "CUDA", ID: pty}}
		p.Timeline = &profile.Timeline{
			Lanes:  []profile.Lane{{ID: 1, Name: "both"}, {ID: 2, Name: "lane " + pty}},
			Slices: []profile.Slice{{Lane: 1, Name: pty}, {Lane: 2, Name: pty}},
			Flows:  []profile.Flow{{From: 1, To: 2}},
		}
		return p
	}
	sum := part(profile.IntsValue([]int64{1, 2}), "0", 5)
	if err := join(sum, part(profile.FloatsValue([]float64{0.5, 1}), "1", 7, 9)); err != nil {
		t.Fatal(err)
	}
	n := sum.Root.Child("step")
	v, _ := n.Metric("v")
	pty, _ := n.Metric("p")
	if !reflect.DeepEqual(v.Floats(), []float64{1.5, 3}) || pty.Str() != "1" || n.Times.Count != 3 || n.Times.Max != 9 {
		t.Errorf("joined to v=%v p=%q times=%+v", v.Floats(), pty.Str(), n.Times)
	}
	if len(n.Children) != 3 || len(sum.Devices) != 2 {
		t.Errorf("joined to %d children, %d devices, want 3 and 2", len(n.Children), len(sum.Devices))
	}
	tl := sum.Timeline
	if len(tl.Lanes) != 3 || len(tl.Slices) != 4 || tl.Slices[2].Lane != 1 || tl.Slices[3].Lane != tl.Lanes[2].ID || tl.Flows[1].To != tl.Lanes[2].ID {
		t.Errorf("joined timelines %+v", tl)
	}
	cut := part(profile.IntsValue([]int64{1, 1}), "1")
	sum.Info, cut.Info = profile.Info{"pid": "1"}, profile.Info{"pid": "2", profile.InfoIncomplete: "cut off"}
	if err := join(sum, cut); err != nil || sum.Info["pid"] != "1" || sum.Info[profile.InfoIncomplete] != "cut off" {
		t.Errorf("joined facts %v, error %v", sum.Info, err)
	}
	if err := join(sum, part(profile.IntsValue([]int64{1}), "2")); err == nil || !strings.Contains(err.Error(), `metric "v" of step`) {
		t.Errorf("vectors of different lengths: error %v", err)
	}
}

// Parts name functions and reasons by places in their own tables.
func TestJoinSamples(t *testing.T) {
	part := func(name string, functions, reasons []string, samples uint64) *profile.Profile {
		n := &profile.Node{Name: name}
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{n}}, Kinds: profile.Kinds{}}
		p.Sampling = &profile.Sampling{Mode: "continuous", Period: 32, Reasons: reasons, Total: samples * uint64(len(functions))}
		for i, f := range functions {
			p.Sampling.Functions = append(p.Sampling.Functions, profile.SampledFunction{Name: f, Module: "01"})
			n.Samples = append(n.Samples, profile.FunctionSamples{Function: i, PCs: []profile.PCSamples{
				{Offset: 16, Stalls: []profile.Stall{{Reason: 0, Samples: samples + uint64(i)}}}}})
		}
		return p
	}
	sum := part("k", []string{"f", "g"}, []string{"wait", "selected"}, 10)
	for _, p := range []*profile.Profile{
		part("k", []string{"g", "h", "f"}, []string{"selected", "wait"}, 100),
		{Root: &profile.Node{Name: "ROOT"}}, // a phase in which nothing was sampled
		part("only here", []string{"h"}, []string{"selected"}, 1000),
	} {
		if err := join(sum, p); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	sum.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, f := range n.Samples {
			for _, s := range f.PCs[0].Stalls {
				got = append(got, fmt.Sprintf("%s %s %s %d", n.Name, sum.Sampling.Functions[f.Function].Name, sum.Sampling.Reasons[s.Reason], s.Samples))
			}
		}
		return true
	})
	want := []string{"k f wait 10", "k f selected 102", "k g wait 11", "k g selected 100", "k h selected 101", "only here h selected 1000"}
	if !slices.Equal(got, want) || sum.Sampling.Total != 1320 {
		t.Errorf("total %d\ngot  %q\nwant %q", sum.Sampling.Total, got, want)
	}
}

// Parts name kinds of launches by places in their own lists.
func TestJoinLaunches(t *testing.T) {
	part := func(name string, nanos uint64, ids ...string) *profile.Profile {
		n := &profile.Node{Name: name}
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{n}}, Kinds: profile.Kinds{}}
		for i, id := range ids {
			p.Launches = append(p.Launches, profile.LaunchKind{ID: id, Kernel: "k", PID: 1, Function: 2})
			times := &profile.Sketch{}
			times.Add(nanos)
			n.Launches = append(n.Launches, profile.LaunchTimes{Kind: i, Durations: profile.Durations{Count: 1, Nanos: nanos, Least: nanos, Most: nanos, Times: times}})
		}
		return p
	}
	sum := part("k", 10, "a", "b")
	for _, p := range []*profile.Profile{
		part("k", 100, "c", "b", "a"),
		{Root: &profile.Node{Name: "ROOT"}}, // a phase in which nothing was launched
		part("only here", 1000, "c"),
	} {
		if err := join(sum, p); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	sum.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, l := range n.Launches {
			got = append(got, fmt.Sprintf("%s %s %d×%d..%d=%d/%d", n.Name, sum.Launches[l.Kind].ID, l.Count, l.Least, l.Most, l.Nanos, l.Times.Count))
		}
		return true
	})
	want := []string{"k a 2×10..100=110/2", "k b 2×10..100=110/2", "k c 1×100..100=100/1", "only here c 1×1000..1000=1000/1"}
	if !slices.Equal(got, want) {
		t.Errorf("\ngot  %q\nwant %q", got, want)
	}
}

func TestDropsNamesWhatHasNoPlace(t *testing.T) {
	p := small()
	n := p.Root.Child("step")
	n.Set("v", profile.IntsValue(nil))
	n.Set("f", profile.FloatValue(1.5))
	n.Set("whole", profile.FloatValue(2))
	n.Times = &profile.Sketch{}
	n.Times.Add(1)
	n.Samples = []profile.FunctionSamples{{}}
	n.Launches = []profile.LaunchTimes{{}}
	n.Name = "\xff"
	p.Info = profile.Info{"host": "a", "pid": "1"}
	p.Devices = []profile.Device{{}, {}}
	p.Timeline = &profile.Timeline{Slices: make([]profile.Slice, 3)}
	got := (&Format{Holds: Tree, Loses: func(*profile.Profile) []string { return []string{"its own"} }}).Drops(p)
	want := []string{"1 text metric (device_id)", "1 vector metric (v)", "1 metric's fractions (f)", "2 metrics that are not inclusive (f, whole)",
		"2 devices' facts", "2 facts of the run (host, pid)", "1 distribution of kernel times",
		"1 frame's instruction samples", "1 frame's launches by kind", "1 name that is not valid UTF-8, repaired", "1 timeline of 3 slices", "its own"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := (&Format{Holds: ^Holds(0)}).Drops(p); got != nil {
		t.Errorf("a format that holds all drops %q", got)
	}
}
