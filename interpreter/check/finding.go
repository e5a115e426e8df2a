package check

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/goproton/goproton/triton/mlir"
)

// Place is an operation as one program instance executed it for one element.
type Place struct {
	Op      string       `json:"op,omitempty"`
	Access  string       `json:"access,omitempty"` // read, write, or atomic
	Line    int          `json:"ttir_line"`
	Program [3]int32     `json:"program"`
	Lane    int          `json:"lane"`            // the element of the tensor, in row-major order; 0 of a scalar, -1 if it is not known
	Index   []int        `json:"index,omitempty"` // the same, by dimensions
	Frames  []mlir.Frame `json:"frames"`          // in the source, the innermost first
}

// Finding is what a kernel did that it must not.
type Finding struct {
	Kind string `json:"kind"`
	Text string `json:"text"` // what happened
	Place
	Buffer string  `json:"buffer,omitempty"`
	Kernel string  `json:"kernel"`
	Others []Place `json:"others,omitempty"` // other operations that belong to it
	Count  int64   `json:"count"`            // how often it was found in this line
}

func (f *Finding) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s by %s, at %s in %s (%s)", f.Kind, f.Text, f.who(), f.where(), f.Kernel, f.Op)
	for i := range f.Others {
		o := &f.Others[i]
		fmt.Fprintf(&b, "; %s by %s, at %s (%s)", o.Access, o.who(), o.where(), o.Op)
	}
	return b.String()
}

// who is the instance and the element.
func (p *Place) who() string {
	text := fmt.Sprintf("program (%d, %d, %d)", p.Program[0], p.Program[1], p.Program[2])
	if p.Lane < 0 {
		return text
	}
	text += fmt.Sprintf(", lane %d", p.Lane)
	if len(p.Index) > 1 {
		text += " " + index(p.Index)
	}
	return text
}

func index[T int | int64](list []T) string {
	return strings.ReplaceAll(fmt.Sprint(list), " ", ", ")
}

func (p *Place) where() string {
	if len(p.Frames) == 0 {
		return fmt.Sprintf("line %d of the TTIR", p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.Frames[0].File, p.Frames[0].Line, p.Frames[0].Column)
}

// MaxFindings bounds how many findings are kept; more are counted.
const MaxFindings = 100

// List collects findings: one of each kind and line, with how often it was found. It may be used by several goroutines.
type List struct {
	Max   int // how many are kept; 0 for MaxFindings
	mu    sync.Mutex
	list  []*Finding
	known map[string]*Finding
	more  int64
}

// Add counts a finding, and keeps it if it is the first one of its kind in its line.
func (l *List) Add(f *Finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := f.Kernel + " " + f.Kind + " " + f.where()
	for i := range f.Others {
		key += " " + f.Others[i].where()
	}
	if old := l.known[key]; old != nil {
		old.Count += max(f.Count, 1)
		return
	}
	if len(l.list) >= cmp.Or(l.Max, MaxFindings) {
		l.more++
		return
	}
	if l.known == nil {
		l.known = map[string]*Finding{}
	}
	f.Count = max(f.Count, 1)
	l.known[key] = f
	l.list = append(l.list, f)
}

// All returns what was found, in this order, and how many findings of further lines were not kept.
func (l *List) All() (list []*Finding, more int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list, l.more
}
