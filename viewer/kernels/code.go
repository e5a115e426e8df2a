package kernels

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/sourcemap"
)

// code finds the compilations of sampled functions, and the binaries of compilations.
type code struct {
	run       *Run
	byName    map[string][]*tritonparse.Compilation
	binaries  map[*tritonparse.Compilation]*binary
	misplaced map[*tritonparse.Compilation]sourcemap.Misplaced // by line of assembly
}

// Compiled is what the trace has of a function's compilation.
type Compiled struct {
	Compilation *tritonparse.Compilation // nil if the trace has none that is known to be the function's

	code     *code
	function *Function
	how      string                     // how the compilation was found; without one, why not
	same     []*tritonparse.Compilation // others with the same binary: the samples may be theirs as well
	ir       *irOfLines                 // see lines; nil until it is requested
}

// binary is the machine code of a compilation, as far as it is on this machine.
type binary struct {
	file  string
	image string     // hash in 16 hexadecimal digits, as samples name modules
	code  gpu.Module // nil if it cannot be read
}

// newCode gives the sampled functions of a run access to the compilations of its trace.
func newCode(r *Run) *code {
	c := &code{
		run: r, byName: map[string][]*tritonparse.Compilation{}, binaries: map[*tritonparse.Compilation]*binary{},
		misplaced: map[*tritonparse.Compilation]sourcemap.Misplaced{},
	}
	if r.Modules != nil {
		r.Modules.traced = c.traced
	}
	if r.Traced() {
		for _, x := range r.options.Trace.Compilations() {
			c.byName[x.Name] = append(c.byName[x.Name], x)
		}
	}
	if r.Samples != nil {
		for _, f := range r.Samples.AllFunctions() {
			f.code = c
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
		b.image = vendors.ImageName(image)
	}
	b.code, _ = vendors.OpenModule(image) //nolint:errcheck // a binary that cannot be read has no machine code to show; nothing else needs it
	return b
}

// registers of a specialisation per thread, by its binary or by its samples; 0 if neither is there.
func (c *code) registers(s *Specialisation) int {
	if x := s.Compilation; x != nil {
		if b := c.binary(x); b.code != nil {
			if f, found := b.code.Function(0, x.Name); found {
				return f.Registers
			}
		}
	}
	if c.run.Samples != nil {
		for _, f := range c.run.Samples.Functions {
			if x := f.Compiled().Compilation; x != nil && x.Hash == s.Hash {
				return f.Symbol.Registers
			}
		}
	}
	return 0
}

// Compiled returns what the trace has of the function's compilation; nil without a trace.
func (f *Function) Compiled() *Compiled {
	if f.compiled == nil && f.code != nil {
		f.compiled = &Compiled{code: f.code, function: f}
		f.compiled.find()
	}
	return f.compiled
}

// find finds the compilation of a function: by the hash of its binary, by the assembly in its binary, or by its name.
func (m *Compiled) find() {
	c, symbol := m.code, m.function.Symbol
	candidates := c.byName[symbol.Name]
	if len(candidates) == 0 {
		m.how = "the trace has no compilation of that name"
		return
	}
	if symbol.Module != "" {
		for _, x := range candidates {
			switch {
			case c.binary(x).image != symbol.Module:
			case m.Compilation == nil:
				m.Compilation, m.how = x, "by its binary"
			default:
				m.same = append(m.same, x)
			}
		}
		if m.Compilation != nil {
			return
		}
		if module, err := c.module(m.function); err == nil {
			for _, x := range candidates {
				assembly, _ := lastStages(x)
				if sameAssembly(module.assembledFrom(x).Function.Assembly, x.Texts[assembly]) {
					m.Compilation, m.how = x, "by its "+strings.ToUpper(assembly)
					return
				}
			}
		}
	}
	if len(candidates) > 1 {
		m.how = fmt.Sprintf("the trace has %s of that name, and the profile's binary is known to be none of them; record profile and trace in one run", figures.Count(len(candidates), "compilation"))
		return
	}
	m.Compilation, m.how = candidates[0], "by its name, of which the trace has one compilation"
}

// Hash is the compile hash, "" if the compilation is not known.
func (m *Compiled) Hash() string {
	if m == nil || m.Compilation == nil {
		return ""
	}
	return m.Compilation.Hash
}

// Label distinguishes the function from others of its name, "" if nothing is known that does.
func (m *Compiled) Label() string {
	if m == nil {
		return ""
	}
	return m.code.label(m.Compilation)
}

// label is that of the specialisation of a compilation, "" if it is not one of the requested kernels'.
func (c *code) label(x *tritonparse.Compilation) string {
	for _, k := range c.run.Kernels {
		for _, s := range k.Specialisations {
			if x != nil && s.Compilation == x {
				return s.Label
			}
		}
	}
	return ""
}

// Facts are lines about the compilation for the heading of a listing.
func (m *Compiled) Facts() []string {
	if m == nil {
		return nil
	}
	if m.Compilation == nil {
		return []string{"not in the trace: " + m.how}
	}
	text := "compilation " + ShortHash(m.Compilation.Hash) + " of the trace, known " + m.how
	if len(m.same) > 0 {
		text += ", which it shares with " + FirstNames(m.same, 3, func(x *tritonparse.Compilation) string {
			return strings.TrimSpace(ShortHash(x.Hash) + " " + m.code.label(x))
		})
	}
	if label := m.Label(); label != "" {
		text = label + "; " + text
	}
	return []string{text}
}

// ShortHash is the beginning of a hash, by which people distinguish compilations.
func ShortHash(hash string) string { return hash[:min(8, len(hash))] }

// traced is the file of the trace with the binary of a function, "" if the trace does not have it.
func (c *code) traced(f *profile.SampledFunction) string {
	for _, x := range c.byName[f.Name] {
		if b := c.binary(x); b.code != nil && b.image == f.Module {
			return b.file
		}
	}
	return ""
}

// module is the binary of a function.
func (c *code) module(f *Function) (*Module, error) {
	if c.run.Modules == nil {
		return nil, os.ErrNotExist
	}
	return c.run.Modules.Find(f)
}

// machineCode is the binary that was sampled, else that of its compilation; nil if neither is on this machine.
func (m *Compiled) machineCode() *Module {
	if module, err := m.code.module(m.function); err == nil {
		return module.assembledFrom(m.Compilation)
	}
	if b := m.code.binary(m.Compilation); b.code != nil {
		if f, found := b.code.Function(0, m.function.Symbol.Name); found {
			return (&Module{File: b.file, Function: &f, format: m.function.Vendor.Code}).assembledFrom(m.Compilation)
		}
	}
	return nil
}

// assembledFrom gives the module's function the assembly of a compilation, if the module has none and was made of it.
func (m *Module) assembledFrom(x *tritonparse.Compilation) *Module {
	assembly, _ := lastStages(x)
	m.Function.AssembledFrom(x.Texts[assembly], m.format)
	return m
}

// sameAssembly compares the assembly in a binary with a text. The binary has the same lines, without comments and debug sections.
func sameAssembly(lines []string, text string) bool {
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

// bareLine is a line of assembly without blanks and comments.
func bareLine(line string) string {
	line, _, _ = strings.Cut(line, "//")
	return strings.Join(strings.Fields(line), " ")
}

// correctLines moves samples to the right lines, where the trace's assembly shows that the binary has wrong ones.
func (r *Run) correctLines() {
	if r.Samples != nil {
		for _, f := range r.Samples.Functions {
			r.code.correctLines(f)
		}
	}
}

func (c *code) correctLines(f *Function) {
	if !slices.ContainsFunc(c.byName[f.Symbol.Name], func(x *tritonparse.Compilation) bool { return len(c.misplacedLines(x)) > 0 }) {
		return // only Triton 3.9 makes such lines, and to find the compilation of a function binaries must be read
	}
	m := f.Compiled()
	if m.Compilation == nil {
		return
	}
	if module := m.machineCode(); module != nil {
		if wrong := c.misplacedIn(module, m.Compilation); wrong != nil {
			f.correctLines(func(offset uint64, recorded int) int {
				return wrong.Right(module.Function.AssemblyLine(offset), recorded)
			})
		}
	}
}

// misplacedIn are the wrong lines of a compilation, nil if the binary was assembled from another text.
func (c *code) misplacedIn(module *Module, x *tritonparse.Compilation) sourcemap.Misplaced {
	wrong := c.misplacedLines(x)
	if assembly, _ := lastStages(x); len(wrong) == 0 || !sameAssembly(module.Function.Assembly, x.Texts[assembly]) {
		return nil
	}
	return wrong
}

func (c *code) misplacedLines(x *tritonparse.Compilation) sourcemap.Misplaced {
	wrong, known := c.misplaced[x]
	if !known {
		assembly, _ := lastStages(x)
		wrong = sourcemap.FindMisplaced(x.Texts[assembly])
		c.misplaced[x] = wrong
	}
	return wrong
}
