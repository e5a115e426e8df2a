package chrometrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func TestWriteGolden(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, profiletest.SampleTimeline()); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out.Bytes()) {
		t.Errorf("not JSON:\n%s", out.Bytes())
	}
	testkit.Golden(t, "testdata/step.chrome_trace", out.Bytes())
}

func TestStreamsOfTwoGPUsHaveLanesOfTheirOwn(t *testing.T) {
	table := newLaneTable()
	seen := map[threadID]bool{}
	id := 0
	for _, process := range []string{"rank 0", "rank 1"} {
		for device := range 3 {
			for context := range uint32(3) {
				for _, stream := range []uint32{0, 7, 999, 1000, math.MaxUint32} {
					for _, kind := range []profile.LaneKind{profile.GraphLane, profile.StreamLane, profile.ThreadLane, profile.WarpLane} {
						id++
						w, _, err := table.add(profile.Lane{ID: id, Kind: kind, Device: fmt.Sprint(device), Context: context, Stream: stream, Process: process})
						if err != nil {
							t.Fatal(err)
						}
						if seen[w.rows[0].threadID] {
							t.Errorf("%v is given out twice", w.rows[0].threadID)
						}
						seen[w.rows[0].threadID] = true
						band := []int{profile.ThreadLane: firstThread, profile.GraphLane: firstGraph, profile.StreamLane: firstStream, profile.WarpLane: firstWarp}[kind]
						if w.rows[0].tid < band || w.rows[0].tid >= band+bandWidth {
							t.Errorf("a lane of kind %d got id %d, outside its band", kind, w.rows[0].tid)
						}
					}
				}
			}
		}
	}
}

func TestTimesAreExact(t *testing.T) {
	for _, ns := range []uint64{0, 1, 9, 10, 100, 999, 1000, 1001, 30200, 123456789, math.MaxUint64} {
		got := string(appendMicros(nil, ns))
		var whole, part uint64
		if n, _ := fmt.Sscanf(got, "%d.", &whole); n != 1 {
			t.Fatalf("%d ns is %q", ns, got)
		}
		if _, digits, ok := strings.Cut(got, "."); ok {
			fmt.Sscanf((digits + "00")[:3], "%d", &part)
		}
		if whole*1000+part != ns || strings.HasSuffix(got, ".") {
			t.Errorf("%d ns became %s us", ns, got)
		}
	}
}

func TestTimesNeverBeginBeforeTheBase(t *testing.T) {
	w := NewWriter(io.Discard, 1000, nil)
	for _, test := range []struct{ start, duration, wantStart, wantDuration int64 }{
		{1500, 20, 500, 20},
		{900, 250, 0, 150},
		{900, 50, 0, 0},
		{1000, -5, 0, 0},
	} {
		start, duration := w.since(test.start, test.duration)
		if start != uint64(test.wantStart) || duration != uint64(test.wantDuration) {
			t.Errorf("%d for %d ns became %d for %d", test.start, test.duration, profiletest.Start, duration)
		}
	}
	w = NewWriter(io.Discard, math.MinInt64, nil)
	if start, _ := w.since(math.MaxInt64, 1); start != math.MaxUint64 {
		t.Errorf("the longest time became %d", start)
	}
}

func TestStringsAreJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range []string{"", "a", "exactly8", "with \"quotes\"", `back\slash`, "tab\there", "\x00\x1f\x7f", "Größe 日本 🚀", "cut \xe2\x82", strings.Repeat("long name ", 20) + "\n"} {
		for range 20 {
			text := s
			if at := r.IntN(len(s) + 1); s != "" {
				text = s[at:] + s[:at]
			}
			var back string
			got := jsontext.AppendString(nil, text)
			if err := json.Unmarshal(got, &back); err != nil || back != strings.ToValidUTF8(text, "\uFFFD") && utf8.ValidString(text) {
				t.Errorf("%q became %s: %v", text, got, err)
			}
		}
	}
}

func TestWriterSaysWhatIsWrong(t *testing.T) {
	w := NewWriter(io.Discard, 0, nil)
	err := w.Slice(&profile.Slice{Lane: 3, Name: "gemm"})
	if err == nil || err.Error() != `write trace: slice "gemm" is on lane 3, which was not described before it` {
		t.Errorf("got %v", err)
	}
	if again := w.Lane(profile.Lane{ID: 3}); again != err {
		t.Errorf("the first error does not stick: %v", again)
	}
	if closed := w.Close(); closed != err {
		t.Errorf("Close says %v", closed)
	}
	w = NewWriter(io.Discard, 0, nil)
	w.Lane(profile.Lane{ID: 1, Name: "a"})
	if err := w.Lane(profile.Lane{ID: 1, Name: "b"}); err == nil {
		t.Error("a lane was described twice")
	}
	if err := Write(io.Discard, &profile.Profile{Root: &profile.Node{}}); !errors.Is(err, profile.ErrNoTimeline) {
		t.Errorf("a profile of sums was written: %v", err)
	}
}

