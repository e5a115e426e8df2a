// Package counts adds up what interpreted launches did, by kernel and line, and makes a profile of that: below scopes and each
// kernel the lines of its source. What reads profiles reads it; merge.AddWork adds the work of its kernels to a profile that has their times.
//
//	k := counts.Kernel{Name: "add_kernel"}
//	k.Add(result, 10)
package counts

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/interpreter"
)

// Kernel sums the launches of a kernel.
type Kernel struct {
	Path      []string                 `json:"path,omitempty"` // scopes that were open at the launches, the outermost first
	Name      string                   `json:"name"`
	Kind      string                   `json:"kind,omitempty"`  // of these launches, as a trace has it, if they are of one
	Hash      string                   `json:"hash,omitempty"`  // of the compilation
	Label     string                   `json:"label,omitempty"` // of the kind, for people
	Launches  int                      `json:"launches"`
	Programs  int64                    `json:"programs"`            // that ran
	Of        int64                    `json:"of,omitempty"`        // in the grids, if not all of them ran; lines are scaled then
	Different bool                     `json:"different,omitempty"` // different bytes were counted
	Most      int64                    `json:"most_programs"`       // in the grid of a launch
	SameWork  bool                     `json:"same_work,omitempty"` // each launch has so many program instances, all ran, and all have executed the same operations
	CTAs      int64                    `json:"ctas,omitempty"`      // thread blocks of a program instance, if that may be more than one
	Works     []string                 `json:"works,omitempty"`     // the different amounts of work of a launch; at most maxWorks
	Lines     []interpreter.LineCounts `json:"lines,omitempty"`
}

// Same is a kernel without launches, whose launches are of the same kind and in the same scopes.
func (k *Kernel) Same() Kernel {
	return Kernel{Path: k.Path, Name: k.Name, Kind: k.Kind, Hash: k.Hash, Label: k.Label}
}

// maxWorks bounds how many different amounts of work are kept.
const maxWorks = 16

// Add adds a launch with so many program instances. Where not all of them ran, its counts are scaled.
func (k *Kernel) Add(r *interpreter.Result, programs int64) { k.AddTimes(r, programs, 1) }

// AddTimes adds so many launches that do the same.
func (k *Kernel) AddTimes(r *interpreter.Result, programs int64, launches int) {
	one := &Kernel{Launches: launches, Programs: r.Programs * int64(launches), Different: r.Touched != nil, Lines: r.Lines, Most: programs, SameWork: r.SameWork && r.Programs == programs}
	if r.Programs != programs {
		one.Of = programs * int64(launches)
	}
	if r.Programs < programs && r.Programs > 0 {
		by := float64(programs) / float64(r.Programs)
		one.Lines = scaled(one.Lines, by, by*partOf(r, by))
	}
	if len(one.Lines) > 0 {
		one.Works = []string{workOf(one.Lines)}
	}
	if launches != 1 {
		one.Lines = scaled(one.Lines, float64(launches), float64(launches))
	}
	k.Join(one)
}

// Join adds what other launches of the kernel did.
func (k *Kernel) Join(other *Kernel) {
	if k.Of > 0 || other.Of > 0 {
		k.Of = max(k.Of, k.Programs) + max(other.Of, other.Programs)
	}
	k.SameWork = other.SameWork && (k.Launches == 0 || k.SameWork && k.Most == other.Most)
	k.Most, k.CTAs = max(k.Most, other.Most), max(k.CTAs, other.CTAs)
	k.Launches += other.Launches
	k.Programs += other.Programs
	k.Different = k.Different || other.Different
	k.Lines = addLines(k.Lines, other.Lines)
	for _, w := range other.Works {
		if len(k.Works) < maxWorks && !slices.Contains(k.Works, w) {
			k.Works = append(k.Works, w)
		}
	}
}

