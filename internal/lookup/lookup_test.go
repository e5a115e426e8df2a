package lookup

import (
	"slices"
	"strconv"
	"testing"
)

// TestFind compares with a search from the beginning while a list grows, in which some keys come twice.
func TestFind(t *testing.T) {
	var list []string
	var x Index[string]
	for i := range 4 * few {
		for k := range 5 * few {
			key := strconv.Itoa(k)
			if got, want := x.Find(len(list), key, func(i int) string { return list[i] }), slices.Index(list, key); got != want {
				t.Fatalf("%s of %v: got %d, want %d", key, list, got, want)
			}
		}
		list = append(list, strconv.Itoa(i-i%5))
	}
}

// BenchmarkFind looks up each of a number of names.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{4, few, 100} {
		names := make([]string, n)
		for i := range names {
			names[i] = "a kernel, " + strconv.Itoa(i)
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var x Index[string]
			for i := 0; b.Loop(); i++ {
				x.Find(n, names[i%n], func(i int) string { return names[i] })
			}
		})
	}
}
