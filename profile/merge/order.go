package merge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// order gives a merged profile an order that its inputs do not decide: siblings by name, sampled functions and stall reasons by
// what identifies them, kinds of launches likewise. With it the bytes of a file are the same for any order and grouping of inputs.
func order(p *profile.Profile) {
	functions, reasons := orderSampling(p.Sampling)
	kinds := orderLaunches(p)
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		slices.SortFunc(n.Children, func(a, b *profile.Node) int { return strings.Compare(a.Name, b.Name) })
		for i := range n.Samples {
			n.Samples[i].Function = functions[n.Samples[i].Function]
			for _, pc := range n.Samples[i].PCs {
				for j := range pc.Stalls {
					pc.Stalls[j].Reason = uint16(reasons[pc.Stalls[j].Reason])
				}
				slices.SortFunc(pc.Stalls, func(a, b profile.Stall) int { return cmp.Compare(a.Reason, b.Reason) })
			}
		}
		slices.SortFunc(n.Samples, func(a, b profile.FunctionSamples) int { return cmp.Compare(a.Function, b.Function) })
		for i := range n.Launches {
			n.Launches[i].Kind = kinds[n.Launches[i].Kind]
		}
		slices.SortFunc(n.Launches, func(a, b profile.LaunchTimes) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Device, b.Device))
		})
		return true
	})
}

// orderSampling sorts what samples refer to by number, and returns the new numbers by the old ones.
func orderSampling(s *profile.Sampling) (functions, reasons []int) {
	if s == nil {
		return nil, nil
	}
	slices.SortFunc(s.Sources, func(a, b profile.SourceText) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.SHA256, b.SHA256))
	})
	functions = sorted(s.Functions, func(a, b *profile.SampledFunction) int {
		return cmp.Or(strings.Compare(a.Module, b.Module), strings.Compare(a.Name, b.Name), cmp.Compare(a.Index, b.Index))
	})
	reasons = sorted(s.Reasons, func(a, b *string) int { return strings.Compare(*a, *b) })
	return functions, reasons
}

func orderLaunches(p *profile.Profile) []int {
	return sorted(p.Launches, func(a, b *profile.LaunchKind) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Hash, b.Hash), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Function, b.Function))
	})
}

// sorted sorts a list in place and returns the new positions by the old ones.
func sorted[T any](list []T, compare func(a, b *T) int) []int {
	from := make([]int, len(list))
	for i := range from {
		from[i] = i
	}
	slices.SortStableFunc(from, func(a, b int) int { return compare(&list[a], &list[b]) })
	to, out := make([]int, len(list)), make([]T, len(list))
	for at, old := range from {
		to[old], out[at] = at, list[old]
	}
	copy(list, out)
	return to
}
