package lanes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// written is an event of a small trace: a launch of a process, or a kernel below one.
type written struct {
	kernel  bool
	process Process
	device  string
	id      uint64
}

func launched(id string, number uint64) written {
	return written{process: Process{ID: id}, id: number}
}

func ran(id, device string, number uint64) written {
	return written{kernel: true, process: Process{ID: id}, device: device, id: number}
}

func (w written) part(n int) written { w.process.Part = n; return w }

// TestProcessesOfLanes: for each kernel, the process of its lane and that of its launch, "-" for none, and the notes.
func TestProcessesOfLanes(t *testing.T) {
	const shared, order, root = "% of the GPU time has correlation ids that several processes use", ": it counts for the process whose events come before it in the file", ", and nothing says whose it is: it stands at the root"
	for name, c := range map[string]struct {
		events []written
		names  map[string]string
		want   string
		note   string
	}{
		"one process":                 {events: []written{launched("100", 1), ran("0", "0", 1)}, want: ":0"},
		"one process of one pid":      {events: []written{launched("100", 1), ran("100", "0", 1)}, want: ":0"},
		"two GPUs":                    {events: []written{launched("100", 1), launched("100", 2), ran("0", "0", 1), ran("1", "1", 2)}, want: ":0 :1"},
		"two GPUs without ordinals":   {events: []written{launched("100", 1), launched("100", 2), ran("a", "", 1), ran("b", "", 2)}, want: ":a :b"},
		"GPUs only":                   {events: []written{ran("0", "0", 1), ran("1", "1", 2)}, want: ":0- :1-"},
		"a pid that is a GPU's too":   {events: []written{launched("1", 1), launched("7", 2), ran("1", "1", 2), ran("0", "0", 1)}, want: "process 7:1 process 1:0"},
		"each has its own":            {events: []written{launched("100", 1), launched("101", 1), ran("100", "0", 1), ran("101", "0", 1)}, want: "process 100:0 process 101:0"},
		"texts, rank first":           {events: []written{launched("[TP0] 9", 1), launched("[TP1] 9", 1), ran("[TP1] 0", "0", 1), ran("[TP0] 0", "0", 1)}, want: "[TP1] 9:0 [TP0] 9:0"},
		"texts, rank last":            {events: []written{launched("9 (rank 0)", 1), launched("9 (rank 1)", 1), ran("0 (rank 1)", "0", 1), ran("0 (rank 0)", "0", 1)}, want: "9 (rank 1):0 9 (rank 0):0"},
		"a text whose calls are gone": {events: []written{launched("[TP0] 9", 1), ran("[TP1] 0", "0", 1)}, want: "[TP1] 0:0-"},
		"parts of equal pids":         {events: []written{launched("9", 1), ran("0", "0", 1), launched("9", 1).part(1), ran("0", "0", 1).part(1)}, want: "process 9:0 process 9 of part 2:0"},
		"one name": {events: []written{launched("100", 1), launched("101", 1), ran("100", "0", 1), ran("101", "0", 1)}, names: map[string]string{"100": "python", "101": "python"},
			want: "python (process 100):0 python (process 101):0"},
		"names that differ": {events: []written{launched("100", 1), launched("101", 1), ran("100", "0", 1), ran("101", "0", 1)}, names: map[string]string{"100": "a", "101": "b"},
			want: "a:0 b:0"},
		"one file after the other":   {events: []written{launched("100", 1), ran("0", "0", 1), launched("101", 1), ran("1", "1", 1)}, want: "process 100:0 process 101:1", note: "100.0" + shared + order},
		"with one GPU":               {events: []written{launched("100", 1), ran("0", "0", 1), launched("101", 1), ran("0", "0", 1)}, want: "process 100:0 process 101:0", note: "100.0" + shared + order},
		"ids that differ":            {events: []written{launched("100", 1), launched("101", 2), ran("1", "1", 2), ran("0", "0", 1)}, want: "process 101:1 process 100:0"},
		"and one GPU":                {events: []written{launched("100", 1), launched("101", 2), ran("0", "0", 2), ran("0", "0", 1)}, want: "process 101:0 process 100:0"},
		"a launch that is not there": {events: []written{launched("100", 1), launched("101", 2), ran("0", "0", 1), ran("0", "0", 9)}, want: "process 100:0 process 100:0-"},
		"nothing says it":            {events: []written{launched("100", 1), launched("101", 1), ran("0", "0", 1), ran("1", "1", 1)}, want: "unknown process (process 0):0- unknown process (process 1):1-", note: "100.0" + shared + root},
		"of a part nothing says it":  {events: []written{launched("100", 1), launched("101", 1), launched("101", 2), ran("0", "0", 1), ran("0", "0", 2)}, want: "unknown process:0- process 101:0", note: "50.0" + shared + root},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder()
			found := map[written]*Lane{}
			for i, e := range c.events {
				key := e
				key.id = 0
				l := found[key]
				if l == nil {
					l = b.NewLane()
					l.In, l.Device = e.process, e.device
					if e.kernel {
						l.Kind = profile.StreamLane
					}
					found[key] = l
				}
				category := "launch"
				if e.kernel {
					category = "kernel"
				}
				b.Slice(l, &Event{Category: category, Name: category, Start: int64(100 * i), ID: e.id}, 10)
			}
			for id, name := range c.names {
				b.NameProcess(id, name)
			}
			b.EndDocument(0)
			p := b.Finish(-1)
			paths := p.Timeline.CallPaths()
			var got []string
			for i, s := range p.Timeline.Slices {
				if s.Kind != profile.KernelSlice {
					continue
				}
				lane := p.Timeline.Lanes[s.Lane]
				text := fmt.Sprint(lane.Process, ":", lane.Device)
				launch, known := paths.Launch(int32(i))
				if !known {
					text += "-"
				} else if with := p.Timeline.Lanes[p.Timeline.Slices[launch].Lane].Process; with != lane.Process {
					text += " launched by " + with
				}
				got = append(got, text)
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("kernels are of %q, want %q", got, c.want)
			}
			if note := p.Info[profile.InfoNote]; note != c.note {
				t.Errorf("the note is %q, want %q", note, c.note)
			}
		})
	}
}

// Arrows that lead from a call of one process to work of another are of two arrows with one id.
func TestArrowsBetweenProcesses(t *testing.T) {
	b := NewBuilder()
	var lanes []*Lane
	for i, id := range []string{"100", "100", "101", "101"} {
		l := b.NewLane()
		l.In.ID = id
		lanes = append(lanes, l)
		b.Slice(l, &Event{Category: []string{"launch", "kernel"}[i%2], Start: int64(10 * i)}, 5)
	}
	for _, f := range [][2]int{{0, 1}, {0, 3}, {2, 3}, {0, 2}} {
		b.Flow(profile.Flow{From: lanes[f[0]].ID, To: lanes[f[1]].ID, Start: int64(10 * f[0]), End: int64(10 * f[1])})
	}
	b.EndDocument(0)
	p := b.Finish(-1)
	var got [][2]int
	for _, f := range p.Timeline.Flows {
		got = append(got, [2]int{f.From, f.To})
	}
	if want := [][2]int{{0, 1}, {2, 3}, {0, 2}}; !slices.Equal(got, want) || !strings.HasPrefix(p.Info[profile.InfoNote], "1 arrow is left out") {
		t.Errorf("arrows %v, want %v; the note is %q", got, want, p.Info[profile.InfoNote])
	}
}
