package kernels

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// Did is what instructions counted, in a run with -m counters:set=lines.
type Did struct {
	Instructions uint64 `json:"instructions"` // of warps
	Threads      uint64 `json:"thread_instructions"`
	Requests     uint64 `json:"global_requests,omitempty"` // accesses of warps to global memory
	Sectors      uint64 `json:"global_sectors,omitempty"`  // of 32 bytes
	IdealSectors uint64 `json:"global_sectors_ideal,omitempty"`
	Passes       uint64 `json:"shared_passes,omitempty"` // over shared memory
	IdealPasses  uint64 `json:"shared_passes_ideal,omitempty"`
	Local        uint64 `json:"local_sectors,omitempty"`
}

const instructionsCounter = "smsp__sass_inst_executed"

// of is where a counter counts; nil for one that is not shown by line.
func (d *Did) of(counter string) *uint64 {
	switch counter {
	case instructionsCounter:
		return &d.Instructions
	case "smsp__sass_thread_inst_executed":
		return &d.Threads
	case "smsp__sass_inst_executed_op_global":
		return &d.Requests
	case "smsp__sass_sectors_mem_global":
		return &d.Sectors
	case "smsp__sass_sectors_mem_global_ideal":
		return &d.IdealSectors
	case "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared":
		return &d.Passes
	case "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal":
		return &d.IdealPasses
	case "smsp__sass_sectors_mem_local":
		return &d.Local
	}
	return nil
}

func (d *Did) add(o Did) {
	d.Instructions, d.Threads, d.Requests, d.Local = d.Instructions+o.Instructions, d.Threads+o.Threads, d.Requests+o.Requests, d.Local+o.Local
	d.Sectors, d.IdealSectors = d.Sectors+o.Sectors, d.IdealSectors+o.IdealSectors
	d.Passes, d.IdealPasses = d.Passes+o.Passes, d.IdealPasses+o.IdealPasses
}

// Short says in a few words how many threads take part, and how many times as much is moved as would do: so many of these, the worst first.
func (d Did) Short(most int) string {
	const warp = 32
	type part struct {
		worse float64
		text  string
	}
	var parts []part
	add := func(name string, n, ideal uint64) {
		if ideal > 0 {
			parts = append(parts, part{float64(n) / float64(ideal), name + " x" + Times(n, ideal)})
		}
	}
	add("global", d.Sectors, d.IdealSectors)
	add("shared", d.Passes, d.IdealPasses)
	if d.Local > 0 {
		parts = append(parts, part{1, "local memory"})
	}
	if d.Threads > 0 {
		parts = append(parts, part{warp * float64(d.Instructions) / float64(d.Threads), Times(d.Threads, d.Instructions) + " threads"})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.worse, a.worse) })
	var texts []string
	for _, p := range parts[:min(most, len(parts))] {
		texts = append(texts, p.text)
	}
	return strings.Join(texts, ", ")
}

// Sentence says it of a kernel; "" if nothing was counted.
func (d Did) Sentence() string {
	if d.Instructions == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("%s of warps, each of %s of 32 threads", figures.Count(d.Instructions, "instruction"), Times(d.Threads, d.Instructions))}
	if d.Requests > 0 {
		parts = append(parts, fmt.Sprintf("%s sectors for each access to global memory, where %s would do", Times(d.Sectors, d.Requests), Times(d.IdealSectors, d.Requests)))
	}
	if d.IdealPasses > 0 {
		parts = append(parts, Times(d.Passes, d.IdealPasses)+" passes over shared memory for each that would do")
	}
	if d.Local > 0 {
		parts = append(parts, figures.Count(d.Local, "sector")+" of local memory")
	}
	return strings.Join(parts, "; ")
}

// Times is how many times b a is.
func Times(a, b uint64) string { return fmt.Sprintf("%.1f", float64(a)/float64(b)) }

// Wasted is what was moved and need not have been: sectors of global memory, and passes over shared memory.
func (d Did) Wasted() (sectors, passes uint64) {
	return d.Sectors - min(d.Sectors, d.IdealSectors), d.Passes - min(d.Passes, d.IdealPasses)
}

// hasSamples reports whether a profile has samples, and not only counts.
func hasSamples(p *profile.Profile) bool {
	return p.Root.Any(func(n *profile.Node) bool {
		return slices.ContainsFunc(n.Samples, func(f profile.FunctionSamples) bool { return p.Sampling.In(&f) > 0 })
	})
}
