package backend

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// The accesses of global memory that are counted, in TTGIR and in machine code. A buffer instruction checks bounds in hardware and
// needs fewer registers for addresses, so a kernel is best if all of its accesses are buffer instructions. TTGIR's dialect is amdg,
// and amdgpu in older traces.
var (
	ttgirAccesses = []access{
		counted("tt.load_count", `\btt\.load\b`), counted("tt.store_count", `\btt\.store\b`),
		counted("tt.atomic_rmw_count", `\btt\.atomic_rmw\b`), counted("tt.atomic_cas_count", `\btt\.atomic_cas\b`),
		counted("amdg.buffer_load_count", `\bamdg(?:pu)?\.buffer_load\b`),
		counted("amdg.buffer_load_to_local_count", `\bamdg(?:pu)?\.buffer_load_to_local\b`),
		counted("amdg.buffer_store_count", `\bamdg(?:pu)?\.buffer_store\b`),
		counted("amdg.buffer_atomic_rmw_count", `\bamdg(?:pu)?\.buffer_atomic_rmw\b`),
		counted("amdg.buffer_atomic_cas_count", `\bamdg(?:pu)?\.buffer_atomic_cas\b`),
	}
	gcnAccesses = []access{
		counted("global_load_count", `global_load`), counted("global_store_count", `global_store`),
		counted("buffer_load_count", `buffer_load`), counted("buffer_store_count", `buffer_store`),
		counted("buffer_atomic_count", `buffer_atomic`), counted("global_atomic_count", `global_atomic`),
		counted("flat_atomic_count", `flat_atomic`),
	}
)

type access struct {
	name    string
	pattern *regexp.Regexp
}

func counted(name, pattern string) access { return access{name, regexp.MustCompile(pattern)} }

// amdBufferOps counts accesses of global memory. It counts instructions; tritonparse counts every line that contains the name
// of one, such as the lines that name a kernel called global_load_kernel.
func amdBufferOps(a *Artifacts) []Finding {
	var ttgir, gcn []byte
	counts := map[string]int{}
	code := func(comment string) func(string) string {
		if a.settings.Quirks.Has(quirks.LinesAsInstructions) {
			return func(line string) string { return line }
		}
		return func(line string) string { return operation(line, comment) }
	}
	count := func(out []byte, text string, accesses []access, code func(string) string) []byte {
		for _, c := range accesses {
			for _, line := range strings.Split(text, "\n") {
				if c.pattern.MatchString(code(line)) {
					counts[c.name]++
				}
			}
			out = ndjson.AppendMember(out, c.name, strconv.AppendInt(nil, int64(counts[c.name]), 10))
		}
		return append(out, '}')
	}
	ttgir = count(ttgir, a.Texts["ttgir"], ttgirAccesses, code("//"))
	gcn = count(gcn, a.Texts["amdgcn"], gcnAccesses, code(";"))
	io := ndjson.AppendMember(nil, "amd_ttgir_bufferops_count", ttgir)
	io = append(ndjson.AppendMember(io, "amd_gcn_bufferops_count", gcn), '}')
	return []Finding{{"io_counts", json.RawMessage(io)}, {"amd_buffer_ops", bufferStatus(counts)}}
}

// operation is the name of the operation or instruction of a line; "" if it is none.
func operation(line, comment string) string {
	line, _, _ = strings.Cut(strings.TrimSpace(line), comment)
	if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ".") {
		return ""
	}
	if strings.HasPrefix(line, "%") {
		_, line, _ = strings.Cut(line, " = ")
	}
	name, _, _ := strings.Cut(line, " ")
	name, _, _ = strings.Cut(name, "\t")
	if strings.HasSuffix(name, ":") {
		return ""
	}
	return name
}

// bufferOps says how far the accesses of a kernel's machine code are buffer instructions.
type bufferOps struct {
	Enabled      bool   `json:"enabled"`
	Status       string `json:"status"` // all_buffer, partial, none, unknown
	BufferLoad   int    `json:"buffer_load_count"`
	BufferStore  int    `json:"buffer_store_count"`
	BufferAtomic int    `json:"buffer_atomic_count"`
	GlobalLoad   int    `json:"global_load_count"`
	GlobalStore  int    `json:"global_store_count"`
	GlobalAtomic int    `json:"global_atomic_count"`
	FlatAtomic   int    `json:"flat_atomic_count"`
	Reason       string `json:"reason"` // as tritonparse words it: readers show it
}

func bufferStatus(counts map[string]int) bufferOps {
	b := bufferOps{Status: "unknown", BufferLoad: counts["buffer_load_count"], BufferStore: counts["buffer_store_count"], BufferAtomic: counts["buffer_atomic_count"],
		GlobalLoad: counts["global_load_count"], GlobalStore: counts["global_store_count"], GlobalAtomic: counts["global_atomic_count"], FlatAtomic: counts["flat_atomic_count"]}
	atomics := b.GlobalAtomic + b.FlatAtomic
	buffer, other := b.BufferLoad+b.BufferStore+b.BufferAtomic, b.GlobalLoad+b.GlobalStore+atomics
	note := ""
	if b.BufferAtomic+atomics > 0 {
		note = fmt.Sprintf(" Includes %d buffer atomic(s) and %d non-buffer atomic(s).", b.BufferAtomic, atomics)
	}
	switch {
	case buffer+other == 0:
		b.Reason = "No global memory ops found in AMDGCN; buffer-ops enablement is unknown."
	case other == 0:
		b.Enabled, b.Status = true, "all_buffer"
		b.Reason = fmt.Sprintf("All %d global memory op(s) in AMDGCN use buffer ops.%s", buffer, note)
	case buffer == 0:
		b.Status = "none"
		b.Reason = fmt.Sprintf("No buffer ops in AMDGCN; %d non-buffer global memory op(s) remain.%s", other, note)
	default:
		b.Status = "partial"
		b.Reason = fmt.Sprintf("Partial conversion: %d buffer op(s) but %d non-buffer global memory op(s) remain.%s", buffer, other, note)
	}
	return b
}
