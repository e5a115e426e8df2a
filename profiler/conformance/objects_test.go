package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// described is a code object as LLVM's tools describe it.
type described struct {
	file      string
	kernels   []string
	functions []describedFunction
}

type describedFunction struct {
	name         string
	address      uint64
	instructions []describedInstruction
}

type describedInstruction struct {
	offset uint64
	places string // in the source, innermost first: "standard.py:43 kernels.py:20"
}

var (
	kernelLine      = regexp.MustCompile(`^kernel (\S+):`)
	functionLine    = regexp.MustCompile(`^function \d+ (\S+): \d+ bytes at (0x[0-9a-f]+)`)
	instructionLine = regexp.MustCompile(`^([0-9a-f]{4,}) \S+ ?(.*)`)
)

// description reads a golden file of gpu/hsaco.
func description(file string) *described {
	text, err := os.ReadFile(objects + file + ".txt")
	if err != nil {
		panic(err)
	}
	d := &described{file: file + ".hsaco"}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if m := kernelLine.FindStringSubmatch(line); m != nil {
			d.kernels = append(d.kernels, m[1])
		} else if m := functionLine.FindStringSubmatch(line); m != nil {
			address, _ := strconv.ParseUint(m[2], 0, 64)
			d.functions = append(d.functions, describedFunction{name: m[1], address: address})
		} else if m := instructionLine.FindStringSubmatch(line); m != nil {
			f := &d.functions[len(d.functions)-1]
			offset, _ := strconv.ParseUint(m[1], 16, 64)
			f.instructions = append(f.instructions, describedInstruction{offset, m[2]})
		}
	}
	return d
}

// times is how often the fake GPU samples the instruction at an offset.
func times(offset uint64) uint64 { return 1 + offset/4%3 }

// objectScripts are programs that launch a real code object, of which the fake GPU samples every instruction.
func objectScripts() (all []script) {
	for _, file := range []string{"inlined.gfx942", "dwarf5.gfx942", "softmax.gfx90a", "softmax.gfx1100", "calls.gfx942", "matmul.gfx950"} {
		d := description(file)
		orders := "sampling stochastic; samples " + d.kernels[0]
		for _, f := range d.functions {
			for _, i := range f.instructions {
				orders += fmt.Sprintf(" %#x:3:%d", f.address+i.offset, times(i.offset))
			}
		}
		all = append(all, script{name: "every instruction of " + file, orders: orders, options: sampled, check: d.check, program: func(s *stage, gpu FakeHIP) {
			s.start()
			scope("train", func() { launchOf(gpu, loaded(s, gpu, d.file, d.kernels[0])) })
		}})
	}
	return all
}

// check compares the profile, and what `proton viewer --source` makes of it, with the places that LLVM's tools find.
func (d *described) check(s *stage, p *profile.Profile) {
	for _, f := range d.functions {
		at := slices.IndexFunc(p.Sampling.Functions, func(g profile.SampledFunction) bool { return g.Name == f.name })
		if at < 0 {
			s.Errorf("%s has no samples", f.name)
			continue
		}
		got, want := "", ""
		for _, pc := range samplesOf(p.Root, at) {
			got += fmt.Sprintf("%#x %d%s\n", pc.Offset, pc.Stalls[0].Samples, places(p.Sampling.Functions[at].At(pc.Offset)))
		}
		for _, i := range f.instructions {
			want += strings.TrimSpace(fmt.Sprintf("%#x %d %s", i.offset, times(i.offset), i.places)) + "\n"
		}
		if got != want {
			s.Errorf("%s: %s", f.name, testkit.FirstDifference(got, want))
		}
	}
	if got, want := d.viewed(s), d.lines(); !maps.Equal(got, want) {
		s.Errorf("`proton viewer --source` shows samples of lines %v, want %v", got, want)
	}
}

func samplesOf(n *profile.Node, function int) (all []profile.PCSamples) {
	for _, f := range n.Samples {
		if f.Function == function {
			all = append(all, f.PCs...)
		}
	}
	for _, c := range n.Children {
		all = append(all, samplesOf(c, function)...)
	}
	return all
}

func places(frames []profile.SourceFrame) (text string) {
	for _, f := range frames {
		text += fmt.Sprintf(" %s:%d", filepath.Base(f.File), f.Line)
	}
	return text
}

// lines has the samples of each line of each function: those of the code that was inlined at a line belong to it.
func (d *described) lines() map[string]uint64 {
	lines := map[string]uint64{}
	for _, f := range d.functions {
		for _, i := range f.instructions {
			if places := strings.Fields(i.places); len(places) > 0 {
				lines[f.name+" "+places[len(places)-1]] += times(i.offset)
			}
		}
	}
	return lines
}

const viewer = "../../build/proton"

// viewed is the same by the viewer.
func (d *described) viewed(s *stage) map[string]uint64 {
	out, err := exec.Command(viewer, "viewer", "--source", ".", "--json", s.options.Name+".hatchet").Output()
	if err != nil {
		s.Fatalf("proton viewer --source: %v\n%s", err, out)
	}
	var document struct {
		Kernels []struct {
			Function string
			Files    []struct {
				File  string
				Lines []struct {
					Line    int
					Samples uint64
				}
			}
		}
	}
	if err := json.Unmarshal(out, &document); err != nil {
		s.Fatal(err)
	}
	lines := map[string]uint64{}
	for _, k := range document.Kernels {
		for _, f := range k.Files {
			for _, l := range f.Lines {
				lines[fmt.Sprintf("%s %s:%d", k.Function, filepath.Base(f.File), l.Line)] += l.Samples
			}
		}
	}
	return lines
}
