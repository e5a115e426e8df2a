package report

import (
	"fmt"
	"strings"

	"github.com/goproton/goproton/viewer/kernels"
)

// comparedTab is the Launches tab of two profiles that both have a trace: launches of the same arguments side by side.
func comparedTab(all []*kernels.ComparedKernel) *launchTab {
	tab := &launchTab{Kernels: []launchKernel{}, More: max(0, len(all)-mostLaunchKernels)}
	for _, k := range all[:len(all)-tab.More] {
		of := launchKernel{Name: clean(k.Name), Rows: []launchRow{}, times: timesOf(&k.Times[1], k.Traced[1]), Old: new(timesOf(&k.Times[0], k.Traced[0]))}
		for at, kind := range k.Kinds {
			if at == mostLaunchKinds && len(k.Kinds) > mostLaunchKinds+1 {
				of.Rows = append(of.Rows, otherPairs(k.Kinds[at:]))
				break
			}
			row := pairRow(kind.Label, &kind.Sides[0], &kind.Sides[1])
			row.About = clean(aboutPair(kind))
			of.Rows = append(of.Rows, row)
		}
		a, z := k.Unattributed(0), k.Unattributed(1)
		if (a.Count > 0 || z.Count > 0) && (a.Count < k.Times[0].Count || z.Count < k.Times[1].Count) {
			of.Rows = append(of.Rows, launchRow{Kind: true, Name: kernels.UnattributedName, times: timesOf(&z, 0), Old: new(timesOf(&a, 0))})
		}
		tab.Kernels = append(tab.Kernels, of)
	}
	return tab
}

func pairRow(name string, a, z *kernels.ComparedSide) launchRow {
	return launchRow{Kind: true, Name: clean(name), times: timesOf(&z.Times, z.Traced), Old: new(timesOf(&a.Times, a.Traced))}
}

// otherPairs sums up the kinds of launches that are not on the page.
func otherPairs(kinds []*kernels.ComparedKind) launchRow {
	var sum [2]kernels.ComparedSide
	for _, k := range kinds {
		for side := range sum {
			sum[side].Times.Add(&k.Sides[side].Times)
			sum[side].Traced += k.Sides[side].Traced
		}
	}
	return pairRow(moreKinds(len(kinds)), &sum[0], &sum[1])
}

// aboutPair is what the launches were compiled for, once if it is the same in both runs, and where the first of each run
// stands, for proton reproduce --compare.
func aboutPair(k *kernels.ComparedKind) string {
	var compiled, records [2]string
	for side := range k.Sides {
		var labels []string
		for _, s := range k.Sides[side].Specialisations {
			labels = append(labels, s.Label)
		}
		compiled[side] = strings.Join(labels, ", ")
		for _, g := range k.Sides[side].Groups {
			if g.File != "" && records[side] == "" {
				records[side] = fmt.Sprintf("record %d", g.Line)
			}
		}
	}
	return strings.Join([]string{ofEach(compiled), ofEach(records)}, " · ")
}

// ofEach writes the texts of A and B, once if they are the same.
func ofEach(of [2]string) string {
	var parts []string
	for side, name := range []string{"A: ", "B: "} {
		if of[side] != "" {
			parts = append(parts, name+of[side])
		}
	}
	if of[0] == of[1] && of[0] != "" {
		return of[0]
	}
	return strings.Join(parts, "; ")
}
