package check

import (
	"math/rand/v2"
	"testing"
)

// used is an access of the model: nothing is forgotten, and every pair is compared.
type used struct {
	instance, lane int
	use            Use
	at, n          int64
}

func (a used) conflicts(b used) bool {
	return a.instance != b.instance && a.at < b.at+b.n && b.at < a.at+a.n && (a.use.writes() || b.use.writes()) && !(a.use.atomic() && b.use.atomic())
}

// TestShadow compares with all pairs of accesses: up to the first race of each byte, both find the same, whatever the sizes and places are, and the
// earlier access that is named is one that conflicts.
func TestShadow(t *testing.T) {
	const bytes = 400
	races, free := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 5))
		var s Shadow
		instances := make([]Instance, 4)
		for i := range instances {
			instances[i].Begin(uint32(i))
		}
		var before []used
		raced := [bytes]bool{}
		for lane := range 60 {
			size := 1 << r.IntN(4)
			a := used{instance: r.IntN(4), lane: lane, use: []Use{Read, Read, Read, Write, AtomicRead, AtomicChange, AtomicChange}[r.IntN(7)]}
			a.n = int64(size * (1 + r.IntN(40)))
			if r.IntN(3) == 0 {
				a.n = int64(size)
			}
			a.at = r.Int64N(bytes - a.n + 1)
			if r.IntN(2) == 0 {
				a.at = a.at / int64(size) * int64(size)
			}
			c, found := s.Access(&instances[a.instance], Site(lane, size), a.use, 1, bytes, a.at, a.n, 0, size, nil)
			want, known := false, false
			for at := a.at; at < a.at+a.n; at++ {
				known = known || raced[at]
			}
			for _, b := range before {
				if !a.conflicts(b) {
					continue
				}
				want = true
				for at := max(a.at, b.at); at < min(a.at+a.n, b.at+b.n); at++ {
					raced[at] = true
				}
			}
			before = append(before, a)
			if known {
				continue
			}
			if found != want {
				t.Fatalf("seed %d: access %+v: found %v, and there is a race: %v", seed, a, found, want)
			}
			if !found {
				free++
				continue
			}
			races++
			b := before[Number(c.Site)]
			if b.instance != int(c.Instance) || !a.conflicts(b) || c.Offset < a.at || c.Offset >= a.at+a.n || c.Writes != b.use.writes() {
				t.Fatalf("seed %d: access %+v conflicts with %+v: %+v", seed, a, b, c)
			}
		}
	}
	if races < 300 || free < 300 {
		t.Errorf("%d races, %d accesses without", races, free)
	}
}

// TestOrdered: what an instance released comes before what another one acquired later, through others too; what came after the release does not.
func TestOrdered(t *testing.T) {
	var s Shadow
	var a, b, c Instance
	a.Begin(1)
	b.Begin(2)
	c.Begin(3)
	use := func(i *Instance, u Use, at int64) bool {
		_, found := s.Access(i, Site(1, 4), u, 0, 4096, at, 4, 0, 4, nil)
		return found
	}
	use(&a, Write, 0)
	s.Release(&a, 0, 64)
	use(&a, Write, 4)
	s.Acquire(&b, 0, 64)
	if use(&b, Read, 0) || !use(&b, Read, 4) {
		t.Error("what was written before the release, and after it")
	}
	s.Release(&b, 0, 128)
	s.Acquire(&c, 0, 128)
	if use(&c, Write, 0) {
		t.Error("through another instance")
	}
	s.Acquire(&c, 0, 192) // where nothing was released
	use(&a, Write, 8)
	if !use(&c, Write, 8) {
		t.Error("nothing was released")
	}
	s.Release(&a, 0, Wide)
	s.Acquire(&c, 0, 256)
	use(&a, Write, 12)
	if use(&c, Read, 8) || !use(&c, Read, 12) {
		t.Error("a release of the whole buffer")
	}
}

// TestFull: without room for more the shadow says so, and does not find what it does not know.
func TestFull(t *testing.T) {
	s := Shadow{room: MaxShadow}
	var a Instance
	a.Begin(0)
	if _, found := s.Access(&a, Site(0, 4), Write, 0, 1<<20, 0, 4, 0, 4, nil); found || !s.Full {
		t.Error("it is not full")
	}
}
