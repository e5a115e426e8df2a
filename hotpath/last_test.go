package hotpath_test

import (
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
)

func TestLastLaunchIsFoundAlsoWhenItIsDrained(t *testing.T) {
	begin(t, false)
	hotpathtest.Launch(101, 10)
	before := hotpathtest.LastCorrelation()
	if _, ok := hotpathtest.LastLaunch(before); ok || before != 101 {
		t.Fatalf("a launch came after %d, the last one", before)
	}
	outer := hotpathtest.Enter("outer")
	hotpathtest.Op("op", 11)
	hotpathtest.Launch(102, 11)
	hotpathtest.Leave(outer)
	for _, when := range []string{"in the ring", "drained"} {
		r, ok := hotpathtest.LastLaunch(before)
		if !ok || r.Correlation() != 102 || path(r.Node) != "outer > op" || r.Flags&hotpath.FlagOp == 0 || r.Set != 1 {
			t.Errorf("%s: got %v, %+v at %q", when, ok, r, path(r.Node))
		}
		drained()
	}
}

func TestLastLaunchBehindACopyOrManyRecords(t *testing.T) {
	begin(t, false)
	hotpathtest.Launch(201, 10)
	hotpathtest.Work(202)
	if r, ok := hotpathtest.LastLaunch(200); !ok || r.Correlation() != 202 {
		t.Errorf("got %v, %+v", ok, r)
	}
	hotpathtest.Launch(203, 10)
	for i := range 10 {
		hotpathtest.NodeCreated(1, uint64(i))
	}
	if r, ok := hotpathtest.LastLaunch(202); ok {
		t.Errorf("%+v is too far back to be sure of", r)
	}
	drained()
}

func TestOwnWorkIsOfNoSession(t *testing.T) {
	begin(t, false)
	drained()
	hotpathtest.Launch(301, 10)
	if hotpathtest.OwnWork(true) {
		t.Error("work was the profiler's before it began")
	}
	hotpathtest.Work(302)
	hotpathtest.NodeCreated(3, 4)
	if !hotpathtest.OwnWork(false) || hotpathtest.LastCorrelation() != 301 {
		t.Errorf("the last correlation id is %d, that of own work", hotpathtest.LastCorrelation())
	}
	hotpathtest.Work(303)
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
