package compare

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// LaunchDiff says where the tensors of two runs begin to differ.
type LaunchDiff struct {
	TraceA    string         `json:"trace_a"`
	TraceB    string         `json:"trace_b"`
	Pairs     int            `json:"pairs"`  // of launches whose tensors were compared
	OnlyA     int            `json:"only_a"` // launches that have no partner
	OnlyB     int            `json:"only_b"`
	Tensors   map[Status]int `json:"tensors"`
	Differing []LaunchPair   `json:"differing"` // in the order of A's records
}

type LaunchPair struct {
	Kernel string            `json:"kernel"`
	A      tritonparse.Place `json:"a"`
	B      tritonparse.Place `json:"b"`
	TensorDiff
}

// partners is what launches of two runs have in common: the nth of a kernel in a process of a rank. Processes without a rank
// are taken for one.
type partners struct {
	kernel string
	rank   int // -1 for none
	number int
}

// Launches compares the tensors of all launches that both traces tell something of. Those by which autotuners time
// configurations are left out. want says which kernels are meant, nil for all.
func Launches(a, b *tritonparse.Trace, want func(kernel string) bool, c *Comparer) (*LaunchDiff, error) {
	d := &LaunchDiff{TraceA: a.Source, TraceB: b.Source, Tensors: map[Status]int{}, Differing: []LaunchPair{}}
	ofA := map[partners]*tritonparse.LaunchRecord{}
	err := eachTelling(a, want, func(p partners, l *tritonparse.LaunchRecord) {
		ofA[p] = &tritonparse.LaunchRecord{Name: l.Name, Args: l.Args, File: l.File, Line: l.Line, ID: l.ID}
	})
	if err != nil {
		return nil, err
	}
	err = eachTelling(b, want, func(p partners, y *tritonparse.LaunchRecord) {
		x := ofA[p]
		if x == nil {
			d.OnlyB++
			return
		}
		delete(ofA, p)
		d.add(x, y, c)
	})
	if err != nil {
		return nil, err
	}
	d.OnlyA = len(ofA)
	if d.Pairs == 0 {
		return nil, fmt.Errorf("no launch of %s and its partner in %s both say what is in their tensors; %s", a.Source, b.Source, howToRecord)
	}
	slices.SortStableFunc(d.Differing, func(p, q LaunchPair) int {
		return cmp.Or(cmp.Compare(slices.Index(a.Files, p.A.File), slices.Index(a.Files, q.A.File)), cmp.Compare(p.A.Line, q.A.Line))
	})
	return d, nil
}

func eachTelling(t *tritonparse.Trace, want func(kernel string) bool, do func(partners, *tritonparse.LaunchRecord)) error {
	next := map[partners]int{}
	file, rank := "", -1
	return t.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		if !tells(l) || want != nil && !want(l.Name) || l.Benchmark() {
			return nil
		}
		if l.File != file {
			file, rank = l.File, -1
			if name := tritonparse.ParseName(file); name.HasRank {
				rank = name.Rank
			}
		}
		kernel := partners{kernel: l.Name, rank: rank}
		do(partners{l.Name, rank, next[kernel]}, l)
		next[kernel]++
		return nil
	})
}

func (d *LaunchDiff) add(a, b *tritonparse.LaunchRecord, c *Comparer) {
	d.Pairs++
	all := c.Launches(a, b)
	for _, t := range all.Tensors {
		d.Tensors[t.Status]++
	}
	pair := LaunchPair{Kernel: a.Name, A: a.Place(), B: b.Place()}
	for _, t := range all.differing() {
		pair.Tensors = append(pair.Tensors, *t)
	}
	if len(pair.Tensors) > 0 {
		d.Differing = append(d.Differing, pair)
	}
}

// WriteText prints what differs for people: most tensors, 0 for all.
func (d *LaunchDiff) WriteText(w io.Writer, most int) error {
	p := &printer{w: w}
	p.printf("%s → %s\n\n", term.Printable(d.TraceA), term.Printable(d.TraceB))
	p.printf("%d launches of each say what was in their tensors before they ran; %d more of A and %d of B have no partner\n", d.Pairs, d.OnlyA, d.OnlyB)
	counts := [][]string{{"TENSORS", ""}}
	for _, s := range []Status{Identical, Equal, Close, OtherContents, SameStatistics, CloseStatistics, OtherStatistics, OtherType, OtherShape, NotCompared} {
		if n := d.Tensors[s]; n > 0 {
			counts = append(counts, []string{strconv.Itoa(n), string(s)})
		}
	}
	p.table(counts)
	rows := [][]string{{"KERNEL", "LAUNCH", "RECORDS", "TENSOR", "A", "B", ""}}
	var values valueTable
	more := 0
	for i := range d.Differing {
		l := &d.Differing[i]
		for j := range l.Tensors {
			if most > 0 && len(rows) > most {
				more++
				continue
			}
			t := &l.Tensors[j]
			rows = append(rows, []string{l.Kernel, strconv.Itoa(l.A.ID), fmt.Sprintf("%d, %d", l.A.Line, l.B.Line), t.Name, t.A, t.B, t.brief()})
			values.add(fmt.Sprintf("%s %d ", l.Kernel, l.A.ID), t)
		}
	}
	p.table(rows)
	values.print(p)
	if more > 0 {
		p.printf("\n… %d more tensors; --lines 0 prints all\n", more)
	}
	return p.err
}

// Time is how long a kernel ran, in a profile.
type Time struct {
	Launches uint64  `json:"launches"`
	Nanos    float64 `json:"ns"`                // of all launches
	ByName   bool    `json:"by_name,omitempty"` // of all kernels of that name: the profile does not tell them apart by hash
	Least    uint64  `json:"least_ns,omitempty"`
	Most     uint64  `json:"most_ns,omitempty"`
}

// Mean is the time of one launch in ns.
func (t *Time) Mean() float64 {
	if t == nil || t.Launches == 0 {
		return 0
	}
	return t.Nanos / float64(t.Launches)
}

// TimeOf finds the time of a compilation in a profile: by its hash if the run was traced, otherwise by the kernel's name. It is nil
// if the profile has none.
func TimeOf(p *profile.Profile, c *tritonparse.Compilation) *Time {
	if p == nil {
		return nil
	}
	var byHash, byName profile.Durations
	tritonparse.EachMeasured(p, profile.Filter{}, func(m tritonparse.Measured) {
		switch {
		case m.Launch != nil && m.Hash == c.Hash:
			byHash.Add(&m.Durations)
		case m.Launch == nil && m.Kernel == c.Name:
			byName.Add(&m.Durations)
		}
	})
	switch {
	case byHash.Count > 0:
		return &Time{Launches: byHash.Count, Nanos: float64(byHash.Nanos), Least: byHash.Least, Most: byHash.Most}
	case byName.Count > 0 && len(p.Launches) == 0:
		return &Time{Launches: byName.Count, Nanos: float64(byName.Nanos), ByName: true}
	}
	return nil
}