// ByKernel sums kernels that differ in their scopes.
func ByKernel(list []*Kernel) (sums []*Kernel) {
	for _, k := range list {
		i := slices.IndexFunc(sums, func(s *Kernel) bool { return s.Name == k.Name && s.Kind == k.Kind })
		if i < 0 {
			sum := k.Same()
			sum.Path = nil
			i, sums = len(sums), append(sums, &sum)
		}
		sums[i].Join(k)
	}
	return sums
}

// workOf is the bytes and the flops of a launch.
func workOf(lines []interpreter.LineCounts) string {
	var bytes int64
	flops := map[string]int64{}
	for i := range lines {
		l := &lines[i]
		bytes += l.Loads.ActiveBytes + l.Stores.ActiveBytes + l.Atomics.ActiveBytes
		for of, n := range l.Flops {
			flops[of] += n
		}
		for of, n := range l.DotFlops {
			flops["dot "+of] += n
		}
	}
	text := fmt.Sprintf("%d bytes", bytes)
	for _, of := range slices.Sorted(maps.Keys(flops)) {
		text += fmt.Sprintf(", %d flops of %s", flops[of], of)
	}
	return text
}

// partOf is 1, or less if the different bytes of all program instances were together more than the bytes of the buffers.
func partOf(r *interpreter.Result, by float64) float64 {
	most, first := 0.0, 0.0
	for _, t := range r.Touched {
		most += float64(len(t.Buffer.Data)) * float64(figures.OneIf[int](t.Loaded > 0)+figures.OneIf[int](t.Stored > 0))
	}
	for i := range r.Lines {
		l := &r.Lines[i]
		first += by * float64(l.Loads.FirstBytes+l.Stores.FirstBytes+l.Atomics.FirstBytes)
	}
	if first > most && r.Touched != nil {
		return most / first
	}
	return 1
}

// scaled are lines that did so many times as much; different bytes have a factor of their own.
func scaled(lines []interpreter.LineCounts, by, byDifferent float64) []interpreter.LineCounts {
	times := func(n int64, by float64) int64 { return int64(math.Round(float64(n) * by)) }
	list := slices.Clone(lines)
	for i := range list {
		l := &list[i]
		l.Operations = times(l.Operations, by)
		for _, a := range []*interpreter.Access{&l.Loads, &l.Stores, &l.Atomics} {
			*a = interpreter.Access{Operations: times(a.Operations, by), Lanes: times(a.Lanes, by), Active: times(a.Active, by),
				Bytes: times(a.Bytes, by), ActiveBytes: times(a.ActiveBytes, by), FirstBytes: times(a.FirstBytes, byDifferent)}
		}
		for _, flops := range []*map[string]int64{&l.Flops, &l.DotFlops} {
			*flops = maps.Clone(*flops)
			for of, n := range *flops {
				(*flops)[of] = times(n, by)
			}
		}
	}
	return list
}

// addLines adds the counts of lines to those of the same lines.
func addLines(sums, list []interpreter.LineCounts) []interpreter.LineCounts {
	for i := range list {
		at := i // as in an earlier launch of the kernel
		if i >= len(sums) || !slices.Equal(sums[i].Frames, list[i].Frames) {
			at = slices.IndexFunc(sums, func(l interpreter.LineCounts) bool { return slices.Equal(l.Frames, list[i].Frames) })
			if at < 0 {
				at = len(sums)
				sums = append(sums, interpreter.LineCounts{Frames: list[i].Frames, Flops: map[string]int64{}, DotFlops: map[string]int64{}})
			}
		}
		addLine(&sums[at], &list[i])
	}
	return sums
}

func addLine(sum, l *interpreter.LineCounts) {
	sum.Operations += l.Operations
	sum.Loads.Join(&l.Loads)
	sum.Stores.Join(&l.Stores)
	sum.Atomics.Join(&l.Atomics)
	for kind, n := range l.Flops {
		sum.Flops[kind] += n
	}
	for kind, n := range l.DotFlops {
		sum.DotFlops[kind] += n
	}
}
