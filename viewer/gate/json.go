package gate

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/goproton/goproton/internal/figures"
)

// Document is the layout of the JSON report. docs/compare.md promises it: fields are added, not renamed.
type Document struct {
	Schema   string         `json:"schema"`  // of this layout: "goproton.gate/1"
	Verdict  string         `json:"verdict"` // "pass" or "fail"
	Tested   bool           `json:"tested"`
	Alpha    float64        `json:"alpha"`
	Before   []string       `json:"before"`
	After    []string       `json:"after"`
	Rules    []JSONRule     `json:"rules"`
	New      []JSONOneSided `json:"new"`
	Vanished []JSONOneSided `json:"vanished"`
	Small    int            `json:"too_short"`
	Caveats  []string       `json:"caveats"`
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

// WriteJSON prints a report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	d := Document{Schema: "goproton.gate/1", Verdict: word(r.Failed), Tested: r.Tested, Alpha: r.Alpha, Before: r.Before, After: r.After, Rules: []JSONRule{},
		New: oneSided(r.New), Vanished: oneSided(r.Vanished), Small: r.Small, Caveats: append([]string{}, r.Caveats...)}
	for i := range r.Rules {
		rule := &r.Rules[i]
		j := JSONRule{Rule: rule.Rule.Text, Metric: rule.Metric, Unit: rule.Unit, Verdict: word(rule.Failed), Gaps: rule.Gaps}
		for k := range rule.Verdicts {
			v := &rule.Verdicts[k]
			j.Paths = append(j.Paths, JSONPath{Path: append([]string{}, v.Path...), Outcome: v.Outcome, Before: sampleOf(v.Before), After: sampleOf(v.After),
				Change: digits(v.Change), Percent: digits(100 * v.Relative), Noise: digits(v.Noise), P: digits(v.P), Adjusted: digits(v.Adjusted)})
		}
		d.Rules = append(d.Rules, j)
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", " ")
	return out.Encode(d)
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

func oneSided(list []OneSided) []JSONOneSided {
	all := []JSONOneSided{}
	for _, at := range list {
		all = append(all, JSONOneSided{append([]string{}, at.Path...), digits(at.Time)})
	}
	return all
}

// digits rounds to twelve significant digits. Further digits differ between processors, since those with a fused multiply-add
// round a sum of products once and others twice.
func digits(v float64) figures.JSON {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		return figures.JSON(v)
	}
	return figures.JSON(short)
}
