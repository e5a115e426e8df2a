package kernels

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"github.com/goproton/goproton/tritonparse"
)

// readTrace collects the compilations of a trace and its launches by kind.
func (j *joiner) readTrace() error {
	t := j.options.Trace
	if t == nil {
		return nil
	}
	for _, c := range t.Compilations() {
		s := j.spec(c.Hash, c.Name)
		if s.Compilation == nil {
			s.Compilation = c
			s.readMetadata(c)
		}
	}
	kinds, err := t.Kinds()
	if err != nil {
		return err
	}
	for _, k := range kinds {
		s := j.spec(k.Hash, k.Name)
		g := j.group(s, k.ID)
		g.kind, g.File, g.Line = k, k.First.File, k.First.Line
		g.Traced += k.Launches
		s.Traced += k.Launches
		j.kernel(k.Name).Traced += k.Launches
	}
	return nil
}

// compilerOptions are the names in a compilation's metadata of what a program sets when it launches a kernel.
var compilerOptions = []string{"num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "enable_fp_fusion"}

func (s *Specialisation) readMetadata(c *tritonparse.Compilation) {
	for _, name := range compilerOptions {
		if n, ok := c.Int(name); ok {
			s.Options = append(s.Options, Setting{name, strconv.Itoa(n)})
		}
	}
	if n, ok := c.Int("shared"); ok {
		s.Shared = n
	}
}

// readLaunches takes grid and arguments of each kind from its first launch.
func (j *joiner) readLaunches(s *Specialisation) error {
	constexprs := constexprNames(s.Compilation)
	for _, g := range s.Groups {
		if g.kind == nil {
			continue
		}
		l, err := g.kind.Record()
		if err != nil {
			return err
		}
		g.Grid, g.Note = l.Grid, l.Note
		for i := range l.Args {
			a := &l.Args[i]
			setting := Setting{a.Name, a.Brief()}
			switch {
			case !constexprs[a.Name]:
				g.Arguments = append(g.Arguments, setting)
			case !slices.ContainsFunc(s.Constexprs, func(have Setting) bool { return have.Name == a.Name }):
				s.Constexprs = append(s.Constexprs, setting)
			}
		}
		if !j.options.namesOnly {
			g.Work.complete(j.tracedWork(s.Compilation, l))
		}
	}
	return nil
}

var constexprParameter = regexp.MustCompile(`(\w+)\s*:\s*(?:\w+\s*\.\s*)*constexpr\b`)

// constexprNames are the parameters whose values the compiler was given.
func constexprNames(c *tritonparse.Compilation) map[string]bool {
	names := map[string]bool{}
	switch {
	case c == nil:
	case c.Extra != nil && len(c.Extra.Params) > 0:
		for _, p := range c.Extra.Params {
			names[p.Name] = p.Constexpr
		}
	case c.Python != nil:
		for _, m := range constexprParameter.FindAllStringSubmatch(c.Python.Code, -1) {
			names[m[1]] = true
		}
	}
	return names
}

// parameterNames are all parameters in their order; nil for traces that GoProton did not record.
func parameterNames(c *tritonparse.Compilation) (names []string) {
	if c == nil || c.Extra == nil {
		return nil
	}
	for _, p := range c.Extra.Params {
		names = append(names, p.Name)
	}
	return names
}

// compiledIn are the values of constexprs in the metadata of a compilation, for one without a known launch.
func compiledIn(c *tritonparse.Compilation) (settings []Setting) {
	var metadata struct {
		Constants map[string]json.RawMessage `json:"src_constants"`
	}
	if c == nil || json.Unmarshal(c.Metadata, &metadata) != nil {
		return nil
	}
	constexprs := constexprNames(c)
	for i, name := range parameterNames(c) {
		if value, ok := metadata.Constants["("+strconv.Itoa(i)+",)"]; ok && constexprs[name] {
			settings = append(settings, Setting{name, string(bytes.TrimSpace(value))})
		}
	}
	return settings
}
