package prometheus

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/internal/runinfo"
)

// left is a process that leaves its counters in a folder.
type left struct {
	t    *testing.T
	path string
	counters.State
}

func leave(t *testing.T, folder string, pid int, rank string) *left {
	return &left{t, counters.NewFile(folder), counters.State{PID: pid, Host: "h", Rank: rank, Rows: []counters.Row{{GPU: "0", Scope: "train", Work: "kernel"}}}}
}

func (l *left) launch(n uint64) {
	l.t.Helper()
	l.Rows[0].Launches += n
	l.Dropped++
	if err := l.Write(l.path); err != nil {
		l.t.Fatal(err)
	}
}

func (l *left) finish() {
	l.Finished = true
	l.launch(0)
}

// values are the values of a family by labels.
func values(families []Family, name string) map[string]float64 {
	out := map[string]float64{}
	for _, f := range families {
		if f.Name == name {
			for _, s := range f.Series {
				key := ""
				for _, l := range s.Labels {
					key += l.Name + "=" + l.Value + " "
				}
				out[strings.TrimSpace(key)] += s.Value
			}
		}
	}
	return out
}

func same(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The processes of one rank are one series, those without a rank have one each, and what has ended still counts.
func TestWhomCountersBelongTo(t *testing.T) {
	folder := t.TempDir()
	c := Collector{Folder: folder}
	zero, again := leave(t, folder, 10, "0"), leave(t, folder, 11, "0")
	alone, other := leave(t, folder, 12, ""), leave(t, folder, 13, "")
	zero.launch(1)
	again.launch(2)
	alone.launch(4)
	c.Collect()
	other.launch(8)
	want := map[string]float64{
		"host=h rank=0 gpu=0 scope=train work=kernel":    3,
		"host=h process=0 gpu=0 scope=train work=kernel": 4,
		"host=h process=1 gpu=0 scope=train work=kernel": 8,
	}
	same(t, "launches", values(c.Collect(), "goproton_launches_total"), want)
	zero.finish()
	alone.finish()
	same(t, "with processes that have ended", values(c.Collect(), "goproton_launches_total"), want)
	if files, err := counters.Files(folder); err != nil || len(files) != 2 {
		t.Errorf("the files of processes that have ended stay: %v, %v", files, err)
	}
	leave(t, folder, 14, "0").launch(16)
	want["host=h rank=0 gpu=0 scope=train work=kernel"] += 16
	same(t, "with a rank that was restarted", values(c.Collect(), "goproton_launches_total"), want)
	same(t, "dropped", values(c.Collect(), "goproton_records_dropped_total"), map[string]float64{"host=h rank=0": 4, "host=h process=0": 2, "host=h process=1": 1})
}

// A process says its rank after it was counted without one, as torch.distributed does. What was counted before stays where it was, and
// nothing counts twice.
func TestARankThatIsSaidLater(t *testing.T) {
	folder := t.TempDir()
	c := Collector{Folder: folder}
	p := leave(t, folder, 10, "")
	p.Overhead = &counters.Overhead{Achieved: 0.004, Budget: 0.01}
	p.Push = &runinfo.PushStatus{Dropped: 1}
	p.Push.Windows = 2
	p.launch(100)
	c.Collect()
	p.Rank = "3"
	p.Rows = append(p.Rows, counters.Row{GPU: "0", Scope: "test", Work: "kernel", Launches: 5})
	p.Push.Windows, p.Push.Evicted = 9, 1
	p.launch(7)
	late := leave(t, folder, 11, "") // the collector never sees it without its rank
	late.launch(1)
	late.Rank = "4"
	late.launch(1)
	want := map[string]float64{
		"host=h process=0 gpu=0 scope=train work=kernel": 100,
		"host=h rank=3 gpu=0 scope=train work=kernel":    7,
		"host=h rank=3 gpu=0 scope=test work=kernel":     5,
		"host=h rank=4 gpu=0 scope=train work=kernel":    2,
	}
	check := func(when string) {
		t.Helper()
		families := c.Collect()
		same(t, "launches "+when, values(families, "goproton_launches_total"), want)
		same(t, "windows "+when, values(families, "goproton_push_windows_total"), map[string]float64{})
		same(t, "overhead "+when, values(families, "goproton_overhead_ratio"), map[string]float64{"host=h rank=3": 0.004})
	}
	check("with the rank")
	c.Pushed = func() Pushed { return Pushed{} }
	windows := values(c.Collect(), "goproton_push_windows_total")
	if windows["result=written"] != 9 || windows["result=dropped"] != 1 || windows["result=evicted"] != 1 {
		t.Errorf("windows: %v", windows)
	}
	c.Pushed = nil
	p.launch(1)
	want["host=h rank=3 gpu=0 scope=train work=kernel"]++
	check("later")
	p.Rank = "" // a session that does not know it
	p.launch(1)
	want["host=h process=0 gpu=0 scope=train work=kernel"]++
	families := c.Collect()
	same(t, "launches without the rank", values(families, "goproton_launches_total"), want)
	p.finish()
	late.finish()
	families = c.Collect()
	same(t, "launches at the end", values(families, "goproton_launches_total"), want)
	same(t, "dropped", values(families, "goproton_records_dropped_total"), map[string]float64{"host=h process=0": 3, "host=h rank=3": 2, "host=h rank=4": 3})
	if len(c.living)+len(c.earlier) > 0 {
		t.Errorf("files that are gone are remembered: %v, %v", c.living, c.earlier)
	}
}

// Processes without a rank have so many numbers, and no process is lost.
func TestManyProcessesWithoutARank(t *testing.T) {
	folder := t.TempDir()
	c := Collector{Folder: folder}
	for pid := range 3 * mostNumbered {
		p := leave(t, folder, 100+pid, "")
		p.launch(1)
		if pid%2 == 0 {
			p.finish()
		}
		c.Collect()
	}
	got, sum := values(c.Collect(), "goproton_launches_total"), 0.0
	for _, v := range got {
		sum += v
	}
	if len(got) != mostNumbered+1 || sum != 3*mostNumbered {
		t.Errorf("%d series, %g launches", len(got), sum)
	}
}

// Counters never shrink, whatever processes and files do.
func TestCountersNeverShrink(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		folder := t.TempDir()
		c := Collector{Folder: folder}
		var living []*left
		last, total := map[string]float64{}, 0.0
		for range 200 {
			switch r.IntN(7) {
			case 0:
				living = append(living, leave(t, folder, r.IntN(40), []string{"", "0", "1"}[r.IntN(3)]))
			case 1:
				if len(living) > 0 {
					at := r.IntN(len(living))
					living[at].finish()
					living = append(living[:at], living[at+1:]...)
				}
			case 2:
				if len(living) > 0 {
					living[r.IntN(len(living))].Rank = []string{"", "0", "2"}[r.IntN(3)]
				}
			case 3: // a file that is damaged or gone, as none should be
				if len(living) > 0 {
					one := living[r.IntN(len(living))]
					if _, err := os.Stat(one.path); err == nil {
						c.Collect()
						if err := os.WriteFile(one.path, []byte("{"), 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
			default:
				if len(living) > 0 {
					n := uint64(r.IntN(5))
					living[r.IntN(len(living))].launch(n)
					total += float64(n)
				}
			}
			got := values(c.Collect(), "goproton_launches_total")
			sum := 0.0
			for key, v := range last {
				if got[key] < v {
					t.Fatalf("seed %d: %s went from %g to %g", seed, key, v, got[key])
				}
			}
			for _, v := range got {
				sum += v
			}
			if sum != total {
				t.Fatalf("seed %d: %g launches are counted, %g were made", seed, sum, total)
			}
			last = got
		}
	}
}

func TestOverheads(t *testing.T) {
	folder := t.TempDir()
	for i, o := range []*counters.Overhead{{Achieved: 0.004, Budget: 0.01}, {Achieved: 0.007, Budget: 0.01}, nil} {
		p := leave(t, folder, 10+i, "0")
		p.Overhead = o
		p.launch(1)
	}
	leave(t, folder, 20, "1").launch(1)
	c := Collector{Folder: folder}
	same(t, "overhead", values(c.Collect(), "goproton_overhead_ratio"), map[string]float64{"host=h rank=0": 0.007})
	same(t, "budget", values(c.Collect(), "goproton_overhead_budget_ratio"), map[string]float64{"host=h rank=0": 0.01})
}

func TestCountersOfTheSender(t *testing.T) {
	folder := t.TempDir()
	p := leave(t, folder, 10, "0")
	p.Push = &runinfo.PushStatus{Dropped: 1}
	p.Push.Windows, p.Push.Evicted = 9, 2
	p.launch(1)
	c := Collector{Folder: folder, Pushed: func() Pushed {
		return Pushed{Sent: 4, Refused: 1, Unreadable: 1, Evicted: 3, Bytes: 700, Retries: 5, Waiting: 2, WaitingBytes: 80}
	}}
	families := c.Collect()
	same(t, "windows", values(families, "goproton_push_windows_total"), map[string]float64{
		"result=written": 9, "result=dropped": 1, "result=sent": 4, "result=refused": 1, "result=unreadable": 1, "result=evicted": 5})
	for name, want := range map[string]float64{"push_windows_waiting": 2, "push_waiting_bytes": 80, "push_sent_bytes_total": 700, "push_retries_total": 5} {
		same(t, name, values(families, "goproton_"+name), map[string]float64{"": want})
	}
	for _, f := range (&Collector{Folder: folder}).Collect() {
		if strings.Contains(f.Name, "push") {
			t.Errorf("%s without a sender", f.Name)
		}
	}
}
