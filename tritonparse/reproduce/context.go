package reproduce

import (
	"encoding/json"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// makeContext makes the context: the launch record, with the arguments as the script needs them and a member "reproduce" with the
// rest. Each member, and each argument, has a line. A context within a script leaves out members that the script does not need.
func (w *work) makeContext() {
	var out []byte
	line := func(name string, value []byte) { out = appendLine(out, "  ", name, value) }
	members, _ := jsontext.Members(w.launch.Raw)
	seen := false
	for _, m := range members {
		switch m.Name {
		case "extracted_args":
			seen = true
			line(m.Name, lines(w.plan.args))
		case "extracted_inductor_args", "reproduce":
		case "stack", "compilation_metadata", "goproton", "timestamp", "launch_group_hash", "occurrence_id", "autotune_launch_type":
			if !w.Embed {
				line(m.Name, m.Value)
			}
		default:
			line(m.Name, m.Value)
		}
	}
	if !seen {
		line("extracted_args", lines(w.plan.args))
	}
	line("reproduce", lines(w.planMembers()))
	w.context = append(out, "\n}\n"...)
}

// appendLine adds a member on its own line to an object that is being written.
func appendLine(out []byte, indent, name string, value []byte) []byte {
	out = append(append(out, "{,"[min(len(out), 1)], '\n'), indent...)
	return append(append(append(out, jsontext.Quote(name)...), ": "...), value...)
}

// lines is an object within the context, whose members have a line each.
func lines(members []jsontext.Member) []byte {
	if len(members) == 0 {
		return []byte("{\n  }")
	}
	var out []byte
	for _, m := range members {
		out = appendLine(out, "    ", m.Name, m.Value)
	}
	return append(out, "\n  }"...)
}

// planMembers is what the script gets in addition to the launch record.
func (w *work) planMembers() []jsontext.Member {
	encode := func(v any) []byte {
		text, _ := json.Marshal(v)
		return text
	}
	var compile []byte
	for _, name := range []string{"hash", "num_warps", "num_stages", "num_ctas", "shared", "backend_name", "arch", "triton_version"} {
		if v := jsontext.Get(w.built.Metadata, name); v != nil {
			compile = ndjson.AppendMember(compile, name, v)
		}
	}
	members := []jsontext.Member{
		{Name: "kernel", Value: jsontext.Quote(w.launch.Name)},
		{Name: "seed", Value: encode(w.plan.seed)},
		{Name: "int_range", Value: encode(w.plan.intRange)},
		{Name: "compile", Value: ndjson.EndObject(compile)},
	}
	work := w.built.Work(w.launch)
	flops := float64(work.Flops)
	if w.Flops > 0 {
		flops = w.Flops
	}
	if flops > 0 {
		members = append(members, jsontext.Member{Name: "flops", Value: encode(flops)},
			jsontext.Member{Name: "flops_width", Value: encode(widthOf(work.Dot.Type))})
	}
	if work.Bytes > 0 {
		members = append(members, jsontext.Member{Name: "bytes", Value: encode(work.Bytes)})
	}
	if len(w.result.Expected) > 0 {
		expected := map[string]Expected{}
		for _, e := range w.result.Expected {
			expected[e.Argument] = e
		}
		members = append(members, jsontext.Member{Name: "expected", Value: encode(expected)})
	}
	return members
}

// widthOf returns the width of an element type in bits, as the names of flops metrics have it.
func widthOf(dtype string) string {
	switch digits := strings.TrimLeft(dtype, "abcdefghijklmnopqrstuvwxyz"); {
	case strings.HasPrefix(digits, "4"), strings.HasPrefix(digits, "6"), strings.HasPrefix(digits, "8"): // no metric is narrower
		return "8"
	case strings.HasPrefix(digits, "16"):
		return "16"
	case strings.HasPrefix(digits, "64"):
		return "64"
	}
	return "32"
}
