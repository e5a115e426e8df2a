package compare

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/backend"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/parse"
)

// WriteRecords writes a trace that TritonParse's website opens: both compilations, with source maps, and what differs as a
// compilation_diff record.
func (d *Diff) WriteRecords(w io.Writer) error {
	if err := writeCompilation(w, d.A.compilation); err != nil {
		return err
	}
	if d.B.Hash != d.A.Hash {
		if err := writeCompilation(w, d.B.compilation); err != nil {
			return err
		}
	}
	return writeRecord(w, d.record())
}

func writeCompilation(w io.Writer, c *tritonparse.Compilation) error {
	if c.Inferred { // there is no record of it
		return nil
	}
	mapped, err := parse.Mapped(c.Raw)
	if err != nil {
		return err
	}
	_, err = w.Write(append(mapped, '\n'))
	return err
}

func writeRecord(w io.Writer, r any) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// member is one of an object whose members keep their order.
type member struct {
	name  string
	value any
}

type object []member

func (o object) MarshalJSON() ([]byte, error) {
	var out []byte
	for _, m := range o {
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		out = ndjson.AppendMember(out, m.name, value)
	}
	return ndjson.EndObject(out), nil
}

// identity is a UUID (version 8) that is the same whenever the same is compared.
func identity(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	s := h.Sum(nil)
	s[6], s[8] = s[6]&0x0f|0x80, s[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
}

func (d *Diff) record() object {
	stats, operations := object{}, object{}
	expansion := 0
	for i := range d.Stages {
		s := &d.Stages[i]
		stats = append(stats, member{s.Name, statsRecord(s.LinesA, s.LinesB, s.opsA, s.opsB)})
		operations = append(operations, member{s.Name, operationRecord(s.opsA, s.opsB)})
		for k := range d.Lines {
			expansion += d.Lines[k].Expansion(s.Name)
		}
	}
	lines := object{}
	ofA := map[int]bool{}
	for i := range d.Lines {
		ofA[d.Lines[i].LineA] = true
	}
	for i := range d.Lines {
		l := &d.Lines[i]
		number, key := l.LineA, strconv.Itoa(l.LineA)
		if number == 0 {
			number, key = l.LineB, strconv.Itoa(l.LineB)
			if ofA[number] { // the keys have to differ; python_line has the number
				key = "-" + key
			}
		}
		grown := object{}
		for _, s := range d.Stages {
			if n := l.Expansion(s.Name); n != 0 {
				grown = append(grown, member{s.Name, n})
			}
		}
		lines = append(lines, member{key, object{
			{"python_line", number}, {"python_code", l.Code}, {"a", present(l.fromA)}, {"b", present(l.fromB)},
			{"a_code", d.code(d.A.compilation, l.fromA)}, {"b_code", d.code(d.B.compilation, l.fromB)}, {"expansion", grown}, {"pattern", nil},
		}})
	}
	highlights := d.Highlights()
	return object{
		{"event_type", "compilation_diff"},
		{"diff_id", identity(d.A.Trace, d.A.Hash, d.B.Trace, d.B.Hash)},
		{"kernel_name_a", d.A.Kernel}, {"kernel_name_b", d.B.Kernel}, {"kernel_names_identical", d.A.Kernel == d.B.Kernel},
		{"hash_a", d.A.Hash}, {"hash_b", d.B.Hash},
		{"source_trace_a", filepath.Base(d.A.Trace)}, {"source_trace_b", filepath.Base(d.B.Trace)},
		{"event_index_a", d.A.Event}, {"event_index_b", d.B.Event},
		{"summary", object{
			{"status", diffStatus(len(highlights))}, {"warning", nil}, {"highlights", highlights},
			{"stats", object{{"python_lines_compared", d.compared}, {"lines_with_ir_diff", len(d.Lines)}, {"total_ir_line_expansion", expansion}}},
			{"notes", []string{}},
		}},
		{"metadata_diff", metadataRecord(d.Equal, d.Options)},
		{"python_source_diff", d.pythonRecord()},
		{"ir_stats", stats}, {"operation_diff", operations}, {"by_python_line", lines},
		{"tensor_value_diff", d.TensorDiff.record()},
	}
}

// diffStatus are tritonparse's words.
func diffStatus(highlights int) string {
	switch {
	case highlights == 0:
		return "identical"
	case highlights <= 2:
		return "minor_diff"
	}
	return "significant_diff"
}

func statsRecord(linesA, linesB int, a, b map[string]int) object {
	share := 0.0
	if linesA > 0 {
		share = math.Round(1000*float64(linesB-linesA)/float64(linesA)) / 10
	}
	return object{
		{"a", object{{"lines", linesA}, {"ops", total(a)}, {"op_counts", a}}}, {"b", object{{"lines", linesB}, {"ops", total(b)}, {"op_counts", b}}},
		{"line_diff", linesB - linesA}, {"line_diff_pct", share},
	}
}

func total(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

func operationRecord(a, b map[string]int) object {
	added, removed := []string{}, []string{}
	for _, c := range changes(a, b) {
		switch {
		case c.A == 0:
			added = append(added, c.Name)
		case c.B == 0:
			removed = append(removed, c.Name)
		}
	}
	return object{{"added", added}, {"removed", removed}, {"counts_a", a}, {"counts_b", b}}
}

func metadataRecord(equal, changed []Change) object {
	sames, diffs := object{}, object{}
	for _, c := range equal {
		sames = append(sames, member{c.Name, c.A})
	}
	for _, c := range changed {
		diffs = append(diffs, member{c.Name, object{{"a", orNull(c.A)}, {"b", orNull(c.B)}}})
	}
	return object{{"sames", sames}, {"diffs", diffs}}
}

func orNull(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("null")
	}
	return v
}

func (d *Diff) pythonRecord() object {
	status, share := "identical", 1.0
	hunks := []object{}
	if d.Python != nil && !d.Python.Same() {
		if status, share = "different", d.Python.Similarity(); share >= similarCode {
			status = "similar"
		}
		for _, h := range d.Python.Hunks {
			hunks = append(hunks, object{{"line", fmt.Sprintf("@@ -%d +%d @@", h.A, h.B)}})
			for _, l := range h.Lines {
				hunks = append(hunks, object{{"line", l.Mark + l.Text}})
			}
		}
	}
	return object{{"status", status}, {"similarity", share}, {"hunks", hunks}}
}

func present(lines map[string][]int) map[string][]int {
	out := map[string][]int{}
	for stage, l := range lines {
		if len(l) > 0 {
			out[stage] = l
		}
	}
	return out
}

// code is the lines themselves, of the representations that tritonparse shows there.
func (d *Diff) code(c *tritonparse.Compilation, lines map[string][]int) map[string][]string {
	out := map[string][]string{}
	for _, stage := range []string{"ttir", "ttgir"} {
		text := splitLines(c.Texts[stage])
		for _, l := range lines[stage] {
			if l >= 1 && l <= len(text) {
				out[stage] = append(out[stage], text[l-1])
			}
		}
	}
	return out
}

// WriteRecords writes the compilations of both traces, each once, and a trace_diff record.
func (d *TraceDiff) WriteRecords(w io.Writer, a, b *tritonparse.Trace) error {
	written := map[string]bool{}
	for _, t := range []*tritonparse.Trace{a, b} {
		err := t.EachCompilation(func(c *tritonparse.Compilation) error {
			if written[c.Hash] {
				return nil
			}
			written[c.Hash] = true
			return writeCompilation(w, c)
		})
		if err != nil {
			return err
		}
	}
	return writeRecord(w, d.record(a, b))
}

func (d *TraceDiff) record(a, b *tritonparse.Trace) object {
	matched, divergent := []object{}, []string{}
	how := map[string]int{}
	for i := range d.Matches {
		m := &d.Matches[i]
		if len(m.differing()) > 0 {
			divergent = append(divergent, m.A.Kernel)
		}
		method := map[string]string{"hash": "hash", "name": "name", "source": "source", "similar name": "fuzzy_name"}[m.How]
		how[method]++
		stats, operations, highlights := object{}, object{}, []string{}
		for _, s := range backend.MappedStages() {
			stage := s.Name
			l, ok := m.Lines[stage]
			if !ok {
				continue
			}
			stats = append(stats, member{stage, statsRecord(l.A, l.B, m.opsA[stage], m.opsB[stage])})
			operations = append(operations, member{stage, operationRecord(m.opsA[stage], m.opsB[stage])})
			if l.A != l.B {
				highlights = append(highlights, stageHighlight(stage, l.A, l.B))
			}
		}
		options := []string{}
		for _, c := range m.Options {
			options = append(options, c.brief())
		}
		matched = append(matched, object{
			{"kernel_name_a", m.A.Kernel}, {"kernel_name_b", m.B.Kernel}, {"hash_a", m.A.Hash}, {"hash_b", m.B.Hash},
			{"event_index_a", m.A.Event}, {"event_index_b", m.B.Event}, {"match_method", method}, {"match_confidence", m.Confidence},
			{"status", m.Status}, {"launch_count_a", m.A.Launches}, {"launch_count_b", m.B.Launches}, {"source_similarity", m.Python},
			{"metadata_changes", options}, {"ir_stat_highlights", highlights}, {"tensor_summary", nil},
			{"compilation_diff", object{{"metadata_diff", metadataRecord(m.equal, m.Options)}, {"ir_stats", stats}, {"operation_diff", operations}, {"tensor_value_diff", m.TensorDiff.record()}}},
		})
	}
	names := func(sides []Side) []string {
		list := []string{}
		for _, s := range sides {
			list = append(list, s.Kernel)
		}
		return list
	}
	status := "identical"
	if d.Counts["similar"]+d.Counts["different"]+len(d.OnlyA)+len(d.OnlyB) > 0 {
		status = "different"
	}
	return object{
		{"event_type", "trace_diff"}, {"diff_id", identity(d.TraceA, d.TraceB, fmt.Sprint(len(matched)))},
		{"trace_a", traceRecord(a)}, {"trace_b", traceRecord(b)},
		{"matched_kernels", matched}, {"only_in_a", names(d.OnlyA)}, {"only_in_b", names(d.OnlyB)},
		{"extra_compilations_a", len(d.OnlyA)}, {"extra_compilations_b", len(d.OnlyB)},
		{"summary", object{
			{"status", status}, {"total_matched", len(matched)}, {"identical", d.Counts["identical"]}, {"similar", d.Counts["similar"]}, {"different", d.Counts["different"]},
			{"only_a", len(d.OnlyA)}, {"only_b", len(d.OnlyB)}, {"extra_compilations_a", len(d.OnlyA)}, {"extra_compilations_b", len(d.OnlyB)},
			{"highlights", []string{}}, {"match_stats", how}, {"tensor_divergent_kernels", divergent}, {"notes", []string{}},
		}},
	}
}

func traceRecord(t *tritonparse.Trace) object {
	events := 0
	for _, n := range t.Records {
		events += n
	}
	names := []string{}
	seen := map[string]bool{}
	for _, c := range t.Compilations() {
		if !seen[c.Name] {
			seen[c.Name] = true
			names = append(names, c.Name)
		}
	}
	return object{
		{"trace_path", filepath.Base(t.Source)}, {"total_events", events}, {"unique_kernels", len(names)},
		{"total_compilations", len(t.Compilations())}, {"total_launches", t.Records["launch"]}, {"kernel_names", names},
	}
}
