package backend

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/sourcemap"
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
	Python   *Source // nil if the trace has none
	settings *Settings
	backend  string
}

// Source is the Python source of a kernel function.
type Source struct {
	File  string
	Start int // line of the file that Code begins with
	Code  string
}

// Settings select the analyses, and say how they are made.
type Settings struct {
	Quirks        quirks.Set
	Analyses      []string // names, see AnalysisNames; nil for all
	Procedures    []Procedure
	OwnProcedures bool   // Procedures are the user's and apply to every backend
	FileCheck     string // path of the program; "" for none
}

// line is a line of the source, without the blanks around it.
func (p *Source) line(n int) (string, bool) {
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

// Roofline is the name of the analysis of launches.
const Roofline = "roofline"

// AnalysisNames are those of all backends, sorted.
func AnalysisNames() []string {
	names := []string{Roofline}
	for _, a := range commonAnalyses {
		names = append(names, a.Name)
	}
	for _, b := range backends {
		for _, a := range b.Analyses {
			names = append(names, a.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Wants reports whether an analysis was asked for.
func (s *Settings) Wants(name string) bool {
	return s.Analyses == nil || slices.Contains(s.Analyses, name)
}

// Run makes the analyses of a compilation. It returns their findings as a line of a trace, and nil if there are none.
func Run(hash string, b Backend, a *Artifacts, s *Settings) []byte {
	a.settings, a.backend = s, strings.ToLower(b.Name)
	var findings []byte
	for _, n := range slices.Concat(commonAnalyses, b.Analyses) {
		missing := func(stage string) bool {
			_, ok := a.Texts[stage]
			return !ok || !slices.ContainsFunc(b.Stages, func(s Stage) bool { return s.Name == stage })
		}
		if !a.settings.Wants(n.Name) || slices.ContainsFunc(n.Stages, missing) {
			continue
		}
		for _, f := range n.Run(a) {
			findings = ndjson.AppendMember(findings, f.Name, ndjson.Encode(f.Value))
		}
	}
	if findings == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"event_type":"ir_analysis","hash":%s,"ir_analysis":%s}`+"\n", jsontext.Quote(hash), append(findings, '}'))
}
