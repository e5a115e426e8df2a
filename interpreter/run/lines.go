package run

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/interpreter"
)

// addLines adds the counts of lines to those of the same lines.
func addLines(sums, list []interpreter.LineCounts) []interpreter.LineCounts {
	for i := range list {
		at := i // as in an earlier launch of the kernel
		if i >= len(sums) || sums[i].Frame != list[i].Frame {
			var found bool
			if at, found = slices.BinarySearchFunc(sums, &list[i], byFrame); !found {
				sums = slices.Insert(sums, at, interpreter.LineCounts{Frame: list[i].Frame, Flops: map[string]int64{}, DotFlops: map[string]int64{}})
			}
		}
		addLine(&sums[at], &list[i])
	}
	return sums
}

func byFrame(a interpreter.LineCounts, b *interpreter.LineCounts) int {
	return cmp.Or(cmp.Compare(a.Frame.File, b.Frame.File), cmp.Compare(a.Frame.Line, b.Frame.Line))
}

func addLine(sum, l *interpreter.LineCounts) {
	sum.Operations += l.Operations
	for _, of := range []struct{ sum, add *interpreter.Access }{{&sum.Loads, &l.Loads}, {&sum.Stores, &l.Stores}} {
		of.sum.Operations += of.add.Operations
		of.sum.Lanes += of.add.Lanes
		of.sum.Active += of.add.Active
		of.sum.Bytes += of.add.Bytes
		of.sum.ActiveBytes += of.add.ActiveBytes
	}
	for kind, n := range l.Flops {
		sum.Flops[kind] += n
	}
	for kind, n := range l.DotFlops {
		sum.DotFlops[kind] += n
	}
}
