package run

import (
	"fmt"
	"os"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/interpreter/compare"
	"github.com/goproton/goproton/triton/ttir"
)

// Diff runs a saved launch with two texts of its kernel, and says which variable differs first.
func Diff(path, a, b string, o compare.Options) (*compare.Compared, error) {
	var sides [2]*compare.Side
	for i, file := range []string{a, b} {
		l, err := Read(path)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := l.Kernel.Name
		if ttir.Parse(string(text)).Function(name) == nil {
			name = "" // the text's own
		}
		k, err := NewKernel(name, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if given, takes := len(l.Arguments), len(k.function.Arguments); given != takes {
			return nil, fmt.Errorf("%s: %s takes %d arguments, and the launch %s has %d: give texts that were compiled for the launch's arguments", file, k.Name, takes, path, given)
		}
		l.Kernel, o.Grid = k, l.Grid
		sides[i] = l.side(k.Program)
	}
	return compare.Texts(sides[0], sides[1], o)
}

// Precision runs a saved launch with and without rounding.
func Precision(path string, o compare.Options) (*compare.Precise, error) {
	var sides [2]*compare.Side
	for i := range sides {
		l, err := Read(path)
		if err != nil {
			return nil, err
		}
		m := ttir.Parse(l.Kernel.Text)
		if i == 1 {
			m.Widen()
		}
		p, err := interpreter.Load(m)
		if err != nil {
			return nil, err
		}
		o.Grid = l.Grid
		sides[i] = l.side(p)
	}
	return compare.Precision(sides[0], sides[1], o)
}

func (l *Launch) side(p *interpreter.Program) *compare.Side {
	return &compare.Side{Program: p, Kernel: l.Kernel.Name, Arguments: l.given()}
}
