package tritonparse

import (
	"github.com/goproton/goproton/internal/jsontext"
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
}

// Work counts what a launch of the compilation does.
func (c *Compilation) Work(l *LaunchRecord) Work {
	c.workOnce.Do(func() {
		if text := c.Texts["ttir"]; text != "" {
			c.work = newWorkTemplate(&workSource{text, jsontext.Get(c.Metadata, "src_constants")}, false)
			c.dot = dotOf(text)
		}
	})
	k := &workKind{}
	for _, n := range l.Grid {
		k.dims = append(k.dims, int64(n))
	}
	for i := range l.Args {
		f := readFacts(l.Args[i].Raw)
		k.add(l.Args[i].Name, &f, false)
	}
	if c.work == nil {
		w := Work{Bytes: -1, FromCode: -1, Arguments: -1, Flops: -1, Notes: []string{"the trace has no TTIR of it"}}
		if k.hasArgs {
			w.Bytes, w.Arguments = k.fromArgs, k.fromArgs
		}
		return w
	}
	e := c.work.estimate(k)
	return Work{Bytes: e.moved(), FromCode: e.fromIR, Arguments: e.fromArgs, Flops: e.flops, Dot: c.dot, Notes: e.notes}
}
