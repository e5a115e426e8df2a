package profiler

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/msgpack"
)

// spoolSink puts windows into a spool, from which a sender deletes them at once.
type spoolSink struct {
	*spool.Writer
	folder   string
	launches int64
}

func (s *spoolSink) Write(_ context.Context, w Window, p *profile.Profile) error {
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		v, _ := n.Metric(profile.CountMetric)
		s.launches += v.Int()
		return true
	})
	if err := s.Put(w.End, func(out io.Writer) error { return msgpack.Write(out, p) }); err != nil {
		return err
	}
	list, err := spool.List(s.folder)
	for i := range list {
		os.Remove(list[i].Path)
	}
	return err
}

// A program that is profiled for weeks, over a fixed set of call paths, with sessions that come and go: what the process holds does not
// grow with the windows that it has pushed.
func TestManyWindows(t *testing.T) {
	windows := 1_000
	if testkit.All() {
		windows = 10_000
	}
	m, f := stage(t)
	folder := filepath.Join(t.TempDir(), "spool")
	if err := spool.Make(folder); err != nil {
		t.Fatal(err)
	}
	sink := &spoolSink{Writer: spool.NewWriter(folder, spool.ProcessLimit), folder: folder}
	id := start(t, m, "p", StartOptions{Deltas: []*Deltas{{Sink: sink, Every: time.Hour}}})
	m.stopRounds()
	launches, other := uint64(0), filepath.Join(t.TempDir(), "other")
	window := func(n int) {
		var extra int
		if n%10 == 0 { // everything is launched in another launch set
			var err error
			if extra, err = m.Start(StartOptions{Name: other, Backend: "fake"}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 50 {
			launches++
			outer, inner := hotpathtest.Enter(fmt.Sprint("layer", i%7)), hotpathtest.Enter(fmt.Sprint("block", i%11))
			hotpathtest.Int("bytes", 1)
			hotpathtest.Launch(launches, 1)
			hotpathtest.Leave(inner)
			hotpathtest.Leave(outer)
			f.kernel(launches, fmt.Sprint("kernel", i%5), 5)
		}
		if n%10 == 0 {
			m.Discard(extra)
		}
		m.Collect()
		m.TakeDeltas()
		f.log = f.log[:0]
	}
	heapAfter := func(n int) int64 {
		testkit.Await(t, "all windows are in the spool", func() bool { return sink.Status().Windows == int64(n) })
		return testkit.Heap()
	}
	for n := range windows / 10 {
		window(n)
	}
	heap, paths := heapAfter(windows/10), len(hotpath.Nodes())
	for n := windows / 10; n < windows; n++ {
		window(n)
	}
	after := heapAfter(windows)
	t.Logf("the heap: %d KiB after %d windows, %d KiB after %d; %d and %d call paths", heap>>10, windows/10, after>>10, windows, paths, len(hotpath.Nodes()))
	if limit := heap + 256<<10; after > limit {
		t.Errorf("%d windows left %d KiB behind", windows-windows/10, (after-heap)>>10)
	}
	finalize(t, m, id, "")
	if sink.launches != int64(launches) || sink.Status().Windows != int64(windows) {
		t.Errorf("%d launches in %d windows, want %d in %d", sink.launches, sink.Status().Windows, launches, windows)
	}
}
