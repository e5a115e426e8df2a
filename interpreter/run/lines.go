package run

import (
	"slices"

	"github.com/goproton/goproton/interpreter"
)

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
	for _, of := range []struct{ sum, add *interpreter.Access }{{&sum.Loads, &l.Loads}, {&sum.Stores, &l.Stores}, {&sum.Atomics, &l.Atomics}} {
		of.sum.Operations += of.add.Operations
		of.sum.Lanes += of.add.Lanes
		of.sum.Active += of.add.Active
		of.sum.Bytes += of.add.Bytes
		of.sum.ActiveBytes += of.add.ActiveBytes
		of.sum.FirstBytes += of.add.FirstBytes
	}
	for kind, n := range l.Flops {
		sum.Flops[kind] += n
	}
	for kind, n := range l.DotFlops {
		sum.DotFlops[kind] += n
	}
}
