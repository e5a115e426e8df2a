package soak

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/figures"
)

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func nanos(n uint64) time.Duration { return time.Duration(n).Round(100 * time.Nanosecond) }

func each[T any](list []usage, what func(usage) T) (out []T) {
	for _, u := range list {
		out = append(out, what(u))
	}
	return out
}

func resident(u usage) int64  { return u.resident }
func goHeap(u usage) int64    { return u.goHeap }
func descriptors(u usage) int { return u.descriptors }
func threads(u usage) int     { return u.threads }

func medians(list []usage) usage {
	return usage{figures.Median(each(list, resident)), figures.Median(each(list, goHeap)), figures.Median(each(list, descriptors)), figures.Median(each(list, threads))}
}

// slope is the median of the slopes between all pairs, in MiB per hour for bytes per minute: a few readings that are far off do not
// change it.
func slope(list []int64) float64 {
	var all []float64
	for i := range list {
		for j := i + 1; j < len(list); j++ {
			all = append(all, mib(list[j]-list[i])/float64(j-i)*60)
		}
	}
	return figures.Median(all)
}

const (
	warmUp  = 10 // minutes that do not count
	fewest  = 20 // minutes after them that a verdict needs
	perHour = 1  // MiB that resident memory may grow by
)

// verdict says how a process has grown, and what is wrong with that.
func verdict(w *watched) (summary string, wrong []string) {
	if len(w.minutes) < warmUp+fewest {
		return fmt.Sprintf("%s: whether memory grows is not judged before minute %d", w.name, warmUp+fewest), nil
	}
	m := w.minutes[warmUp:]
	grows := slope(each(m, resident))
	first, last := medians(m[:len(m)/3]), medians(m[len(m)-len(m)/3:])
	summary = fmt.Sprintf("%s: after minute %d memory grows by %.3f MiB per hour, Go's by %.3f; in the first and the last third of that time: %.2f and %.2f MiB, %d and %d descriptors, %d and %d threads",
		w.name, warmUp, grows, slope(each(m, goHeap)), mib(first.resident), mib(last.resident), first.descriptors, last.descriptors, first.threads, last.threads)
	if w.bounded && grows > perHour {
		wrong = append(wrong, fmt.Sprintf("%s: memory grows by %.3f MiB per hour", w.name, grows))
	}
	if last.descriptors > first.descriptors {
		wrong = append(wrong, fmt.Sprintf("%s: descriptors grow from %d to %d", w.name, first.descriptors, last.descriptors))
	}
	if last.threads > first.threads+1 { // Go starts another when all are in system calls
		wrong = append(wrong, fmt.Sprintf("%s: threads grow from %d to %d", w.name, first.threads, last.threads))
	}
	return summary, wrong
}

// histogram prints how many launches took less than each power of two.
func histogram(s *state) string {
	var parts []string
	for i := range s.delays {
		if n := s.delays[i].Load(); n > 0 {
			parts = append(parts, fmt.Sprintf("<%s %d", time.Duration(1<<i), n))
		}
	}
	return strings.Join(parts, ", ")
}

func TestVerdict(t *testing.T) {
	grow := func(minutes int, perMinute float64, change func(i int, u *usage)) *watched {
		w, r := &watched{name: "p", bounded: true}, rand.New(rand.NewPCG(1, 2))
		for i := range minutes {
			u := usage{resident: 100<<20 + int64(float64(i)*perMinute*(1<<20)) + r.Int64N(1<<20), goHeap: 50 << 20, descriptors: 5, threads: 14}
			if i < warmUp {
				u.resident /= 2
			}
			if change != nil {
				change(i, &u)
			}
			w.minutes = append(w.minutes, u)
		}
		return w
	}
	for name, c := range map[string]struct {
		w    *watched
		want string
	}{
		"flat":             {grow(70, 0, nil), ""},
		"half a MiB":       {grow(130, 0.5/60, nil), ""},
		"three MiB":        {grow(130, 3./60, nil), "memory grows"},
		"shrinks":          {grow(70, -1, nil), ""},
		"one far reading":  {grow(70, 0, func(i int, u *usage) { u.resident += int64(i/69) << 30 }), ""},
		"too short":        {grow(29, 9, nil), ""},
		"descriptors":      {grow(70, 0, func(i int, u *usage) { u.descriptors += i / 20 }), "descriptors grow"},
		"threads":          {grow(70, 0, func(i int, u *usage) { u.threads += i / 20 }), "threads grow"},
		"one thread more":  {grow(70, 0, func(i int, u *usage) { u.threads += i / 40 }), ""},
		"may grow":         {&watched{name: "p", minutes: grow(70, 9, nil).minutes}, ""},
		"grows in warm-up": {grow(70, 0, func(i int, u *usage) { u.resident = min(u.resident, int64(i)<<24) }), ""},
	} {
		summary, wrong := verdict(c.w)
		if got := strings.Join(wrong, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q (%s)", name, got, c.want, summary)
		}
	}
	if got := slope([]int64{0, 1 << 20, 2 << 20, 3 << 30, 4 << 20}); math.Abs(got-60) > 1e-9 {
		t.Errorf("a MiB per minute, with one reading that is far off: %v MiB per hour", got)
	}
}
