// Package collectives compares the timelines of the ranks of one run: it finds the collectives of NCCL or RCCL that belong
// together, puts the ranks on one clock by their ends, and says how long each rank communicated, how much of that its kernels hid,
// and how long it waited for the slowest rank.
package collectives

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Rank is the timeline of one process.
type Rank struct {
	Label    string // "rank3"
	Host     string // ranks of one host have one clock; "" where it is not known
	Run      string // ranks run collectives together with those of the same run; a restart is another one
	Timeline *profile.Timeline
}

// call is one collective, as one rank ran it.
type call struct {
	name       string // of the kernel, without arguments
	start, end int64  // ns since 1970, on the rank's clock
}

// lane is the calls of one stream of one rank, in order. A communicator runs on a stream of its own, or shares it with others in
// an order that all of its ranks have.
type lane struct {
	rank  int // position among the ranks
	calls []call
}

// lanesOf collects the calls of a timeline, the lane with most calls first, and the intervals of all other kernels.
func lanesOf(rank int, t *profile.Timeline) (lanes []*lane, compute []interval) {
	streams := map[int]bool{}
	for _, l := range t.Lanes {
		streams[l.ID] = l.Kind == profile.StreamLane
	}
	byID := map[int]*lane{}
	for i := range t.Slices {
		s := &t.Slices[i]
		if s.Kind != profile.KernelSlice && s.Kind != profile.GraphSlice || !streams[s.Lane] {
			continue
		}
		at := interval{s.Start, s.Start + s.Duration}
		name := kernelName(s.Name)
		if !isCollective(name) {
			compute = append(compute, at)
			continue
		}
		l := byID[s.Lane]
		if l == nil {
			l = &lane{rank: rank}
			byID[s.Lane] = l
			lanes = append(lanes, l)
		}
		l.calls = append(l.calls, call{name, at.start, at.end})
	}
	for _, l := range lanes {
		slices.SortStableFunc(l.calls, func(a, b call) int { return cmp.Compare(a.start, b.start) })
	}
	slices.SortStableFunc(lanes, func(a, b *lane) int {
		return cmp.Or(cmp.Compare(len(b.calls), len(a.calls)), cmp.Compare(a.calls[0].start, b.calls[0].start))
	})
	return lanes, compute
}

// isCollective recognises the kernels of NCCL and RCCL: ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclKernel_…, and before NCCL
// 2.13 ncclAllReduceRingLLKernel_sum_f32.
func isCollective(kernel string) bool {
	return strings.HasPrefix(kernel, "nccl") && strings.Contains(kernel, "Kernel")
}

// kernelName is the name of a kernel without its arguments. CUPTI reports _Z31ncclDevKernel_AllGather_RING_LL24ncclDev…, the mangled
// name, which says how long its first part is.
func kernelName(name string) string {
	if rest, mangled := strings.CutPrefix(name, "_Z"); mangled {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if n, err := strconv.Atoi(rest[:digits]); err == nil && n <= len(rest)-digits {
			return rest[digits:][:n]
		}
	}
	name, _, _ = strings.Cut(name, "(")
	return name
}

// operations are the words in the names of kernels, those that contain others first, and whether all ranks end the operation
// together: its result depends on the data of every rank, for each of them. Ends of the others differ by as much as data wait on the way.
var operations = []struct {
	word    string
	aligned bool
}{
	{"AllReduce", true}, {"ReduceScatter", true}, {"AllGather", true}, {"AllToAll", true}, {"AlltoAll", true},
	{"Broadcast", false}, {"Reduce", false}, {"SendRecv", false}, {"Generic", false},
}

func endsTogether(kernel string) bool {
	for _, o := range operations {
		if strings.Contains(kernel, o.word) {
			return o.aligned
		}
	}
	return false
}

// algorithms are the words of a kernel's name that say how, and not what.
var algorithms = []string{"RING", "TREE", "COLLNET", "NVLS", "PAT", "LL", "LL128", "SIMPLE", "DIRECT", "CHAIN"}

// shownName is "AllReduce Sum f32" for ncclDevKernel_AllReduce_Sum_f32_RING_LL. A name of another form stays.
func shownName(kernel string) string {
	_, rest, found := strings.Cut(kernel, "Kernel_")
	if !found {
		return kernel
	}
	var words []string
	for _, word := range strings.Split(rest, "_") {
		if word != "" && !slices.ContainsFunc(algorithms, func(a string) bool { return strings.HasPrefix(word, a) }) {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return kernel
	}
	return strings.Join(words, " ")
}

// interval is a time from start to end.
type interval struct{ start, end int64 }

// union returns intervals in order that do not touch each other.
func union(list []interval) (joined []interval) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.start, b.start) })
	for _, i := range list {
		if n := len(joined); n > 0 && i.start <= joined[n-1].end {
			joined[n-1].end = max(joined[n-1].end, i.end)
			continue
		}
		joined = append(joined, i)
	}
	return joined
}

// length is the time that a union takes.
func length(list []interval) (sum int64) {
	for _, i := range list {
		sum += i.end - i.start
	}
	return sum
}

// common is the time that two unions share.
func common(a, b []interval) (sum int64) {
	for len(a) > 0 && len(b) > 0 {
		sum += max(0, min(a[0].end, b[0].end)-max(a[0].start, b[0].start))
		if a[0].end < b[0].end {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return sum
}
