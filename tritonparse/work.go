package tritonparse

import (
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/work"
)

// Work is what one launch moves and computes, counted in its TTIR with its loops, and bounded by its arguments. Numbers that
// are not known are negative.
type Work struct {
	Bytes     int64 // the lesser of what the code moves and what the arguments have: what the memory sees if caches work
	FromCode  int64 // bytes that all programs of the grid load and store together
	Arguments int64 // bytes of the arguments, each once
	Flops     int64 // of tt.dot, or where there is none of everything else
	Dot       Dot   // of the first tt.dot
	Notes     []string
	Depends   bool // on values, so that only a run can say more: how often a loop turns, or what a mask leaves out of the arguments
}

// Dot is how a TTIR multiplies matrices, by its first tt.dot.
type Dot struct {
	Type      string // element type of the operands: f16, f8E5M2, f32, f4E2M1; "" where nothing is multiplied
	Precision string // of f32, by which the GPU's units follow: ieee, tf32, tf32x3, bf16x3, bf16x6; "" for other types
}

// NoteMasked is the note of a kernel that loads or stores with a mask: the masked elements are counted as moved.
const NoteMasked = work.NoteMasked

// Work counts what a launch of the compilation does.
func (c *Compilation) Work(l *LaunchRecord) Work {
	c.workOnce.Do(func() {
		if text := c.Texts["ttir"]; text != "" {
			c.work = work.NewModel(&work.Source{Text: text, Constants: jsontext.Get(c.Metadata, "src_constants")}, quirks.None)
			c.dot = Dot(c.work.Dot())
		}
	})
	k := &work.Inputs{}
	for _, n := range l.Grid {
		k.Dims = append(k.Dims, int64(n))
	}
	for i := range l.Args {
		f := work.ReadFacts(l.Args[i].Raw)
		k.Add(l.Args[i].Name, &f, quirks.None)
	}
	if c.work == nil {
		w := Work{Bytes: -1, FromCode: -1, Arguments: -1, Flops: -1, Notes: []string{"the trace has no TTIR of it"}}
		if k.HasArgs {
			w.Bytes, w.Arguments = k.FromArgs, k.FromArgs
		}
		return w
	}
	e := c.work.Estimate(k)
	return Work{Bytes: e.Moved(), FromCode: e.FromIR, Arguments: e.FromArgs, Flops: e.Flops, Dot: c.dot, Notes: e.Notes, Depends: e.Depends}
}
