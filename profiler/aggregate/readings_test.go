package aggregate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/gpu/record"
)

var (
	testPower = []record.Gauge{{Metric: "energy (J)", Lane: "power (W)", Factor: 1}}
	testBytes = []record.Gauge{{Metric: "read (B)", OfWork: true}, {Metric: "written (B)", OfWork: true}}
)

// TestReadings compares with a second derivation, every ns by itself, for work and readings that come in any order of each other, also
// while sums are read.
func TestReadings(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	nodes := []*node{{name: "a"}, {name: "b"}, {name: "c"}}
	for range 300 {
		r := newReadings()
		var work []spell
		for range random.IntN(20) {
			start := 90 + random.Uint64N(220)
			work = append(work, spell{start, start + 1 + random.Uint64N(40), nodes[random.IntN(len(nodes))]})
		}
		var list []record.Reading
		for _, gauges := range [][]record.Gauge{testPower, testBytes} {
			for at := 100 + random.Uint64N(10); at < 300; {
				end := at + 1 + random.Uint64N(60)
				amounts := make([]float64, len(gauges))
				for i := range amounts {
					amounts[i] = float64(random.IntN(1000))
				}
				list = append(list, record.Reading{Gauges: gauges, Start: at, End: end, Amounts: amounts})
				at = end + random.Uint64N(2)*random.Uint64N(20)
			}
		}
		want := map[*node][3]float64{}
		for i := range list {
			share(want, &list[i], work)
		}
		for queue := list; len(work)+len(queue) > 0; {
			if len(queue) == 0 || len(work) > 0 && random.IntN(2) == 0 {
				r.work(&record.Activity{Kind: record.Kernel, Start: work[0].start, End: work[0].end}, work[0].node)
				work = work[1:]
			} else {
				r.read(&queue[0])
				queue = queue[1:]
			}
			if random.IntN(4) == 0 {
				r.frozen()
			}
		}
		got := r.frozen()
		for n, amounts := range want {
			for i := range amounts {
				have := 0.0
				for at, g := range r.gauges {
					if g.Metric == []string{"energy (J)", "read (B)", "written (B)"}[i] && at < len(got[n]) {
						have = got[n][at]
					}
				}
				if math.Abs(have-amounts[i]) > 1e-6 {
					t.Fatalf("node %v gauge %d: %v, want %v", n, i, have, amounts[i])
				}
			}
		}
	}
}

// share is the second derivation: each ns of the interval has an equal part, which goes in equal parts to what runs then. Of work, each ns
// in which something runs has.
func share(sums map[*node][3]float64, r *record.Reading, work []spell) {
	parts, whole := map[*node]float64{}, 0.0
	for now := r.Start; now < r.End; now++ {
		var running []*node
		for _, s := range work {
			if s.start <= now && now < s.end {
				running = append(running, s.node)
			}
		}
		if running == nil {
			running = []*node{nil}
		}
		for _, n := range running {
			parts[n] += 1 / float64(len(running))
		}
	}
	if r.Gauges[0].OfWork && (len(parts) > 1 || parts[nil] == 0) {
		delete(parts, nil)
	}
	for _, part := range parts {
		whole += part
	}
	first := 0
	if r.Gauges[0].OfWork {
		first = 1
	}
	for n, part := range parts {
		sum := sums[n]
		for i, v := range r.Amounts {
			sum[first+i] += v * part / whole
		}
		sums[n] = sum
	}
}

// TestReadingsAreComplete: over all nodes everything that was read is shared out, also what comes after the sweep has passed its time,
// and what is kept is bounded.
func TestReadingsAreComplete(t *testing.T) {
	r, n := newReadings(), &node{name: "n"}
	const work = 3 * maxPending
	read := 0.0
	for i := range uint64(work) {
		at := 1000 + 10*(i^1) // neighbours are swapped
		r.work(&record.Activity{Kind: record.Kernel, Start: at, End: at + 4}, n)
		if late := uint64(5 * maxPending); i%100 == 99 && at > 2000+late {
			r.read(&record.Reading{Gauges: testPower, Start: at - late - 1000, End: at - late, Amounts: []float64{float64(i)}})
			read += float64(i)
		}
	}
	if pending, points := len(r.devices[0].pending), len(r.devices[0].series[0].points); pending > maxPending || points > 2*maxPending/100 {
		t.Errorf("%d pieces of work and %d readings are pending", pending, points)
	}
	for i := range uint64(3 * maxPending) { // and while nothing runs
		at := 10*work + 10000 + 10*i
		r.read(&record.Reading{Gauges: testPower, Start: at, End: at + 10, Amounts: []float64{1}})
		read++
	}
	if points := len(r.devices[0].series[0].points); points > maxPending {
		t.Errorf("%d readings are pending", points)
	}
	sum := 0.0
	for _, amounts := range r.frozen() {
		sum += amounts[0]
	}
	if math.Abs(sum-read) > 1e-6*read {
		t.Errorf("%v is shared out of %v", sum, read)
	}
}
