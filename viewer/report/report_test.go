package report

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/viewer"
)

func written(t testing.TB, profiles ...*profile.Profile) string {
	t.Helper()
	var sources []Source
	for i, p := range profiles {
		sources = append(sources, Source{string(rune('a'+i)) + ".hatchet", p})
	}
	var out bytes.Buffer
	if err := Write(&out, sources, Options{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// unpacked reads a page's data back: the head, and the arrays as JavaScript would have them.
func unpacked(t testing.TB, page string) (h head, array func(s section) []float64) {
	t.Helper()
	m := regexp.MustCompile(`data-size="(\d+)">([^<]*)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no data")
	}
	packed, err := base64.StdEncoding.DecodeString(m[2])
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		t.Fatal(err)
	}
	if size, _ := strconv.Atoi(m[1]); size != len(raw) {
		t.Errorf("the page says that its data take %d bytes; they take %d", size, len(raw))
	}
	headEnd := 4 + binary.LittleEndian.Uint32(raw)
	if err := json.Unmarshal(raw[4:headEnd], &h); err != nil {
		t.Fatal(err)
	}
	return h, func(s section) []float64 { return decoded(t, s, raw[headEnd:][s.At:s.At+s.Size]) }
}

func decoded(t testing.TB, s section, data []byte) []float64 {
	t.Helper()
	var all []float64
	width := map[string]int{float: 4, double: 8}[s.As]
	if width > 0 && len(data) != s.Count*width {
		t.Fatalf("%d values of %d bytes take %d", s.Count, width, len(data))
	}
	for i := range s.Count {
		bits := uint64(0)
		for b := range width {
			bits |= uint64(data[b*s.Count+i]) << (8 * b)
		}
		switch s.As {
		case float:
			all = append(all, float64(math.Float32frombits(uint32(bits))))
		case double:
			all = append(all, math.Float64frombits(bits))
		default:
			v, n := binary.Uvarint(data)
			data = data[n:]
			switch {
			case s.As == whole:
				all = append(all, float64(v))
			case v == 0:
				all = append(all, missing)
			case v%2 == 0:
				all = append(all, -float64(v/2))
			default:
				all = append(all, float64(v/2))
			}
		}
	}
	return all
}

func TestPackedArraysComeBack(t *testing.T) {
	for as, values := range map[string][]float64{
		optional: {0, 1, -1, missing, 1 << 50, -(1 << 50), 959},
		double:   {0.5, missing, math.Inf(1), -1e300, math.SmallestNonzeroFloat64, 1 << 60},
		float:    {0.5, missing, math.Inf(1), math.Inf(-1), 3.14159, -1e30, 1.2345e-7},
	} {
		var p packer
		s := p.measured(values)
		if as == float {
			s = p.derived(values)
		}
		if s.As != as {
			t.Fatalf("%v are written as %s, want %s", values, s.As, as)
		}
		got := decoded(t, s, p.body[s.At:s.At+s.Size])
		for i, v := range values {
			same := got[i] == v || v != v && got[i] != got[i]
			if as == float && math.Abs(got[i]-v) <= math.Abs(v)/65536 {
				same = true
			}
			if !same {
				t.Errorf("%s: %v came back as %v", as, v, got[i])
			}
		}
	}
}

// TestPageHasTheViewersNumbers compares every number of a page with the viewer's table.
func TestPageHasTheViewersNumbers(t *testing.T) {
	p := model(500, 1)
	h, array := unpacked(t, written(t, p))
	var names []string
	for _, c := range h.Columns {
		if c.Role == "" {
			names = append(names, c.Name)
		}
	}
	table, err := viewer.NewTable(p, viewer.Options{Metrics: names, BaseUnits: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := slices.Collect(table.All())
	if h.Tree.Count != len(rows) {
		t.Fatalf("the page has %d frames, the table %d", h.Tree.Count, len(rows))
	}
	depth, name := array(*h.Tree.Depth), array(h.Tree.Name)
	for i, r := range rows {
		if int(depth[i]) != r.Depth || h.Strings[int(name[i])] != r.Name {
			t.Fatalf("frame %d is %s at depth %v, want %s at %d", i, h.Strings[int(name[i])], depth[i], r.Name, r.Depth)
		}
	}
	for c, column := range h.Columns {
		at := slices.Index(names, column.Name)
		if column.Role != "" || len(column.Texts) > 0 {
			continue
		}
		values := array(h.Tree.Values[c])
		for i, r := range rows {
			want := r.Values[at]
			if column.Name == "util" {
				want *= 100
			}
			if math.Abs(values[i]-want) > 1e-4*math.Abs(want) || (want != want) != (values[i] != values[i]) {
				t.Fatalf("%s of %s is %v, want %v", column.Name, r.Name, values[i], want)
			}
		}
	}
}

// TestScopesMayBeNamedLikeKernels: the launch hook of Triton names both after the function.
func TestScopesMayBeNamedLikeKernels(t *testing.T) {
	p := model(50, 1)
	p.Root.Children = []*profile.Node{{Name: "flash_fwd_kernel", Children: p.Root.Children}}
	h, array := unpacked(t, written(t, p))
	for _, at := range array(h.Flat.Name) {
		if h.Strings[int(at)] == "flash_fwd_kernel" {
			return
		}
	}
	t.Error("the kernel flash_fwd_kernel is not in the list of kernels")
}

func TestComparisonHasTheDifferences(t *testing.T) {
	h, array := unpacked(t, written(t, load(t, "before"), load(t, "after")))
	if !h.Diff || len(h.Files) != 2 {
		t.Fatalf("the page does not compare: %+v", h.Files)
	}
	m := h.Metrics[0]
	old, now, delta, ratio := array(h.Tree.Values[m.Old]), array(h.Tree.Values[m.Column]), array(h.Tree.Values[m.Delta]), array(h.Tree.Values[m.Ratio])
	sides := array(*h.Tree.Side)
	seen := map[float64]bool{}
	for i := range old {
		seen[sides[i]] = true
		a, b := old[i], now[i]
		if a != a {
			a = 0
		}
		if b != b {
			b = 0
		}
		if math.Abs(delta[i]-(b-a)) > 1e-4*max(a, b) || a > 0 && math.Abs(ratio[i]-(b-a)/a*100) > 1e-2 {
			t.Errorf("from %v to %v is %v, %v %%", old[i], now[i], delta[i], ratio[i])
		}
	}
	if !seen[float64(both)] || !seen[float64(onlyOld)] || !seen[float64(onlyNew)] {
		t.Errorf("the frames are on the sides %v, want all three", seen)
	}
}

func load(t testing.TB, name string) *profile.Profile {
	t.Helper()
	for _, folder := range []string{"../testdata/profiles", "../compat/testdata/profiles"} {
		if p, err := formats.ReadFile(filepath.Join(folder, name+".hatchet")); err == nil {
			return p
		}
	}
	t.Fatalf("no profile %s", name)
	return nil
}

func TestPagesAreStable(t *testing.T) {
	p := withTimeline(model(300, 1), 300)
	first, second := written(t, p), written(t, p)
	if first != second {
		t.Error("the same profile makes two different pages")
	}
}

func TestPagesAskForNothing(t *testing.T) {
	text := written(t, model(50, 1))
	for _, url := range regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s"'<]*`).FindAllString(text, -1) {
		if !strings.HasPrefix(url, "http://www.w3.org/") { // names of formats, which no browser fetches
			t.Errorf("the page mentions %s", url)
		}
	}
	for _, word := range []string{"eval(", "new Function", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "XMLHttpRequest", "fetch(", "import("} {
		if code, err := script(); err != nil || strings.Contains(code, word) {
			t.Errorf("the page's script has %s (%v)", word, err)
		}
	}
	if !strings.Contains(text, `content="default-src 'none'; script-src 'sha256-`) {
		t.Error("the page has no policy that forbids requests")
	}
}

func TestPagesAreKnownAgain(t *testing.T) {
	if !Is([]byte(written(t, model(50, 1)))) {
		t.Error("a page is not known as one")
	}
	for name, draw := range Pictures {
		var out bytes.Buffer
		if err := draw(&out, Source{"a", model(50, 1)}, Options{}); err != nil || !Is(out.Bytes()) {
			t.Errorf("%s: %v, known %v", name, err, Is(out.Bytes()))
		}
	}
	for _, other := range []string{"", "<!doctype html><title>GoProton report</title>", "{}"} {
		if Is([]byte(other)) {
			t.Errorf("%q passes for a page", other)
		}
	}
}

func TestProfilesWithoutAnythingToDraw(t *testing.T) {
	if err := Write(io.Discard, []Source{{"a", load(t, "no_metrics")}}, Options{}); !errors.Is(err, viewer.ErrNoMetrics) {
		t.Errorf("error %v", err)
	}
	loss := &profile.Profile{Root: &profile.Node{Name: "ROOT", Metrics: []profile.Metric{{Name: "loss", Value: profile.FloatValue(1)}}}, Kinds: profile.Kinds{"loss": profile.Property}}
	if err := Write(io.Discard, []Source{{"a", loss}}, Options{}); err == nil || !strings.Contains(err.Error(), "no metric that adds up") {
		t.Errorf("error %v", err)
	}
	if err := Write(io.Discard, nil, Options{}); err == nil {
		t.Error("a page of no profile was written")
	}
}

func TestNamesAreClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "größe": "größe", "a\u202eb": "a\\u202eb", "a\tb\x00": "a\\u0009b\\u0000", "\u2066x\u2069": "\\u2066x\\u2069", "\xff": "\uFFFD", "<b>": "<b>",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) is %q, want %q", in, got, want)
		}
	}
	if got := clean(strings.Repeat("ä", 4000)); len(got) > longest+40 || !strings.HasSuffix(got, "… (4000 bytes more)") {
		t.Errorf("a long name ends in %q", got[len(got)-40:])
	}
}

