package tritonparse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/trace/sourcemap"
)

// Analysis derives something from one compilation. A backend brings its own; those that every backend has are loop_schedules
// and procedure_checks.
type Analysis struct {
	Name   string   // what --analysis calls it
	Stages []string // which artifacts there must be
	Run    func(*Artifacts) []Finding
}

// Finding is one member of ir_analysis.
type Finding struct {
	Name  string
	Value any // as encoding/json writes it
}

// Artifacts are what an analysis looks at.
type Artifacts struct {
	Kernel   string
	Metadata json.RawMessage   // the compiler's, an object
	Texts    map[string]string // by stage
	Maps     *sourcemap.Map
	Python   *PythonSource // nil if the trace has none
	options  *Options
	backend  string
}

// line is a line of the source, without the blanks around it.
func (p *PythonSource) line(n int) (string, bool) {
	if p == nil || p.Code == "" {
		return "", false
	}
	n -= max(p.Start, 1)
	line, rest, more := strings.Cut(p.Code, "\n")
	for ; n > 0 && more; n-- {
		line, rest, more = strings.Cut(rest, "\n")
	}
	return strings.TrimSpace(line), n == 0
}

// commonAnalyses are those of every backend, in the order in which tritonparse has them.
var commonAnalyses = []Analysis{
	{"loop_schedules", []string{"ttir", "ttgir"}, loopSchedules},
	{"procedure_checks", []string{"ttgir"}, procedureChecks},
}

// rooflineName is the analysis of launches.
const rooflineName = "roofline"

// AnalysisNames are those of all backends, sorted.
func AnalysisNames() []string {
	names := []string{rooflineName}
	for _, a := range commonAnalyses {
		names = append(names, a.Name)
	}
	backends.RLock()
	defer backends.RUnlock()
	for _, b := range backends.byName {
		for _, a := range b.Analyses {
			names = append(names, a.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// wants says whether an analysis was asked for.
func (o *Options) wants(name string) bool {
	return o.Analyses == nil || slices.Contains(o.Analyses, name)
}

// irAnalysis is the event of a compilation, without its end; nil if there is nothing to say.
func irAnalysis(hash string, b Backend, a *Artifacts) []byte {
	var findings []byte
	for _, n := range slices.Concat(commonAnalyses, b.Analyses) {
		missing := func(stage string) bool {
			_, ok := a.Texts[stage]
			return !ok || !slices.ContainsFunc(b.Stages, func(s Stage) bool { return s.Name == stage })
		}
		if !a.options.wants(n.Name) || slices.ContainsFunc(n.Stages, missing) {
			continue
		}
		for _, f := range n.Run(a) {
			findings = appendMember(findings, f.Name, encode(f.Value))
		}
	}
	if findings == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"event_type":"ir_analysis","hash":%s,"ir_analysis":%s}`+"\n", jsontext.Quote(hash), append(findings, '}'))
}

// encode writes JSON that is not meant for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return encode("<" + err.Error() + ">")
	}
	return bytes.TrimSpace(b.Bytes())
}
