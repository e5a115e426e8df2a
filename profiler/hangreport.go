package profiler

import (
	"fmt"
	"slices"
	"time"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profiler/callpath"
)

// GPUWork is what a program has launched, for a report about a GPU that hangs.
type GPUWork struct {
	Running []Running         // the launch that each stream works at, the oldest first
	Queued  int               // launches behind them
	Last    Running           // the last launch, whether or not it has ended
	Counts  map[string]uint64 // how often each kernel was launched
}

// Running is a launch whose end was not reported.
type Running struct {
	Kernel string    // as the linker knows it; "" if it is not known, or a graph
	Graph  bool      // it launches a graph
	Path   []string  // frames from the root on: scopes, or Python's as FILE:LINE@FUNCTION
	Line   string    // FILE:LINE of most samples that were taken since work ended last; "" without samples
	Stream uint32    // as profiles number it, 0 = not known
	Seen   time.Time // when it was launched, to a few hundredths of a second
}

// Work asks for what the GPU works at.
func (h Hang) Work() (w GPUWork) {
	var running []callpath.Unended
	var last callpath.Unended
	var images *images
	lines := map[string]callpath.SampledAt{}
	w.Counts = map[string]uint64{}
	h.m.drainer.do(func(d *drainer) {
		watch := d.resolver.Watch
		running, w.Queued = watch.Unended()
		last = watch.Named(watch.Last)
		watch.Counts(func(kernel string, n uint64) { w.Counts[kernel] += n })
		images = d.images
		for _, u := range running {
			if at, some := watch.Sampled(u.Kernel); some {
				lines[u.Kernel] = at
			}
		}
	})
	for _, u := range running {
		r := runningOf(u)
		if at, some := lines[u.Kernel]; some && images != nil {
			if line := images.line(at); line != "" {
				r.Line = line
			}
		}
		w.Running = append(w.Running, r)
	}
	w.Last = runningOf(last)
	return w
}

func runningOf(u callpath.Unended) Running {
	r := Running{Kernel: u.Kernel, Graph: u.Graph, Stream: u.Stream, Seen: u.Seen, Path: frames(u.Node)}
	if python := frames(u.PyNode); len(python) > 0 {
		r.Path = python
	}
	return r
}

// frames are those of a call path, from the root on.
func frames(node uint32) (names []string) {
	for nodes := hotpath.Nodes(); node != 0 && int(node) < len(nodes); node = nodes[node].Parent {
		names = append(names, hotpath.Text(nodes[node].Name))
	}
	slices.Reverse(names)
	return names
}

// line is the source line of an instruction, "" if its module does not say.
func (m *images) line(at callpath.SampledAt) string {
	module := m.module(at.Module)
	if module == nil {
		return ""
	}
	if f, found := module.Function(at.Index, at.Function); found {
		if frames := f.Frames(at.Offset); len(frames) > 0 {
			return fmt.Sprintf("%s:%d", frames[0].File, frames[0].Line)
		}
	}
	return ""
}
