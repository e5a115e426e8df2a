package aggregate

import (
	"maps"
	"slices"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profile"
)

// IdleFrame has what a GPU took while it had nothing to do, such as energy.
const IdleFrame = "<idle>"

// Work and readings come late and in any order. Work waits in a heap until much newer work is known; then a sweep over the time of
// each GPU goes on to its beginning. A reading that comes behind the sweep belongs to <idle>.
type readings struct {
	gauges  []record.Gauge // those of all kinds of readings
	devices map[uint32]*sweep
	sums    map[*node][]float64 // by gauge; that of <idle> under nil
}

// sweep is the state of one GPU.
type sweep struct {
	pending spells
	running []spell // work that began before `at` and ends after it
	at      uint64
	series  []*series
}

// series are the readings of one kind.
type series struct {
	first  int // position of its gauges among those of all kinds
	gauges []record.Gauge
	points []point // in order of time, the first that the sweep has not passed before the others
	// Of the first point: how long each node has run in it, and none, as far as the sweep has come.
	parts map[*node]float64
}

// point is a reading.
type point struct {
	start, end uint64
	amounts    []float64
}

func newReadings() *readings {
	return &readings{devices: map[uint32]*sweep{}, sums: map[*node][]float64{}}
}

func (r *readings) device(ordinal uint32) *sweep {
	d := r.devices[ordinal]
	if d == nil {
		d = &sweep{}
		r.devices[ordinal] = d
	}
	return d
}

// work takes a piece of work.
func (r *readings) work(k *record.Activity, n *node) {
	if k.Kind == record.Sync || !k.Timed() {
		return
	}
	d := r.device(k.Device)
	d.pending.add(spell{k.Start, k.End, n})
	if len(d.pending) > maxPending {
		d.begin(r, d.pending.next())
	}
}

// read takes a reading. Those of a kind and a GPU come in order of time.
func (r *readings) read(reading *record.Reading) {
	s := r.seriesOf(r.device(reading.Device), reading)
	s.points = append(s.points, point{reading.Start, reading.End, reading.Amounts})
	if n := len(s.points); n > maxPending { // nothing has run for long
		r.device(reading.Device).goOn(r, s.points[n/2].start)
	}
}

// goOn sweeps to a time, over the work that is known.
func (d *sweep) goOn(r *readings, until uint64) {
	for len(d.pending) > 0 && d.pending[0].start < until {
		d.begin(r, d.pending.next())
	}
	d.to(r, until)
}

func (r *readings) seriesOf(d *sweep, reading *record.Reading) *series {
	for _, s := range d.series {
		if &s.gauges[0] == &reading.Gauges[0] {
			return s
		}
	}
	first := slices.Index(r.gauges, reading.Gauges[0])
	if first < 0 {
		first = len(r.gauges)
		r.gauges = append(r.gauges, reading.Gauges...)
	}
	s := &series{first: first, gauges: reading.Gauges, parts: map[*node]float64{}}
	d.series = append(d.series, s)
	return s
}

// begin sweeps to the beginning of the next work.
func (d *sweep) begin(r *readings, s spell) {
	d.to(r, s.start)
	if s.end > d.at {
		d.running = append(d.running, s)
	}
}

// to sweeps to a later time, from one end of running work to the next.
func (d *sweep) to(r *readings, until uint64) {
	for d.at < until {
		next := until
		for _, s := range d.running {
			next = min(next, s.end)
		}
		for _, s := range d.series {
			s.share(r, d.at, next, d.running)
		}
		d.at = next
		d.running = slices.DeleteFunc(d.running, func(s spell) bool { return s.end <= next })
	}
}

// share counts what ran from one moment to the next, and gives away the readings that have ended by then.
func (s *series) share(r *readings, from, until uint64, running []spell) {
	for len(s.points) > 0 && s.points[0].start < until {
		p := &s.points[0]
		if low, high := max(from, p.start), min(until, p.end); low < high {
			for _, w := range running {
				s.parts[w.node] += float64(high-low) / float64(len(running))
			}
			if len(running) == 0 {
				s.parts[nil] += float64(high - low)
			}
		}
		if p.end > until {
			return
		}
		s.give(r)
		s.points = s.points[1:]
	}
}

// give shares the first reading out. One that came after the sweep had passed its time belongs to <idle>.
func (s *series) give(r *readings) {
	if s.gauges[0].OfWork && len(s.parts) > 1 {
		delete(s.parts, nil)
	}
	whole := 0.0
	for _, part := range s.parts {
		whole += part
	}
	if whole == 0 {
		s.parts[nil], whole = 1, 1
	}
	for n, part := range s.parts {
		sum := r.sums[n]
		if missing := s.first + len(s.gauges) - len(sum); missing > 0 {
			sum = append(sum, make([]float64, missing)...)
			r.sums[n] = sum
		}
		for i, amount := range s.points[0].amounts {
			sum[s.first+i] += amount * part / whole
		}
	}
	clear(s.parts)
}

// frozen are the sums with all work and all readings; both stay pending.
func (r *readings) frozen() map[*node][]float64 {
	c := readings{gauges: r.gauges, sums: maps.Clone(r.sums)}
	for n, sum := range c.sums {
		c.sums[n] = slices.Clone(sum)
	}
	for _, d := range r.devices {
		d = d.clone()
		for _, s := range d.pending.sorted() {
			d.begin(&c, s)
		}
		end := d.at
		for _, s := range d.series {
			if n := len(s.points); n > 0 {
				end = max(end, s.points[n-1].end)
			}
		}
		d.to(&c, end)
		for _, s := range d.series {
			s.share(&c, end, end+1, nil) // what came behind the sweep
		}
	}
	return c.sums
}

func (d *sweep) clone() *sweep {
	c := &sweep{pending: slices.Clone(d.pending), running: slices.Clone(d.running), at: d.at}
	for _, s := range d.series {
		c.series = append(c.series, &series{s.first, s.gauges, s.points, maps.Clone(s.parts)})
	}
	return c
}

// readings writes a node's part; that of <idle> stands below the root.
func (f *freezer) readings(out *profile.Node, n *node) {
	for i, v := range f.readSums[n] {
		if metric := f.gauges[i].Metric; metric != "" {
			f.set(out, metric, profile.FloatValue(v), profile.Inclusive)
		}
	}
}

// idleNode is a node for what belongs to no work.
func (f *freezer) idleNode(root *profile.Node) {
	if f.readSums[nil] == nil {
		return
	}
	out := &profile.Node{Name: IdleFrame}
	f.readings(out, nil)
	root.Children = append(root.Children, out)
}
