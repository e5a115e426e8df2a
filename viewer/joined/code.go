package joined

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/sourcemap"
	"github.com/goproton/goproton/viewer/source"
)

// code knows which of the functions that were sampled is which compilation.
type code struct {
	options  Options
	byName   map[string][]*tritonparse.Compilation
	matches  map[*source.Kernel]match
	listings map[*source.Kernel]*listing
	binaries map[*tritonparse.Compilation]*binary
	strays   map[*tritonparse.Compilation]sourcemap.Misplaced // by line of PTX
}

// match is a compilation and how it was found; without one, why not.
type match struct {
	compilation *tritonparse.Compilation
	how         string
	twins       []*tritonparse.Compilation // others with the same binary: their samples cannot be told from its
}

// binary is the machine code of a compilation, as far as it is on this machine.
type binary struct {
	file  string
	image string // 16 hexadecimal digits, as samples name modules
	code  *cubin.File
}

func newCode(o Options) *code {
	c := &code{
		options: o, byName: map[string][]*tritonparse.Compilation{}, matches: map[*source.Kernel]match{},
		listings: map[*source.Kernel]*listing{}, binaries: map[*tritonparse.Compilation]*binary{},
		strays: map[*tritonparse.Compilation]sourcemap.Misplaced{},
	}
	if o.Modules != nil {
		o.Modules.Traced = c.traced
	}
	if o.Trace != nil {
		for _, x := range o.Trace.Compilations() {
			c.byName[x.Name] = append(c.byName[x.Name], x)
		}
	}
	return c
}

// binary reads the machine code of a compilation.
func (c *code) binary(x *tritonparse.Compilation) *binary {
	if b, known := c.binaries[x]; known {
		return b
	}
	b := &binary{file: x.Cubin()}
	c.binaries[x] = b
	if x.Extra != nil {
		b.image = x.Extra.Image
	}
	if b.file == "" {
		return b
	}
	image, err := os.ReadFile(b.file)
	if err != nil {
		return b
	}
	if b.image == "" {
		b.image = fmt.Sprintf("%016x", cubin.Hash(image))
	}
	b.code, _ = cubin.Read(image) //nolint:errcheck // without it there is no machine code to show, and nothing else is lost
	return b
}

// registers are those of a specialisation, 0 if nobody tells.
func (c *code) registers(s *Specialisation) int {
	if x := s.Compilation; x != nil {
		if b := c.binary(x); b.code != nil {
			if f := b.code.Function(x.Name); f != nil {
				return f.Registers
			}
		}
	}
	if o := c.options; o.Samples != nil {
		for _, k := range o.Samples.Kernels {
			if m := c.match(k); m.compilation != nil && m.compilation.Hash == s.Hash {
				return k.Function.Registers
			}
		}
	}
	return 0
}

// match finds the compilation of a function.
func (c *code) match(k *source.Kernel) match {
	m, known := c.matches[k]
	if !known {
		m = c.find(k)
		c.matches[k] = m
	}
	return m
}

func (c *code) find(k *source.Kernel) match {
	candidates := c.byName[k.Function.Name]
	if len(candidates) == 0 {
		return match{how: "the trace has no compilation of that name"}
	}
	if k.Function.Module != "" {
		same := func(x *tritonparse.Compilation) bool { return c.binary(x).image == k.Function.Module }
		if i := slices.IndexFunc(candidates, same); i >= 0 {
			m := match{compilation: candidates[i], how: "by its binary"}
			for _, x := range candidates[i+1:] {
				if same(x) {
					m.twins = append(m.twins, x)
				}
			}
			return m
		}
		if module, err := c.module(k); err == nil && len(module.PTX) > 0 {
			for _, x := range candidates {
				if samePTX(module.PTX, x.Texts["ptx"]) {
					return match{compilation: x, how: "by its PTX"}
				}
			}
		}
	}
	if len(candidates) > 1 {
		return match{how: fmt.Sprintf("the trace has %d compilations of that name, and the profile's binary is known to be none of them; record profile and trace in one run", len(candidates))}
	}
	return match{compilation: candidates[0], how: "by its name, of which the trace has one compilation"}
}

// traced is the file of the binary that a function was in, where it is one of the trace's.
func (c *code) traced(f *profile.SampledFunction) string {
	for _, x := range c.byName[f.Name] {
		if b := c.binary(x); b.code != nil && b.image == f.Module {
			return b.file
		}
	}
	return ""
}

// module is the binary that a function was in.
func (c *code) module(k *source.Kernel) (*source.Module, error) {
	if c.options.Modules == nil {
		return nil, os.ErrNotExist
	}
	return c.options.Modules.Find(k.Function)
}

// samePTX compares the PTX in a binary with a text: it has the same lines, without comments and without what is for debuggers.
func samePTX(lines []string, text string) bool {
	if text == "" {
		return false
	}
	of := strings.Split(text, "\n")
	same, all := 0, 0
	for i, line := range lines {
		if line == "" || strings.HasPrefix(line, ".section") || strings.HasPrefix(line, ".b8") {
			continue
		}
		all++
		if i < len(of) && bareLine(of[i]) == bareLine(line) {
			same++
		}
	}
	return all > 0 && 20*same >= 19*all
}

// bareLine is a line of PTX without blanks and comments.
func bareLine(line string) string {
	line, _, _ = strings.Cut(line, "//")
	return strings.Join(strings.Fields(line), " ")
}
