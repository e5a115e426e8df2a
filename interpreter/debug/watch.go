package debug

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/goproton/goproton/interpreter"
)

// memoryText is an expression that names elements in memory: y_ptr[5000], y_ptr[0:8].
var memoryText = regexp.MustCompile(`^\s*(\w+)\s*\[([^\]]*)\]\s*$`)

// maxWatched bounds the elements of a watch, which is looked at after each operation.
const maxWatched = 1 << 14

// Watch stops when a value changes: a variable of a function or, in any program instance, elements of memory.
func (d *Debugger) Watch(s *Stop, frame *Frame, text string) (*Watch, error) {
	e, err := compileExpression(text)
	if err != nil {
		return nil, err
	}
	w := &Watch{Text: text, compute: e, frame: frame.Name}
	in := d.run.environment(frame)
	now, err := e(in)
	if err != nil {
		return nil, err
	}
	if w.was = &now; max(in.computed, now.len()) > maxWatched {
		return nil, fmt.Errorf("a watch may compute %d elements, and %s computes %d", maxWatched, text, max(in.computed, now.len()))
	}
	if m := memoryText.FindStringSubmatch(text); m != nil {
		if p, err := d.run.lookup(frame, m[1]); err == nil && p.kind == pointer && len(p.shape) == 0 {
			if err := w.fix(in, &p, m[2]); err != nil {
				return nil, err
			}
		}
	}
	d.numbers++
	w.Number = d.numbers
	d.watches = append(d.watches, w)
	return w, nil
}

// fix remembers the addresses of elements.
func (w *Watch) fix(in *environment, p *value, index string) error {
	addresses := value{kind: number, bits: 64}
	e, err := compileExpression("at[" + index + "]")
	if err != nil {
		return err
	}
	collect := &environment{names: func(string) (value, error) { return *p, nil }, instance: in.instance, addresses: &addresses}
	if _, err := e(collect); err != nil {
		return err
	}
	w.frame, w.element, w.at = "", p.to, addresses.ints
	return nil
}

// begin forgets a variable when another program instance begins.
func (w *Watch) begin() {
	if w.frame != "" {
		w.was = nil
	}
}

// reset forgets what a value was, since the launch begins.
func (w *Watch) reset() { w.was = nil }

// now is the value, and nil where it has none.
func (w *Watch) now(r *run) *value {
	if w.frame == "" {
		v := typed(w.element.Scalar())
		v.shape = []int{len(w.at)}
		if len(w.at) == 1 {
			v.shape = nil
		}
		if list, _ := r.instance.Load(w.element, w.at); !v.take(list) {
			return nil
		}
		return &v
	}
	f := last(r.current().stack)
	if f.Name != w.frame {
		return nil
	}
	v, err := w.compute(r.environment(f))
	if err != nil {
		return nil
	}
	return &v
}

// watch looks for values that the operation before p has changed.
func (r *run) watch(p *interpreter.Point) {
	for _, w := range slices.Clone(r.d.watches) {
		v := w.now(r)
		if v == nil {
			continue
		}
		was := w.was
		if w.was = v; was == nil || was.equal(v) || r.mode.kind == Switch || r.mode.kind == Back {
			continue
		}
		st := r.d.style()
		r.ask(&Stop{Reason: "watch", Numbers: []int{w.Number}, Point: p, Stack: r.stack(len(r.current().stack) - 1),
			Text: fmt.Sprintf("%s has changed from %s to %s.", w.Text, st.inline(was), st.inline(v))})
	}
}
