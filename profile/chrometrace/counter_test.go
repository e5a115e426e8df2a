package chrometrace_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/chrometrace"
)

func TestCountersSurvive(t *testing.T) {
	const start = int64(1_700_000_000_000_000_000)
	p := &profile.Profile{Info: profile.Info{profile.InfoName: "train"}, Timeline: &profile.Timeline{}}
	p.Timeline.Lanes = []profile.Lane{{ID: 0, Name: "CPU Thread 0", Thread: 7}, {ID: 1, Name: "CPU Thread 0", Thread: 8, Process: "rank 1"}}
	p.Timeline.Slices = []profile.Slice{{Lane: 0, Name: "step", Start: start, Duration: 5000, Path: []string{"ROOT", "step"}}}
	p.Timeline.Counters = []profile.Counter{
		{Name: "GPU 0 allocated", Points: []profile.Point{{At: start - 1000, Value: 512}, {At: start + 1500, Value: 81 << 30}, {At: start + 1500, Value: 0}}},
		{Name: "GPU 0 allocated", Process: "rank 1", Points: []profile.Point{{At: start + 7, Value: 3}}},
	}
	var b bytes.Buffer
	if err := chrometrace.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and what was read is written the same
		again, err := chrometrace.Read(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again.Timeline.Counters, p.Timeline.Counters) {
			t.Fatalf("got %v, want %v\n%s", again.Timeline.Counters, p.Timeline.Counters, b.String())
		}
		text := b.String()
		b.Reset()
		if err := chrometrace.Write(&b, again); err != nil {
			t.Fatal(err)
		}
		if b.String() != text {
			t.Fatalf("written again:\n%s\nbefore:\n%s", b.String(), text)
		}
	}
}

func TestCountersThatComeFirst(t *testing.T) {
	var b bytes.Buffer
	w := chrometrace.NewWriter(&b, 0, &chrometrace.Options{Process: "train"})
	for _, at := range []int64{30, 10, 20} { // of several threads
		if err := w.Count("allocated", "", profile.Point{At: at, Value: at}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Lane(profile.Lane{Name: "CPU Thread 0"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"process_name"`) {
		t.Error("the process has no name")
	}
	p, err := chrometrace.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	want := []profile.Counter{{Name: "allocated", Points: []profile.Point{{At: 10, Value: 10}, {At: 20, Value: 20}, {At: 30, Value: 30}}}}
	if !reflect.DeepEqual(p.Timeline.Counters, want) {
		t.Errorf("got %v, want %v", p.Timeline.Counters, want)
	}
}
