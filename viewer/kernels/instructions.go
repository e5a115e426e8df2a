package kernels

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/sourcemap"
)

// Instructions are the machine code of a function: text and origin of its instructions, by offset in bytes.
type Instructions struct {
	*gpu.Code

	of       *Function
	function *gpu.Function // nil if its module was not found
	made     map[uint64]made
}

// made is what an instruction was compiled from, by the trace.
type made struct {
	frames []profile.SourceFrame // innermost first; the function's own line is the last
	lines  []IRLine              // one of each stage, in the order of the compiler
}

// Instructions finds the text of a function's instructions. Without a module or a disassembler it is the listing that the trace
// recorded. What it returns can be used also with an error, which says what is missing.
func (r *Run) Instructions(f *Function) (*Instructions, error) {
	i := &Instructions{of: f, Code: &gpu.Code{}}
	var recorded *gpu.Code
	m := f.Compiled()
	known := m != nil && m.Compilation != nil
	if known {
		recorded, i.made = m.instructions()
	}
	module, err := r.Modules.Find(f)
	if err != nil {
		err = fmt.Errorf("%s: no text of its instructions: %w", f.Name, err)
	} else {
		if known {
			module.assembledFrom(m.Compilation)
		}
		i.function = module.Function
		i.Code, err = r.Modules.Code(module)
	}
	if err != nil && recorded != nil {
		i.Code, err = recorded, nil
	}
	return i, err
}

