package compat

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/goproton/goproton/profile"
)

// filter applies the three filters one after another. After each, recorded sums are computed again over the remaining frames.
// Derived values keep what they were before the filter, so that a share remains a share of the whole profile.
func (t *table) filter(include, exclude string, threshold float64) error {
	for _, f := range []struct {
		flag, pattern string
		keep          func(r *row, re *regexp.Regexp) *row
	}{{"include", include, onPathThrough}, {"exclude", exclude, without}} {
		if f.pattern == "" {
			continue
		}
		re, err := compile(f.flag, f.pattern)
		if err != nil {
			return err
		}
		if err := t.keep(func(r *row) *row { return f.keep(r, re) }, "--"+f.flag+" "+f.pattern); err != nil {
			return err
		}
	}
	if threshold != 0 {
		return t.keep(func(r *row) *row { return above(r, threshold) }, fmt.Sprintf("--threshold %g", threshold))
	}
	return nil
}

// compile anchors a pattern at the start of the name but not at its end, as proton-viewer does.
func compile(flag, pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(`\A(?:` + pattern + `)`)
	if err != nil {
		var syntax interface{ Error() string } = err
		if _, own := regexp.Compile(pattern); own != nil {
			syntax = own
		}
		return nil, fmt.Errorf("read --%s %q: %v; write a regular expression such as '.*gemm.*' (Go syntax, no look-around)", flag, pattern, syntax)
	}
	return re, nil
}

// keep replaces the tree by the result of a filter, and computes the recorded sums again.
func (t *table) keep(filter func(r *row) *row, flag string) error {
	root := filter(t.root)
	if root == nil {
		return errors.New("no frame is left after " + flag + "; use a wider filter, or none to see what there is")
	}
	t.root = root
	t.merge(root)
	t.sumUp(root)
	for i := range t.metrics {
		if m := &t.metrics[i]; m.raw {
			t.each(func(r *row) { r.cells[i] = m.value(r) })
		}
	}
	return nil
}

// onPathThrough keeps matching frames with all frames above and below them.
func onPathThrough(r *row, re *regexp.Regexp) *row {
	if re.MatchString(r.name) {
		return r
	}
	return r.withChildren(func(c *row) *row { return onPathThrough(c, re) }, false)
}

// without drops matching frames with all frames below them.
func without(r *row, re *regexp.Regexp) *row {
	if re.MatchString(r.name) {
		return nil
	}
	return r.withChildren(func(c *row) *row { return without(c, re) }, true)
}

// above keeps frames whose first metric reaches the threshold, with all frames above them.
func above(r *row, threshold float64) *row {
	return r.withChildren(func(c *row) *row { return above(c, threshold) }, r.cells[0] >= threshold)
}

// withChildren filters a row's children; the row itself stays if it is wanted or a child is.
func (r *row) withChildren(filter func(c *row) *row, wanted bool) *row {
	kept := r.children[:0:0]
	for _, c := range r.children {
		if c = filter(c); c != nil {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 && !wanted {
		return nil
	}
	r.children = kept
	return r
}

// merge joins siblings of the same name into one row, as proton-viewer does after every filter. It adds their amounts and
// derives metrics from the sums again, since adding ratios would be wrong.
func (t *table) merge(r *row) {
	first := make(map[string]*row, len(r.children))
	kept := r.children[:0:0]
	for _, c := range r.children {
		if into := first[c.name]; into != nil {
			t.absorb(into, c)
			continue
		}
		first[c.name] = c
		kept = append(kept, c)
	}
	r.children = kept
	for _, c := range r.children {
		t.merge(c)
	}
}

func (t *table) absorb(into, r *row) {
	for i := range into.own {
		into.own[i] = add(into.own[i], r.own[i])
		into.sum[i] = add(into.sum[i], r.sum[i])
	}
	into.children = append(into.children[:len(into.children):len(into.children)], r.children...)
	t.evaluate(into)
}

// prune returns a copy of the tree without metadata frames, without frames that have neither metrics nor
// children, and without frames that lost all of their children to that. The root always stays.
func prune(root *profile.Node) *profile.Node {
	if kept := pruneNode(root); kept != nil {
		return kept
	}
	return &profile.Node{Name: root.Name, Metrics: root.Metrics}
}

func pruneNode(n *profile.Node) *profile.Node {
	if profile.IsLaunchMetadata(n.Name) || len(n.Metrics) == 0 && len(n.Children) == 0 {
		return nil
	}
	kept := &profile.Node{Name: n.Name, Metrics: n.Metrics}
	for _, c := range n.Children {
		if c = pruneNode(c); c != nil {
			kept.Children = append(kept.Children, c)
		}
	}
	if len(kept.Children) == 0 && len(n.Children) > 0 {
		return nil
	}
	return kept
}