func TestSlicesThatOverlapGetRowsOfTheirOwn(t *testing.T) {
	slice := func(start, duration int64) placed {
		return placed{Slice: &profile.Slice{Start: start, Duration: duration}}
	}
	all := []placed{slice(0, 100), slice(10, 50), slice(20, 10), slice(55, 20), slice(60, 5), slice(100, 10)}
	var got [][]int64
	for _, r := range stack(all) {
		var starts []int64
		for _, s := range r.slices {
			starts = append(starts, s.Start)
		}
		got = append(got, starts)
	}
	// 55 starts within 10…60, so it lies below it; 60 is within 55…75.
	want := [][]int64{{0, 100}, {10}, {20, 55}, {60}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("rows %v, want %v", got, want)
	}
	nested := make([]placed, 1000)
	for i := range nested {
		nested[i] = slice(int64(i), int64(5000-2*i))
	}
	if rows := stack(nested); len(rows) != maxRows {
		t.Errorf("a thousand nested slices take %d rows, want %d", len(rows), maxRows)
	}
}

func TestTimelineIsWhole(t *testing.T) {
	p := withTimeline(model(50, 1), 500)
	h, array := unpacked(t, written(t, p))
	count := 0
	for _, r := range h.Timeline.Rows {
		count += r.Count
		at, last := 0.0, -1.0
		durations := array(r.Duration)
		for i, step := range array(r.Start) {
			if at += step; at < last {
				t.Fatalf("slice %d of %s starts before the one before it ends", i, h.Strings[0])
			}
			last = at + durations[i]
		}
	}
	if count != len(p.Timeline.Slices) {
		t.Errorf("the page has %d slices of %d", count, len(p.Timeline.Slices))
	}
	if h.Timeline.Flows.Count != len(p.Timeline.Flows) {
		t.Errorf("the page has %d arrows of %d", h.Timeline.Flows.Count, len(p.Timeline.Flows))
	}
	from, to := array(h.Timeline.Flows.FromRow), array(h.Timeline.Flows.ToRow)
	for i := range from {
		if h.Timeline.Lanes[0].Row+2 != int(from[i]) || h.Timeline.Lanes[1].Row != int(to[i]) {
			t.Fatalf("arrow %d goes from row %v to row %v, want from the launches to the first stream", i, from[i], to[i])
		}
	}
}