// Offsets are those of the instructions that can be shown, in their order: of the whole function if its text was found, else
// those with samples.
func (i *Instructions) Offsets() []uint64 {
	var all []uint64
	for at := range i.of.PCs {
		all = append(all, i.of.PCs[at].Offset)
	}
	for pc := range i.Code.Text {
		all = append(all, pc)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Frames are the places of an instruction, innermost first. They come from the profile, or from the module for instructions
// without samples. The trace adds callers that Triton's compiler inlined and the binary lacks.
func (i *Instructions) Frames(offset uint64) []profile.SourceFrame {
	frames, traced := i.of.Symbol.At(offset), i.made[offset].frames
	if frames == nil && i.function != nil {
		frames = slices.Clone(i.function.Frames(offset))
		if len(frames) > 0 && len(traced) == len(frames) {
			frames[0].Line = traced[0].Line // binaries have some lines wrong, see correctLines
		}
	}
	return moreCallers(frames, traced)
}

// IR are the lines that an instruction was compiled from, one of each stage; nil without a trace.
func (i *Instructions) IR(offset uint64) []IRLine { return i.made[offset].lines }

// instructions are what the trace has of the function's machine code: the listing, if one was recorded, and the origin of every
// instruction. The binary, or the listing, has the line of assembly of an instruction. The lines of the stages before are those of the
// same origin.
func (m *Compiled) instructions() (listing *gpu.Code, origins map[uint64]made) {
	x := m.Compilation
	origins = map[uint64]made{}
	assembly, machine := lastStages(x)
	recorded := m.recorded()
	if recorded != nil {
		listing = recorded.Code
	}
	stages := newStageLines(x)
	if module := m.machineCode(); module != nil {
		same := sameAssembly(module.Function.Assembly, x.Texts[assembly])
		for pc := range module.Function.Offsets {
			if line := module.Function.AssemblyLine(pc); same && line > 0 {
				origins[pc] = made{stages.frames(line), stages.of(line)}
			}
		}
		return listing, origins
	}
	if recorded == nil {
		return nil, origins
	}
	places, lines := recordedPlaces(x, machine), recorded.Assembly()
	for pc, at := range recorded.Lines {
		origins[pc] = made{moreCallers(places[at], stages.frames(lines[at])), stages.of(lines[at])}
	}
	return listing, origins
}

// stageLines finds the lines of all stages that have the origin of a line of assembly.
type stageLines struct {
	assembly string                   // the stage's name
	lines    []string                 // of assembly
	byLine   map[int]*sourcemap.Entry // of lines of assembly
	stages   []stageLine
}

type stageLine struct {
	name  string
	lines []string
	own   map[sourcemap.Origin]int // number of the line that represents those of an origin, counted from 1
}

func newStageLines(x *tritonparse.Compilation) *stageLines {
	assembly, machine := lastStages(x)
	s := &stageLines{assembly: assembly, lines: strings.Split(x.Texts[assembly], "\n"), byLine: map[int]*sourcemap.Entry{}}
	maps := x.Maps()
	entries := maps.Entries(assembly)
	for i := range entries {
		s.byLine[entries[i].Own] = &entries[i]
	}
	for _, name := range x.Stages() {
		if name == assembly || name == machine {
			continue
		}
		one := stageLine{name, strings.Split(x.Texts[name], "\n"), map[sourcemap.Origin]int{}}
		entries := maps.Entries(name)
		_, shows := byOrigin(one.lines, entries)
		for from, i := range shows {
			one.own[from] = entries[i].Own
		}
		s.stages = append(s.stages, one)
	}
	return s
}

// of are the lines that a line of assembly was compiled from; it is the last of them.
func (s *stageLines) of(line int) (lines []IRLine) {
	if line < 1 || line > len(s.lines) {
		return nil
	}
	if e := s.byLine[line]; e != nil {
		from := e.Origin()
		for i := range s.stages {
			stage := &s.stages[i]
			if own := stage.own[from]; own > 0 && own <= len(stage.lines) {
				lines = append(lines, IRLine{Stage: stage.name, Number: fmt.Sprint(own), Text: withoutLocation(stage.lines[own-1])})
			}
		}
	}
	return append(lines, IRLine{Stage: s.assembly, Number: fmt.Sprint(line), Text: withoutLocation(s.lines[line-1])})
}

// frames are the places of a line of assembly.
func (s *stageLines) frames(line int) []profile.SourceFrame {
	if e := s.byLine[line]; e != nil {
		return framesOf(e)
	}
	return nil
}

func framesOf(e *sourcemap.Entry) []profile.SourceFrame {
	frames := []profile.SourceFrame{{File: e.File, Line: e.Line}}
	for _, f := range e.Callers {
		frames = append(frames, profile.SourceFrame{File: f.File, Line: f.Line})
	}
	return frames
}

// recordedPlaces are those of the lines of a recorded listing.
func recordedPlaces(x *tritonparse.Compilation, machine string) map[int][]profile.SourceFrame {
	places := map[int][]profile.SourceFrame{}
	entries := x.Maps().Entries(machine)
	for i := range entries {
		places[entries[i].Own] = framesOf(&entries[i])
	}
	return places
}

// Bare are Samples without samples, for functions whose lines or instructions are listed all the same.
func Bare(functions ...*Function) *Samples {
	return &Samples{Facts: &profile.Sampling{}, Unit: "sample", Stalls: vendors.ByDevice("").Stalls, Functions: functions, Label: func(name string) string { return name }}
}

// bare is a function of a compilation, without samples.
func (r *Run) bare(k *Kernel, x *tritonparse.Compilation) *Function {
	f := &Function{Name: k.Name, Symbol: &profile.SampledFunction{Name: k.Name}, Vendor: vendors.ByTarget(x.Backend), code: r.code}
	f.compiled = &Compiled{Compilation: x, code: r.code, function: f, how: "by its hash"}
	return f
}

// UnsampledLines is a specialisation as a function without samples, with the lines that have IR; nil if there are none.
func (r *Run) UnsampledLines(k *Kernel, s *Specialisation) *Function {
	x := s.Compilation
	if x == nil || x.Python == nil {
		return nil
	}
	f := r.bare(k, x)
	for at := range f.compiled.lines().lines {
		if at.file == x.Python.File {
			f.Lines = append(f.Lines, &Line{File: at.file, Number: at.line})
		}
	}
	if len(f.Lines) == 0 {
		return nil
	}
	slices.SortFunc(f.Lines, func(a, b *Line) int { return a.Number - b.Number })
	return f
}

// UnsampledCode is a specialisation as a function without samples, of which Instructions are known; nil if the trace has neither
// its binary nor a listing.
func (r *Run) UnsampledCode(k *Kernel, s *Specialisation) *Function {
	x := s.Compilation
	if x == nil {
		return nil
	}
	f := r.bare(k, x)
	if f.compiled.machineCode() != nil {
		f.Symbol.Module = r.code.binary(x).image
	} else if f.compiled.recorded() == nil {
		return nil
	}
	return f
}
