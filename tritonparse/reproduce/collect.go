package reproduce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// surroundings are the imports, constants and functions that a kernel's source uses.
type surroundings struct {
	Imports, Constants, Functions []string            // functions, classes, and other names for them
	Aliases                       map[string][]string // module as the kernel calls it -> what it uses of it
	Missing                       []string            // names without a known definition
	Packages                      []string            // to be installed, in addition to torch and triton
	Changed                       []string            // functions that are no longer in their file as they were recorded
}

var errNoPython = errors.New("no Python interpreter")

// collect has Python parse the original source files that exist, because only Python knows the syntax of its version.
func (w *work) collect() (*surroundings, error) {
	p := w.built.Python
	whole, code := p.FunctionStart != p.Start || p.FunctionEnd != p.End, p.Code
	if !whole {
		code = strings.Join(append(slices.Clone(w.source.decorators), w.source.def), "\n")
	}
	var given []map[string]any
	for _, g := range w.given() {
		given = append(given, map[string]any{"module": g.module, "name": g.name, "optional": g.inText || g.replaceable})
	}
	ask := map[string]any{
		"folders": append([]string{filepath.Dir(w.launch.File)}, w.sources()...),
		"file":    p.File, "code": code, "whole": whole,
		"function": w.source.name, "line": p.FunctionStart, "decorators": w.PreserveAutotune, "given": given,
	}
	input, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath(w.python())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoPython, err)
	}
	cmd := exec.Command(path, "-I", "-c", embedded("python/collect.py"))
	cmd.Stdin = bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%s reads the kernel's source: %w: %s", path, err, lines[len(lines)-1])
	}
	s := &surroundings{}
	if err := json.Unmarshal(stdout.Bytes(), s); err != nil {
		return nil, fmt.Errorf("%s reads the kernel's source: %w", path, err)
	}
	return s, nil
}

func (w *work) python() string {
	if w.Python != "" {
		return w.Python
	}
	return "python3"
}

// guessImports returns the imports of common names that the code uses, for machines without Python.
func guessImports(code string) []string {
	imports := []string{"import triton\n", "import triton.language as tl\n"}
	for _, each := range []struct{ name, line string }{
		{"torch", "import torch\n"},
		{"triton_helpers", "from torch._inductor.runtime import triton_helpers\n"},
		{"libdevice", "from triton.language.extra import libdevice\n"},
		{"tl_math", "from triton.language import math as tl_math\n"},
		{"gl", "from triton.experimental.gluon import language as gl\n"},
		{"ttgl", "from triton.experimental.gluon import language as ttgl\n"},
		{"gluon", "from triton.experimental import gluon\n"},
	} {
		if regexp.MustCompile(`\b` + each.name + `\.`).MatchString(code) {
			imports = append(imports, each.line)
		}
	}
	return imports
}
