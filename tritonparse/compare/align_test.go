package compare

import (
	"math/rand/v2"
	"testing"
)

func sequence(s string) []uint64 {
	var out []uint64
	for _, c := range s {
		out = append(out, uint64(c))
	}
	return out
}

func same(pairs []pair) int {
	n := 0
	for _, p := range pairs {
		if p.a >= 0 && p.b >= 0 {
			n++
		}
	}
	return n
}

func checkAlignment(t *testing.T, a, b []uint64) []pair {
	t.Helper()
	pairs := align(a, b)
	i, j := 0, 0
	for _, p := range pairs {
		if p.a >= 0 && p.a != i || p.b >= 0 && p.b != j || p.a < 0 && p.b < 0 || p.a >= 0 && p.b >= 0 && a[p.a] != b[p.b] {
			t.Fatalf("%v, %v: wrong pair %v of %v", a, b, p, pairs)
		}
		if p.a >= 0 {
			i++
		}
		if p.b >= 0 {
			j++
		}
	}
	if i != len(a) || j != len(b) {
		t.Fatalf("%v, %v: %d and %d elements are in the pairs", a, b, i, j)
	}
	return pairs
}

func TestAlign(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 3}, {"abc", "", 0}, {"abcabba", "cbabac", 4}, {"xaxbxcx", "xbxcxax", 5}, {"abcdef", "abXdef", 5}, {"aab", "ab", 2},
	} {
		if got := same(checkAlignment(t, sequence(c.a), sequence(c.b))); got != c.want {
			t.Errorf("%q, %q: %d equal, want %d", c.a, c.b, got, c.want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a, b := make([]uint64, random.IntN(30)), make([]uint64, random.IntN(30))
		letters := 1 + random.IntN(12)
		for i := range a {
			a[i] = uint64(random.IntN(letters))
		}
		for i := range b {
			b[i] = uint64(random.IntN(letters))
		}
		checkAlignment(t, a, b)
	}
	large := make([]uint64, 6000)
	other := make([]uint64, 6000)
	for i := range large {
		large[i], other[i] = uint64(i%7), uint64(7+i%5)
	}
	checkAlignment(t, large, other)
}
