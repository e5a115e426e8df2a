package run

import (
	"maps"
	"slices"
)

// Output is what a launch has left in a buffer.
type Output struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Before string `json:"saved_sha256,omitempty"` // when the launch was saved
}

// Outputs are the contents of the buffers, by name.
func (l *Launch) Outputs() map[string]Output {
	all := map[string]Output{}
	for name, b := range l.Buffers {
		all[name] = Output{Bytes: b.Bytes, SHA256: digest(b.Data()), Before: b.After}
	}
	return all
}

// Sum adds up the reports of processes.
func Sum(list []Report) Report {
	sum, _ := New(Settings{}) // settings without a fault
	out := &sum.report
	out.Finished = true
	unmatched, nowhere, launched := map[string]int{}, map[string]int{}, 0
	for _, r := range list {
		if r.Launches > 0 {
			launched++
		}
		for _, place := range r.Nowhere {
			nowhere[place]++
		}
		out.Launches += r.Launches
		sum.found.add(out, r.Findings, r.LeftOut)
		out.Warnings = appendNew(out.Warnings, r.Warnings)
		for _, k := range r.Kernels {
			to := sum.kernel(&k.Kernel)
			to.Join(&k.Kernel)
			to.Seconds += k.Seconds
		}
		for _, pattern := range r.Unmatched { // of processes that had Triton
			unmatched[pattern]++
			if unmatched[pattern] == len(list) {
				out.Unmatched = append(out.Unmatched, pattern)
			}
		}
		out.Others = appendNew(out.Others, r.Others)
	}
	for _, place := range slices.Sorted(maps.Keys(nowhere)) {
		if nowhere[place] == launched {
			out.Nowhere = append(out.Nowhere, place)
		}
	}
	return sum.Report()
}

func appendNew(list, more []string) []string {
	have := map[string]bool{}
	for _, s := range list {
		have[s] = true
	}
	for _, s := range more {
		if !have[s] {
			have[s] = true
			list = append(list, s)
		}
	}
	return list
}
