package hotpath_test

import (
	"testing"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/internal/hotpath/drive"
)

func TestLastLaunchIsFoundAlsoWhenItIsDrained(t *testing.T) {
	begin(t, false)
	drive.Launch(101, 10)
	before := drive.LastCorrelation()
	if _, ok := drive.LastLaunch(before); ok || before != 101 {
		t.Fatalf("a launch came after %d, the last one", before)
	}
	outer := drive.Enter("outer")
	drive.Op("op", 11)
	drive.Launch(102, 11)
	drive.Leave(outer)
	for _, when := range []string{"in the ring", "drained"} {
		r, ok := drive.LastLaunch(before)
		if !ok || r.Correlation() != 102 || path(r.Node) != "outer > op" || r.Flags&hotpath.FlagOp == 0 || r.Set != 1 {
			t.Errorf("%s: got %v, %+v at %q", when, ok, r, path(r.Node))
		}
		drained()
	}
}

func TestLastLaunchBehindACopyOrManyRecords(t *testing.T) {
	begin(t, false)
	drive.Launch(201, 10)
	drive.Work(202)
	if r, ok := drive.LastLaunch(200); !ok || r.Correlation() != 202 {
		t.Errorf("got %v, %+v", ok, r)
	}
	drive.Launch(203, 10)
	for i := range 10 {
		drive.NodeCreated(1, uint64(i))
	}
	if r, ok := drive.LastLaunch(202); ok {
		t.Errorf("%+v is too far back to be sure of", r)
	}
	drained()
}

func TestOwnWorkIsOfNoSession(t *testing.T) {
	begin(t, false)
	drained()
	drive.Launch(301, 10)
	if drive.OwnWork(true) {
		t.Error("work was the profiler's before it began")
	}
	drive.Work(302)
	drive.NodeCreated(3, 4)
	if !drive.OwnWork(false) || drive.LastCorrelation() != 301 {
		t.Errorf("the last correlation id is %d, that of own work", drive.LastCorrelation())
	}
	drive.Work(303)
	var got []hotpath.Record
	hotpath.Drain(func(_ uintptr, rs []hotpath.Record) { got = append(got, rs...) })
	for i, want := range []struct {
		set   uint32
		flags uint8
	}{{1, 0}, {0, 0}, {0, hotpath.FlagOwn}, {1, 0}} {
		if i >= len(got) || got[i].Set != want.set || got[i].Flags != want.flags {
			t.Fatalf("record %d of %+v: want %+v", i, got, want)
		}
	}
}
