// Package backend describes the compilers of Triton's backends: the stages of each compiler, and the analyses of their texts.
// NVIDIA's, AMD's and Ascend's are built in; Register adds another one.
package backend

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/sourcemap"
)

// Stage is one artifact of a backend's compiler.
type Stage struct {
	Name    string // the end of the artifact's file name: ttir, ptx …
	Display string // how it is shown; Name in capitals if empty
	Order   int    // place among the stages
	Text    bool   // it can be shown
	Syntax  string // how it is shown: mlir, llvm, ptx, asm, json, plaintext
	Parser  string // of package sourcemap; "" for stages whose lines are not mapped
}

// Backend is what a trace of one of Triton's backends is made of.
type Backend struct {
	Name     string // metadata.backend_name
	Stages   []Stage
	Binary   string     // the end of the name of a binary's file, without a dot: cubin; "" if it is not known
	Assembly string     // the stage of the text that binaries are assembled from
	Machine  string     // the stage of the text of their instructions, which viewers make if a trace lacks it
	Analyses []Analysis // in addition to those of every backend
}

var backends = map[string]Backend{} // by their names in small letters

// Register adds a backend. A package outside of this module calls it from an init function; a representation
// that needs a parser of its own registers it with sourcemap.Register.
func Register(b Backend) {
	name := strings.ToLower(b.Name)
	if _, ok := backends[name]; ok || name == "" {
		panic(fmt.Sprintf("tritonparse: backend %q is registered already, or has no name", b.Name))
	}
	backends[name] = b
}

// For returns the backend of a name. known is false for one that is not registered; b then has the stages that many
// backends share.
func For(name string) (b Backend, known bool) {
	if b, known = backends[strings.ToLower(name)]; !known {
		b = Unknown
	}
	return b, known
}

// Binaries are the ends of the names of binaries' files, of all backends, in alphabetical order.
func Binaries() (ends []string) {
	for _, b := range backends {
		if b.Binary != "" && !slices.Contains(ends, b.Binary) {
			ends = append(ends, b.Binary)
		}
	}
	slices.Sort(ends)
	return ends
}

// Mapped are the stages of the backend that have a text and whose lines can be mapped.
func (b Backend) Mapped(texts map[string]string) []sourcemap.Stage {
	var stages []sourcemap.Stage
	for _, s := range b.Stages {
		if text := texts[s.Name]; s.Parser != "" && text != "" {
			stages = append(stages, sourcemap.Stage{Name: s.Name, Parser: s.Parser, Text: text})
		}
	}
	return stages
}

// MappedStages are the stages of all backends whose lines can be mapped, each name once, in the order of the compilers.
func MappedStages() []Stage {
	var stages []Stage
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		for _, s := range backends[name].Stages {
			if s.Parser != "" && !slices.ContainsFunc(stages, func(t Stage) bool { return t.Name == s.Name }) {
				stages = append(stages, s)
			}
		}
	}
	slices.SortStableFunc(stages, func(a, b Stage) int { return cmp.Or(a.Order-b.Order, strings.Compare(a.Name, b.Name)) })
	return stages
}

// Unknown stands for a backend that is not registered. It maps the stages that can be mapped, as tritonparse does.
var Unknown = Backend{Assembly: "ptx", Machine: "sass", Stages: []Stage{
	{Name: "ttir", Parser: "mlir"}, {Name: "ttgir", Parser: "mlir"}, {Name: "ptx", Parser: "ptx"}, {Name: "amdgcn", Parser: "amdgcn"}, {Name: "sass", Parser: "sass"},
}, Analyses: []Analysis{amdAnalysis}}

var amdAnalysis = Analysis{"amd_buffer_ops", []string{"ttgir", "amdgcn"}, amdBufferOps}

func init() {
	Register(Backend{Name: "cuda", Binary: "cubin", Assembly: "ptx", Machine: "sass", Stages: []Stage{
		{"ttir", "", 10, true, "mlir", "mlir"},
		{"ttgir", "", 20, true, "mlir", "mlir"},
		{"llir", "", 30, true, "llvm", "llvm_dbg"},
		{"ptx", "", 40, true, "ptx", "ptx"},
		{"cubin", "", 50, false, "plaintext", ""},
		{"sass", "", 60, true, "asm", "sass"},
		{"json", "", 100, true, "json", ""},
	}})
	Register(Backend{Name: "hip", Binary: "hsaco", Assembly: "amdgcn", Machine: "isa", Stages: []Stage{
		{"ttir", "", 10, true, "mlir", "mlir"},
		{"ttgir", "", 20, true, "mlir", "mlir"},
		{"llir", "", 30, true, "llvm", "llvm_dbg"},
		{"amdgcn", "", 40, true, "asm", "amdgcn"},
		{"json", "", 100, true, "json", ""},
	}, Analyses: []Analysis{amdAnalysis}})
	Register(Backend{Name: "cann", Stages: []Stage{ // Ascend's NPUs
		{"ttir", "", 10, true, "mlir", "mlir"},
		{"ttadapter", "TTAdapter", 20, true, "mlir", "mlir"},
		{"mlirbc", "", 30, false, "plaintext", ""},
		{"bcmlir", "", 40, true, "mlir", "mlir"},
		{"npubin", "", 50, false, "plaintext", ""},
		{"json", "", 100, true, "json", ""},
	}})
}

// AppendStages writes payload.ir_stages.
func (b Backend) AppendStages(out []byte) []byte {
	return jsontext.AppendList(out, b.Stages, func(out []byte, s Stage) []byte {
		display := cmp.Or(s.Display, strings.ToUpper(s.Name))
		return fmt.Appendf(out, `{"name":%s,"extension":%s,"display_name":%s,"display_order":%d,"is_text":%t,"supports_source_mapping":%t,"syntax_id":%s}`,
			jsontext.Quote(s.Name), jsontext.Quote("."+s.Name), jsontext.Quote(display), s.Order, s.Text, s.Parser != "", jsontext.Quote(s.Syntax))
	})
}
