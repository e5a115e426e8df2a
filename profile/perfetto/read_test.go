package perfetto

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/chrometrace"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func read(t *testing.T, data []byte) *profile.Profile {
	t.Helper()
	p, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func written(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sorted is a timeline in one order: a file has its slices lane by lane.
func sorted(t *profile.Timeline) *profile.Timeline {
	r := *profiletest.Renumber(t)
	text := func(s *profile.Slice) string { return fmt.Sprint(s.Kind, s.Name, s.ID, s.Path, len(s.Metrics)) }
	slices.SortFunc(r.Slices, func(a, b profile.Slice) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Duration, b.Duration), cmp.Compare(text(&a), text(&b)))
	})
	slices.SortFunc(r.Flows, func(a, b profile.Flow) int { return cmp.Compare(a.ID, b.ID) })
	return &r
}

func TestRoundTrip(t *testing.T) {
	want := profiletest.SampleTimeline()
	got := read(t, written(t, want))
	if g, w := sorted(got.Timeline), sorted(want.Timeline); !reflect.DeepEqual(g, w) {
		t.Errorf("the timeline came back as\n%+v\nwant\n%+v", g, w)
	}
	if !reflect.DeepEqual(got.Info, want.Info) || !reflect.DeepEqual(got.Devices, want.Devices) {
		t.Errorf("came back: %+v %+v", got.Info, got.Devices)
	}
	for name, kind := range want.Kinds {
		if got.Kinds[name] != kind {
			t.Errorf("%s is of kind %d, want %d", name, got.Kinds[name], kind)
		}
	}
}

// A timeline of any shape comes back as it was: nested or overlapping, begun or ended at the same moment.
func TestRandomTimelinesRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		want := profiletest.RandomTimeline(r)
		if seed%2 == 0 { // few moments, so that they meet
			for i := range want.Timeline.Slices {
				s := &want.Timeline.Slices[i]
				s.Start, s.Duration = profiletest.Start+r.Int64N(12), r.Int64N(8)
			}
			want.Timeline.Flows = nil
		}
		got := read(t, written(t, want))
		if g, w := sorted(got.Timeline), sorted(want.Timeline); !reflect.DeepEqual(g, w) {
			t.Fatalf("seed %d came back as\n%+v\nwant\n%+v", seed, g, w)
		}
	}
}

// Both formats tell the same of what upstream wrote.
func TestUpstreamTracesSurvive(t *testing.T) {
	files, err := filepath.Glob("../../testdata/upstream/*/*.chrome_trace")
	if err != nil || len(files) != 4 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range append(files, "../../testdata/upstream/torch-2.11.kineto.json") {
		want := readChrome(t, file)
		got := read(t, written(t, want))
		if g, w := dump(got.Root), dump(want.Root); g != w {
			t.Errorf("%s: the tree is\n%s\nwant\n%s", file, g, w)
		}
		if len(got.Timeline.Flows) != len(want.Timeline.Flows) {
			t.Errorf("%s: %d arrows, want %d", file, len(got.Timeline.Flows), len(want.Timeline.Flows))
		}
	}
}

func TestCutOffAtAnyByte(t *testing.T) {
	data := written(t, profiletest.SampleTimeline())
	most := 0
	for n := range len(data) {
		p, err := Read(bytes.NewReader(data[:n]))
		if err != nil {
			if most > 0 {
				t.Fatalf("cut to %d of %d bytes: %v", n, len(data), err)
			}
			continue
		}
		if got := len(p.Timeline.Slices); got < most {
			t.Fatalf("cut to %d bytes, %d slices; there were %d in less", n, got, most)
		}
		most = len(p.Timeline.Slices)
	}
	if most != 9 {
		t.Errorf("at most %d slices were read, want 9", most)
	}
}

func TestBadTraces(t *testing.T) {
	for data, want := range map[string]string{
		"":                             "byte 0: there are no track events in it; give a trace that proton or Perfetto's SDK wrote",
		"{}":                           "byte 0: field 15 has an unexpected wire type; this is not a Perfetto trace",
		"\x0a\x03\x40\x01\x5a":         "byte 0: a message within the packet is damaged",
		"\x0a\x05ab":                   "byte 0: the file ends within its first packets; it is cut off or not a Perfetto trace",
		"\x0a\xff\xff\xff\xff\xff\x7f": "byte 0: a packet of 4398046511103 bytes, and at most 67108864 are read; this is not a Perfetto trace",
	} {
		if _, err := Read(bytes.NewReader([]byte(data))); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", data, err, want)
		}
	}
}

// Writers shorten what readers refuse.
func TestPathsThatAreTooDeepAreShortened(t *testing.T) {
	s := read(t, written(t, profiletest.Deep())).Timeline.Slices
	if len(s) != 1 || len(s[0].Path) != profile.MaxDepth {
		t.Errorf("%d slices came back", len(s))
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, profiletest.SampleTimeline()))
	f.Add(written(f, profiletest.RandomTimeline(rand.New(rand.NewPCG(1, 2)))))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(written(t, p)))
		if err != nil && len(p.Timeline.Slices) > 0 {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if err == nil && len(again.Timeline.Slices) != len(p.Timeline.Slices) {
			t.Fatalf("%d slices became %d", len(p.Timeline.Slices), len(again.Timeline.Slices))
		}
		if err == nil && !reflect.DeepEqual(again.Timeline.Counters, p.Timeline.Counters) {
			t.Fatalf("counters %v became %v", p.Timeline.Counters, again.Timeline.Counters)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	p := big(250_000)
	b.SetBytes(int64(len(written(b, p))))
	b.ReportAllocs()
	for b.Loop() {
		written(b, p)
	}
}

func BenchmarkRead(b *testing.B) {
	data := written(b, big(250_000))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}

// big has that many kernels, each with its launch and an arrow.
func big(kernels int) *profile.Profile {
	path := []string{"ROOT", "train_step", "forward", "layer_12", "attention", "triton_poi_fused_add_relu_3"}
	t := &profile.Timeline{Lanes: []profile.Lane{{ID: 0, Kind: profile.ThreadLane, Name: "CPU Thread 0"}, {ID: 1, Kind: profile.StreamLane, Device: "0", Stream: 7, Name: "GPU 0 Stream 7"}}}
	for i := range kernels {
		at := profiletest.Start + int64(i)*7321
		t.Slices = append(t.Slices,
			profile.Slice{Lane: 0, Kind: profile.LaunchSlice, Name: "cuLaunchKernel", Start: at - 9000, Duration: 3000, Path: path[:5], ID: uint64(i + 1)},
			profile.Slice{Lane: 1, Kind: profile.KernelSlice, Name: path[5], Start: at, Duration: 5432, Path: path, ID: uint64(i + 1)})
		t.Flows = append(t.Flows, profile.Flow{ID: uint64(i + 1), From: 0, To: 1, Start: at - 9000, End: at})
	}
	return &profile.Profile{Timeline: t}
}

func readChrome(t *testing.T, file string) *profile.Profile {
	t.Helper()
	p, err := chrometrace.Read(bytes.NewReader(contents(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
