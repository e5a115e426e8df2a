package joined

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/sourcemap"
	"github.com/goproton/goproton/viewer/source"
)

// Instructions are what the trace knows of a kernel's machine code: the listing, if one was recorded, and of every instruction
// what it was made of. The binary, or the listing, says which line of PTX that is, and lines of the stages before are those of
// the same origin.
func (r ir) Instructions(k *source.Kernel) (known source.Instructions) {
	c := r.join.code
	m := c.match(k)
	if m.compilation == nil {
		return known
	}
	x := m.compilation
	listing, at := source.Recorded(x.Texts[sass], k.Function.Name)
	known.Listing, known.Made = listing, map[uint64]source.Made{}
	stages := newStageLines(x)
	if module := c.machineCode(k, x); module != nil {
		same := samePTX(module.PTX, x.Texts["ptx"])
		for pc := uint64(0); pc < module.Function.Size; pc += cubin.InstructionSize {
			if line := module.Function.PTXLine(pc); same && line > 0 {
				known.Made[pc] = source.Made{Frames: stages.frames(line), Lines: stages.of(line)}
			}
		}
		return known
	}
	places := recordedPlaces(x)
	ptx := recordedPTX(x.Texts[sass])
	for pc, line := range at {
		frames := source.MoreCallers(places[line], stages.frames(ptx[line]))
		known.Made[pc] = source.Made{Frames: frames, Lines: stages.of(ptx[line])}
	}
	return known
}

// stageLines finds the lines of all stages that have the origin of a line of PTX.
type stageLines struct {
	ptx    []string
	byLine map[int]*sourcemap.Entry // of lines of PTX
	stages []stageLine
}

type stageLine struct {
	name  string
	lines []string
	own   map[origin]int // the line that stands for those of an origin, from 1
}

func newStageLines(x *tritonparse.Compilation) *stageLines {
	s := &stageLines{ptx: strings.Split(x.Texts["ptx"], "\n"), byLine: map[int]*sourcemap.Entry{}}
	maps := x.Maps()
	entries := maps.Entries("ptx")
	for i := range entries {
		s.byLine[entries[i].Own] = &entries[i]
	}
	for _, name := range x.Stages() {
		if name == "ptx" || name == sass {
			continue
		}
		one := stageLine{name, strings.Split(x.Texts[name], "\n"), map[origin]int{}}
		entries := maps.Entries(name)
		_, shows := byOrigin(one.lines, entries)
		for from, i := range shows {
			one.own[from] = entries[i].Own
		}
		s.stages = append(s.stages, one)
	}
	return s
}

// of are the lines that a line of PTX was made of, itself the last.
func (s *stageLines) of(line int) (made []source.IRLine) {
	if line < 1 || line > len(s.ptx) {
		return nil
	}
	if e := s.byLine[line]; e != nil {
		from := originOf(e)
		for i := range s.stages {
			stage := &s.stages[i]
			if own := stage.own[from]; own > 0 && own <= len(stage.lines) {
				made = append(made, source.IRLine{Stage: stage.name, Number: fmt.Sprint(own), Text: withoutLocation(stage.lines[own-1])})
			}
		}
	}
	return append(made, source.IRLine{Stage: "ptx", Number: fmt.Sprint(line), Text: withoutLocation(s.ptx[line-1])})
}

// frames are the places of a line of PTX.
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
func recordedPlaces(x *tritonparse.Compilation) map[int][]profile.SourceFrame {
	places := map[int][]profile.SourceFrame{}
	entries := x.Maps().Entries(sass)
	for i := range entries {
		places[entries[i].Own] = framesOf(&entries[i])
	}
	return places
}

var ptxLine = regexp.MustCompile(`^\s*//## File "\.nv_debug_ptx_txt[^"]*", line (\d+)`)

// recordedPTX is the line of PTX that each line of a recorded listing was made of.
func recordedPTX(listing string) map[int]int {
	lines, now := map[int]int{}, 0
	for i, line := range strings.Split(listing, "\n") {
		if m := ptxLine.FindStringSubmatch(line); m != nil {
			now, _ = strconv.Atoi(m[1]) //nolint:errcheck // of digits: what is too long is not a line
		} else if strings.HasPrefix(line, "Function:") {
			now = 0
		}
		lines[i+1] = now
	}
	return lines
}
