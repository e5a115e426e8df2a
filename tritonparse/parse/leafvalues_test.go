package parse

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// TestDistinct: the count is exact until hashes are forgotten, then near, and the same every time.
func TestDistinct(t *testing.T) {
	var d distinct
	const n = 100_000
	for i := range 3 * n {
		d.add(store.Hash64(fmt.Sprint(i % n)))
	}
	if d.count() != n {
		t.Fatalf("%d, not %d", d.count(), n)
	}
	for d.spare() > 0 {
		d.thin()
	}
	kept := len(d.hashes)
	if kept < enough || kept >= 2*enough {
		t.Errorf("%d hashes are left", kept)
	}
	if off := math.Abs(float64(d.count()-n)) / n; off > 4/math.Sqrt(float64(kept)) {
		t.Errorf("%d is off by %.3f", d.count(), off)
	}
	before := d.count()
	for i := range n {
		d.add(store.Hash64([]byte(fmt.Sprint(i))))
	}
	if d.count() != before {
		t.Errorf("%d became %d by what was known", before, d.count())
	}
}

// TestLastGroups: of too many groups those are left that were launched last, however often they were before.
func TestLastGroups(t *testing.T) {
	for _, total := range []int{3, 10, 11, 20, 23, 1000} {
		s := lastGroups{most: 10, last: map[launchtext.Group]int{}}
		for id := range 5 * total {
			s.add(launchtext.GroupOf(fmt.Append(nil, id*7%total)), id)
		}
		s.keep(10)
		var want []tunedLast
		for id := 5*total - min(total, 10); id < 5*total; id++ {
			want = append(want, tunedLast{launchtext.GroupOf(fmt.Append(nil, id*7%total)), id})
		}
		if fmt.Sprint(s.order) != fmt.Sprint(want) {
			t.Errorf("of %d: %v, want %v", total, s.order, want)
		}
		if got := s.total.count(); total > 10 && got != total || total <= 10 && got != 0 {
			t.Errorf("of %d: %d in all", total, got)
		}
	}
}

// TestLeafValueCodes: long texts that differ from several others in a few bytes, or in all, are separate values and come back as they
// were, also in memory that was used before.
func TestLeafValueCodes(t *testing.T) {
	var v leafValues
	for round := range 2 {
		counts, distinct := map[string]int{}, []string{}
		for i := range 4000 {
			kind, site := i%(11+round), i*i%97
			text := fmt.Sprintf(`["%s",%d,"%s"]`, strings.Repeat(fmt.Sprint("begin", kind), 50), site, strings.Repeat(fmt.Sprint("end", kind*kind), 80+kind))
			if i%5 == 0 {
				text = fmt.Sprint(site)
			}
			if counts[text]++; counts[text] == 1 {
				distinct = append(distinct, text)
			}
			v.add([]byte(text), i, i+1)
		}
		if len(v.list) != len(distinct) {
			t.Fatalf("round %d: %d values, not %d", round, len(v.list), len(distinct))
		}
		for i, u := range v.list {
			if got := string(v.append(nil, u)); got != distinct[i] || u.count != counts[got] {
				t.Fatalf("round %d: value %d came back as %.300q, %d times", round, i, got, u.count)
			}
		}
		v.clear()
	}
}
