package control

import (
	"context"
	"testing"
	"time"

	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler"
)

// Two sessions have intervals that end at the same time, and put their windows into one spool.
func TestSessionsThatShareASpool(t *testing.T) {
	var s Service
	folder := t.TempDir()
	end := time.Unix(1795428060, 0)
	for range 2 {
		deltas, err := s.pushDeltas(&runinfo.Push{Spool: folder, Seconds: 60})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			w := profiler.Window{Begin: end.Add(-time.Minute), End: end}
			if err := deltas.Sink.Write(context.Background(), w, &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Info: map[string]string{}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	list, err := spool.List(folder)
	if err != nil || len(list) != 6 {
		t.Errorf("%d of 6 windows wait (%v)", len(list), err)
	}
}