// A program may be killed at any time; what it has written by then must be a whole document.
func TestSealedFileIsWholeAfterEveryWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.chrome_trace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := NewWriter(f, profiletest.Start, &Options{Sealed: true})
	events := func() int {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ TraceEvents []json.RawMessage }
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return len(doc.TraceEvents)
	}
	w.Lane(profile.Lane{ID: 1})
	w.Facts(profiletest.SampleTimeline().Devices, profiletest.SampleTimeline().Kinds)
	for i := range 3 {
		if err := w.Slice(&profile.Slice{Lane: 1, Name: "step", Start: profiletest.Start + int64(i)}); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := events(); got != 5+i {
			t.Errorf("%d events after write %d, want %d", got, i, 5+i)
		}
	}
	w.Facts(nil, nil) // the end gets shorter
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil || events() != 7 {
		t.Errorf("closed twice: %v, %d events", err, events())
	}
}

// smallDisk has room for some bytes of a file.
type smallDisk struct {
	*os.File
	room int64
}

func (d smallDisk) Write(p []byte) (int, error) {
	at, err := d.Seek(0, io.SeekCurrent)
	if err != nil || at+int64(len(p)) <= d.room {
		n, _ := d.File.Write(p)
		return n, err
	}
	n, _ := d.File.Write(p[:d.room-at])
	return n, syscall.ENOSPC
}

// A disk that is full in the middle of a write leaves what was there before it, as a whole document.
func TestSealedFileIsWholeOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.chrome_trace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := NewWriter(smallDisk{f, 1200}, profiletest.Start, &Options{Sealed: true})
	w.Lane(profile.Lane{ID: 1})
	w.Facts(profiletest.SampleTimeline().Devices, nil)
	for err == nil {
		w.Slice(&profile.Slice{Lane: 1, Name: "step", Start: profiletest.Start})
		w.Slice(&profile.Slice{Lane: 1, Name: "step", Start: profiletest.Start})
		err = w.Flush()
	}
	text, _ := os.ReadFile(path)
	var doc struct{ TraceEvents []json.RawMessage }
	if bad := json.Unmarshal(text, &doc); bad != nil || len(doc.TraceEvents) < 6 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, %v; left is\n%s", err, bad, text)
	}
}

func TestSealingNeedsAFile(t *testing.T) {
	if err := NewWriter(&bytes.Buffer{}, 0, &Options{Sealed: true}).Close(); err == nil {
		t.Error("a buffer was sealed")
	}
}

func TestSliceDoesNotAllocate(t *testing.T) {
	w := NewWriter(io.Discard, profiletest.Start, nil)
	w.Lane(profile.Lane{ID: 1})
	s := &profiletest.SampleTimeline().Timeline.Slices[5]
	s.Lane = 1
	if n := testing.AllocsPerRun(1000, func() {
		w.Slice(s)
		w.Flow(profile.Flow{ID: 1, From: 1, To: 1, Start: profiletest.Start, End: profiletest.Start})
	}); n > 0 {
		t.Errorf("%v allocations per slice and flow", n)
	}
}

// benchKernel is a typical kernel event: 243 bytes of JSON.
func benchKernel(i int) profile.Slice {
	return profile.Slice{Lane: 2, Kind: profile.KernelSlice, Name: "triton_poi_fused_add_relu_3", Start: profiletest.Start + int64(i)*7321, Duration: 5432, ID: uint64(i), Path: []string{
		"ROOT", "train_step", "forward", "layer_12", "attention", "triton_poi_fused_add_relu_3"}}
}

func BenchmarkWrite(b *testing.B) { benchmarkWrite(b, io.Discard) }

func BenchmarkWriteFile(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "bench.chrome_trace"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	benchmarkWrite(b, &wrapping{f: f})
}

// wrapping keeps a benchmark's file below 256 MB.
type wrapping struct {
	f *os.File
	n int
}

func (w *wrapping) Write(p []byte) (int, error) {
	if w.n += len(p); w.n > 256<<20 {
		w.n = 0
		if _, err := w.f.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
	}
	return w.f.Write(p)
}

// benchmarkWrite writes a kernel with its launch and arrow per round: four events.
func benchmarkWrite(b *testing.B, to io.Writer) {
	count := &counting{w: to}
	w := NewWriter(count, profiletest.Start, nil)
	w.Lane(profile.Lane{ID: 1, Kind: profile.ThreadLane})
	w.Lane(profile.Lane{ID: 2, Kind: profile.StreamLane, Device: "0", Stream: 7})
	kernel := benchKernel(0)
	launch := kernel
	launch.Lane, launch.Kind, launch.Name, launch.Path = 1, profile.LaunchSlice, "cuLaunchKernel", kernel.Path[:5]
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		kernel.Start, kernel.ID = profiletest.Start+int64(i)*7321, uint64(i)
		launch.Start, launch.ID = kernel.Start-9000, kernel.ID
		w.Slice(&launch)
		w.Flow(profile.Flow{ID: kernel.ID, From: 1, To: 2, Start: launch.Start, End: kernel.Start})
		if err := w.Slice(&kernel); err != nil {
			b.Fatal(err)
		}
	}
	w.Close()
	b.SetBytes(count.n / int64(b.N))
}

type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.w.Write(p)
}
