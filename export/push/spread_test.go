package push

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// lasting makes a window of some length that has ended a while ago.
func lasting(length, ago time.Duration) *profile.Profile {
	end := time.Now().Add(-ago)
	p := window(rand.New(rand.NewPCG(7, 8)), 3, end)
	p.Info[profile.InfoStart] = strconv.FormatInt(end.Add(-length).UnixNano(), 10)
	return p
}

// putLong puts windows of half an hour into a spool, which have ended now. With a chance of one in 300, such a window waits less than a second.
func putLong(t *testing.T, folder string, n int) map[string]int64 {
	t.Helper()
	var list []*profile.Profile
	for range n {
		list = append(list, lasting(30*time.Minute, 0))
	}
	return put(t, folder, list...)
}

// How long a window waits is decided by its own length, whichever process sends it.
func TestWindowsWaitForAPartOfTheirLength(t *testing.T) {
	for name, c := range map[string]struct {
		length, ago time.Duration
		over        bool
	}{
		"a second":                  {time.Second, 600 * time.Millisecond, true},
		"a minute":                  {time.Minute, 31 * time.Second, true},
		"a day":                     {24 * time.Hour, longestSpread + time.Second, true},
		"a day, just ended":         {24 * time.Hour, 0, false},
		"an hour, just ended":       {time.Hour, 0, false},
		"of a clock that went back": {24 * time.Hour, -time.Hour, true},
		"with an end before begin":  {-time.Hour, 0, true},
		"without length":            {0, 0, true},
	} {
		folder := filepath.Join(t.TempDir(), "spool")
		put(t, folder, lasting(c.length, c.ago))
		list, err := spool.List(folder)
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		d := delays{}
		for _, asked := range []string{"first", "second"} { // the file is read the first time only
			if d.over(&list[0]) != c.over {
				t.Errorf("%s, asked the %s time: over is not %v: %+v", name, asked, c.over, d)
			}
		}
		if d.forget(); len(d) > 0 && !recent(list[0].End) {
			t.Errorf("%s is not forgotten", name)
		}
		if err := os.WriteFile(list[0].Path, []byte("damaged"), 0o600); err != nil || !(delays{}).over(&list[0]) {
			t.Errorf("%s, damaged: it waits, %v", name, err)
		}
	}
}

// The delays of processes differ, and are less than what they are a part of.
func TestShares(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{-time.Hour: 0, time.Minute: 30 * time.Second, 24 * time.Hour: longestSpread} {
		if got := SpreadOf(length); got != want {
			t.Errorf("windows of %v are spread over %v, want %v", length, got, want)
		}
	}
	var early int
	for pid := range 1000 {
		one := share(pid, time.Minute)
		if one < 0 || one >= time.Minute || one != share(pid, time.Minute) {
			t.Fatalf("process %d waits %v", pid, one)
		}
		if one < 30*time.Second {
			early++
		}
	}
	if early < 400 || early > 600 {
		t.Errorf("%d of 1000 processes wait less than half as long as one may", early)
	}
}

// A sender with the lock sends the short windows of another program in time, though its own program has windows of half an hour.
func TestShortWindowsDoNotWaitForLongOnes(t *testing.T) {
	server := exporttest.New(t)
	folder := filepath.Join(t.TempDir(), "spool")
	putLong(t, folder, 1)
	put(t, folder, lasting(time.Second, 0))
	s := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, Spread: true, pace: quick}
	s.Start()
	testkit.Await(t, "the short window is sent", func() bool { return s.Status().Sent == 1 })
	testkit.Await(t, "it leaves the spool", func() bool { return s.Status().Waiting <= 1 })
	if status := within(s, testkit.Patience()); status.Sent != 2 {
		t.Errorf("status %+v", status)
	}
}

// The end of a program whose sender has not the lock does not wait for windows that the other sender has spread.
func TestTheHolderOfTheLockHurriesForOthers(t *testing.T) {
	for name, ask := range map[string]func(*Sender) Status{
		"at the end": func(s *Sender) Status { return within(s, testkit.Patience()) },
		"finalize": func(s *Sender) Status {
			s.Hurry()
			testkit.Await(t, "the spool is empty", func() bool { return s.Status().Waiting == 0 })
			return within(s, testkit.Patience())
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := exporttest.New(t)
			folder := filepath.Join(t.TempDir(), "spool")
			if err := spool.Make(folder); err != nil {
				t.Fatal(err)
			}
			holder := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, Spread: true, pace: quick}
			holder.Start()
			testkit.Await(t, "the first sender has the lock", func() bool { return holder.Status().Sending })
			want := putLong(t, folder, 3)
			other := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, Spread: true, pace: quick}
			other.Start()
			testkit.Await(t, "the second sender sees the windows", func() bool { return other.Status().Waiting == 3 })
			if status := ask(other); status.Waiting != 0 || status.Sent != 0 {
				t.Errorf("status %+v", status)
			}
			if left := spool.Hurries(folder); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
			if status := within(holder, testkit.Patience()); status.Sent != 3 {
				t.Errorf("the holder: %+v", status)
			}
			sameTotals(t, server.Totals(), want)
		})
	}
}

// What a process has left that was killed while it asked for a hurry has no effect for long.
func TestAnAskerThatWasKilled(t *testing.T) {
	server := exporttest.New(t)
	folder := filepath.Join(t.TempDir(), "spool")
	putLong(t, folder, 1)
	if err := spool.AskToHurry(folder); err != nil {
		t.Fatal(err)
	}
	s := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, Spread: true, pace: quick}
	s.Start()
	testkit.Await(t, "the window is sent", func() bool { return s.Status().Sent == 1 })
	testkit.Await(t, "the file is removed", func() bool { return len(spool.Hurries(folder)) == 0 })
	time.Sleep(4 * quick.look) // a round that has seen the file ends
	putLong(t, folder, 1)
	testkit.Await(t, "the sender sees the next window", func() bool { return s.Status().Waiting == 1 })
	time.Sleep(4 * quick.look)
	if status := s.Status(); status.Sent != 1 {
		t.Errorf("a window is not spread: %+v", status)
	}
	within(s, testkit.Patience())
}
