package listing

import (
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
)

// The document of a run with a trace. Fields are added, never renamed.
type (
	joinedDocument struct {
		Schema  string      `json:"schema"`                // of this layout: "goproton.joined/1"
		GPUTime uint64      `json:"gpu_time_ns,omitempty"` // of the call paths that count
		Kernels []jsonTable `json:"kernels"`
		Source  any         `json:"source,omitempty"` // as proton viewer --source --json and --sass --json have it, with "ir"
		Notes   []string    `json:"notes,omitempty"`
	}
	jsonTimes struct {
		Launches uint64   `json:"launches,omitempty"` // measured ones
		Traced   int      `json:"traced,omitempty"`   // in the trace
		Total    uint64   `json:"total_ns,omitempty"`
		Average  float64  `json:"avg_ns,omitempty"`
		Median   *float64 `json:"median_ns,omitempty"`
		Least    uint64   `json:"min_ns,omitempty"`
		Most     uint64   `json:"max_ns,omitempty"`
	}
	jsonTable struct {
		Name string `json:"name"`
		jsonTimes
		kernels.Rates
		Specialisations []jsonSpecialisation `json:"specialisations"`
		Unattributed    *jsonTimes           `json:"not_told_apart,omitempty"` // measured launches that are in none of these
	}
	jsonSpecialisation struct {
		Hash       string            `json:"hash"`
		Label      string            `json:"label"`
		InTrace    bool              `json:"in_trace"`
		Constexprs map[string]string `json:"constexprs,omitempty"`
		Options    map[string]string `json:"options,omitempty"`
		Registers  int               `json:"registers,omitempty"`
		Shared     *int              `json:"shared_bytes,omitempty"`
		jsonTimes
		kernels.Rates
		Groups       []jsonGroup `json:"launch_groups"`
		Unlisted     int         `json:"more_launch_groups,omitempty"` // how many are not listed
		Unattributed *jsonTimes  `json:"not_told_apart,omitempty"`     // measured launches that are in none of these
	}
	jsonGroup struct {
		ID        string            `json:"id"`
		Label     string            `json:"label"`
		Grid      []int             `json:"grid,omitempty"`
		Arguments []kernels.Setting `json:"arguments,omitempty"`
		File      string            `json:"file,omitempty"` // of the trace, with the first such launch
		Line      *int              `json:"line,omitempty"`
		jsonTimes
		Bytes     float64 `json:"bytes,omitempty"` // of one launch
		BytesFrom string  `json:"bytes_from,omitempty"`
		Flops     float64 `json:"flops,omitempty"`
		FlopsFrom string  `json:"flops_from,omitempty"`
		Type      string  `json:"operands,omitempty"`
		Passes    int     `json:"passes,omitempty"` // multiplications of them for each flop, where that is not one
		kernels.Rates
	}
)

// joinedDocument is the document of v.run.
func (v *view) joinedDocument() *joinedDocument {
	r := v.run
	doc := &joinedDocument{Schema: "goproton.joined/1", GPUTime: r.Nanos, Kernels: []jsonTable{}, Notes: r.Notes}
	for _, k := range r.Kernels {
		out := jsonTable{Name: k.Name, jsonTimes: timesJSON(&k.Times, k.Traced), Rates: k.Rates, Specialisations: []jsonSpecialisation{}, Unattributed: unattributedJSON(k.Unattributed())}
		for _, s := range k.Specialisations {
			out.Specialisations = append(out.Specialisations, specialisationJSON(s))
			if r.Samples != nil {
				continue
			}
			if f := v.bare(k, s); f != nil {
				v.s.Functions = append(v.s.Functions, f)
			}
		}
		doc.Kernels = append(doc.Kernels, out)
	}
	if len(v.s.Functions) > 0 {
		doc.Source = v.document()
	}
	return doc
}

func unattributedJSON(left profile.Durations) *jsonTimes {
	if left.Count == 0 {
		return nil
	}
	return new(timesJSON(&left, 0))
}

func timesJSON(t *profile.Durations, traced int) jsonTimes {
	out := jsonTimes{Launches: t.Count, Traced: traced, Total: t.Nanos, Average: t.Average(), Least: t.Least, Most: t.Most}
	if t.Times != nil && t.Times.Count > 0 && t.Times.Count == t.Count {
		out.Median = new(t.Times.Quantile(0.5))
	}
	return out
}

func specialisationJSON(s *kernels.Specialisation) jsonSpecialisation {
	out := jsonSpecialisation{
		Hash: s.Hash, Label: s.Label, InTrace: s.Compilation != nil, Constexprs: settingsJSON(s.Constexprs), Options: settingsJSON(s.Options),
		Registers: s.Registers, jsonTimes: timesJSON(&s.Times, s.Traced), Rates: s.Rates, Groups: []jsonGroup{}, Unlisted: s.Unlisted, Unattributed: unattributedJSON(s.Unattributed()),
	}
	if s.Shared >= 0 {
		out.Shared = &s.Shared
	}
	for _, g := range s.Groups {
		one := jsonGroup{
			ID: g.ID, Label: g.Label, Grid: g.Grid, Arguments: g.Arguments, File: g.File, jsonTimes: timesJSON(&g.Times, g.Traced),
			Bytes: g.Work.Bytes, BytesFrom: g.Work.BytesFrom, Flops: g.Work.Flops, FlopsFrom: g.Work.FlopsFrom, Type: g.Work.Type,
			Rates: g.Work.Rates,
		}
		if g.File != "" {
			one.Line = &g.Line
		}
		if g.Work.Passes > 1 {
			one.Passes = g.Work.Passes
		}
		out.Groups = append(out.Groups, one)
	}
	return out
}

func settingsJSON(list []kernels.Setting) map[string]string {
	out := map[string]string{}
	for _, s := range list {
		out[s.Name] = s.Value
	}
	return out
}
