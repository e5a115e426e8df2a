package gate

import (
	"io"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
)

// Schema names the layout of the document.
const Schema = "goproton.gate/1"

// Document is the layout of the JSON report. docs/compare.md promises it: fields are added, not renamed.
type Document struct {
	Schema   string                `json:"schema"`
	Verdict  string                `json:"verdict"` // "pass" or "fail"
	Tested   bool                  `json:"tested"`
	Alpha    float64               `json:"alpha"`
	Before   []string              `json:"before"`
	After    []string              `json:"after"`
	Rules    []JSONRule            `json:"rules"`
	New      []JSONOneSided        `json:"new"`
	Vanished []JSONOneSided        `json:"vanished"`
	Small    int                   `json:"too_short"`
	Caveats  []string              `json:"caveats"`
	Errors   []jsontext.Diagnostic `json:"errors,omitempty" jsonschema:"why there is no answer"`
}

// JSONRule is the result of a rule.
type JSONRule struct {
	Rule    string     `json:"rule"`
	Metric  string     `json:"metric"`
	Unit    string     `json:"unit"`
	Verdict string     `json:"verdict"`
	Gaps    int        `json:"without_value"`
	Paths   []JSONPath `json:"paths"` // all that were compared, in the order of the tree
}

// JSONPath is the result of a rule for a call path.
type JSONPath struct {
	Path     []string     `json:"path"` // without the root; empty for the whole program
	Outcome  Outcome      `json:"outcome"`
	Before   JSONSample   `json:"before"`
	After    JSONSample   `json:"after"`
	Change   figures.JSON `json:"change"`
	Percent  figures.JSON `json:"percent"` // null where the median before is 0
	Noise    figures.JSON `json:"noise"`   // null for a single run, as are the p-values
	P        figures.JSON `json:"p"`
	Adjusted figures.JSON `json:"p_adjusted"`
}

// JSONSample is one side.
type JSONSample struct {
	Values []float64    `json:"values"`
	Median figures.JSON `json:"median"`
	Low    figures.JSON `json:"low"` // of the median's confidence interval; null where it has no end
	High   figures.JSON `json:"high"`
}

// JSONOneSided is a call path of one side.
type JSONOneSided struct {
	Path []string     `json:"path"`
	Time figures.JSON `json:"time_ns"`
}

// WriteJSON prints a report for programs, one call path after another.
func (r *Report) WriteJSON(w io.Writer) error {
	if err := r.root.CheckPaths("JSON"); err != nil {
		return err
	}
	d := Document{Schema: Schema, Verdict: word(r.Failed), Tested: r.Tested, Alpha: r.Alpha, Before: r.Before, After: r.After, Rules: []JSONRule{},
		New: []JSONOneSided{}, Vanished: []JSONOneSided{}, Small: r.Small, Caveats: append([]string{}, r.Caveats...)}
	var lists []jsontext.List
	for i := range r.Rules {
		rule := &r.Rules[i]
		d.Rules = append(d.Rules, JSONRule{Rule: rule.Rule.Text, Metric: rule.Metric, Unit: rule.Unit, Verdict: word(rule.Failed), Gaps: rule.Gaps, Paths: []JSONPath{}})
		lists = append(lists, jsontext.List{Key: "paths", Len: len(rule.Verdicts), At: func(k int) any { return rule.Verdicts[k].json() }})
	}
	return jsontext.WriteLists(w, d, " ", append(lists, oneSided("new", r.New), oneSided("vanished", r.Vanished))...)
}

func (v *Verdict) json() JSONPath {
	return JSONPath{Path: v.Path(), Outcome: v.Outcome, Before: sampleOf(v.Before), After: sampleOf(v.After),
		Change: digits(v.Change), Percent: digits(100 * v.Relative), Noise: digits(v.Noise), P: digits(v.P), Adjusted: digits(v.Adjusted)}
}

func word(failed bool) string {
	if failed {
		return "fail"
	}
	return "pass"
}

func sampleOf(s Sample) JSONSample {
	return JSONSample{s.Values, digits(s.Median), digits(s.Lo), digits(s.Hi)}
}

func oneSided(key string, list []OneSided) jsontext.List {
	return jsontext.List{Key: key, Len: len(list), At: func(i int) any { return JSONOneSided{list[i].Path(), digits(list[i].Time)} }}
}

// digits rounds to twelve significant digits. Further digits differ between processors, since those with a fused multiply-add
// round a sum of products once and others twice.
func digits(v float64) figures.JSON { return figures.JSON(figures.Rounded(v, 12)) }