// TestGoldenPictures: look at testdata/*.svg in a browser before committing a new one.
func TestGoldenPictures(t *testing.T) {
	for _, g := range []struct{ picture, profile string }{
		{"flame", "layers_main"}, {"flame", "names"}, {"flame", "python"}, {"roofline", "matmul_triton36"}, {"roofline", "roofline"},
	} {
		t.Run(g.picture+"."+g.profile, func(t *testing.T) {
			var out bytes.Buffer
			if err := Pictures[g.picture](&out, Source{g.profile + ".hatchet", load(t, g.profile)}, Options{}); err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, "testdata/"+g.picture+"."+g.profile+".svg", out.Bytes())
		})
	}
}

func TestPicturesSayWhatIsMissing(t *testing.T) {
	for name, want := range map[string]string{"cpu_only": "no metric time", "odd": "needs both flops and bytes", "only_bytes": "needs both flops and bytes"} {
		if err := Roofline(io.Discard, Source{name, load(t, name)}, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want …%s…", name, err, want)
		}
	}
	unknown := model(30, 1)
	unknown.Devices = nil
	if err := Roofline(io.Discard, Source{"a", unknown}, Options{}); err == nil || !strings.Contains(err.Error(), "--peak") {
		t.Errorf("on an unknown GPU: error %v", err)
	}
	if err := Roofline(io.Discard, Source{"a", unknown}, Options{Peaks: []string{"flops16=990T", "bytes=4.8T"}}); err != nil {
		t.Errorf("with its peaks given: error %v", err)
	}
	if err := Flame(io.Discard, Source{"a", load(t, "no_metrics")}, Options{}); err == nil {
		t.Error("a flame graph of nothing was drawn")
	}
}

func TestHostileNamesInPictures(t *testing.T) {
	p := model(30, 1)
	p.Root.Children[0].Name = "</text><script>alert(1)</script>\x00\u202e"
	var out bytes.Buffer
	if err := Flame(&out, Source{`"/><script>`, p}, Options{}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "<script") || strings.ContainsAny(text, "\x00\u202e") {
		t.Errorf("a name became markup:\n%s", text)
	}
}

// FuzzWrite: whatever the formats can read, a page is written of it or an error says why not.
func FuzzWrite(f *testing.F) {
	for _, name := range []string{"scope", "odd", "names", "vector", "graph"} {
		var out bytes.Buffer
		if err := hatchet.Write(&out, load(f, name)); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := hatchet.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, sources := range [][]Source{{{"a", p}}, {{"a", p}, {"b", p}}} {
			b, err := build(sources, Options{})
			if err != nil {
				continue
			}
			if _, err := json.Marshal(b.head); err != nil {
				t.Error(err)
			}
			for _, s := range append(b.Tree.Values, b.Flat.Values...) {
				decoded(t, s, b.body[s.At:s.At+s.Size])
			}
		}
		for _, draw := range Pictures {
			_ = draw(io.Discard, Source{"a", p}, Options{})
		}
	})
}
