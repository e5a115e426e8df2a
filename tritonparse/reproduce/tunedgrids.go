package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse"
)

// tunedGrids is Python that binds _grid for a kernel that is launched through its autotuner: the grids of all configurations of
// which the trace has a launch with the tensors and numbers of this one. A trace does not record how a program computes grids.
func (w *work) tunedGrids() (string, error) {
	own := w.configuration(w.launch)
	var known []string
	entry := func(c configuration, grid []int) {
		var dims []string
		for _, n := range grid {
			dims = append(dims, fmt.Sprint(n))
		}
		text := fmt.Sprintf("    ({%s}, (%s,)),\n", strings.Join(c.constants, ", "), strings.Join(dims, ", "))
		if !slices.Contains(known, text) {
			known = append(known, text)
		}
	}
	entry(own, w.launch.Grid)
	seen := map[string]bool{} // kinds
	err := w.trace.EachBrief(func(b *tritonparse.Brief) error {
		if b.Name != w.launch.Name || !b.Whole || seen[b.Kind] {
			return nil
		}
		seen[b.Kind] = true
		l, err := b.Record()
		if err != nil {
			return err
		}
		if c := w.configuration(l); c.others == own.others {
			entry(c, l.Grid)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return "_grid = _tuned_grid(imported_kernel_function, [\n" + strings.Join(known, "") + "])\n", nil
}

// configuration divides a launch's arguments into constants, which an autotuner may choose, and all others.
type configuration struct {
	constants []string // in Python
	others    string
}

func (w *work) configuration(l *tritonparse.LaunchRecord) configuration {
	var c configuration
	others := []string{signature(l)}
	for _, a := range l.Args {
		switch {
		case a.Value == nil:
		case slices.ContainsFunc(w.params, func(p param) bool { return p.constexpr && p.name == a.Name }):
			value, ok := pythonLiteral(a.Value)
			if a.Type == "str" { // also one that reads nan
				value, ok = pythonQuote(jsontext.Text(a.Value)), true
			}
			if !ok {
				continue
			}
			c.constants = append(c.constants, pythonQuote(a.Name)+": "+value)
		default:
			others = append(others, a.Name+"="+string(a.Value))
		}
	}
	c.others = strings.Join(others, " ")
	return c
}
