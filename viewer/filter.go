package viewer

import (
	"fmt"
	"regexp"
	"slices"
)

// filter gives every frame its row. It finds the frames that match first. One loop from the root down then decides for each frame,
// since the decision for its parent comes before.
func (b *builder) filter(o *Options) error {
	var patterns []*pattern
	for _, f := range []struct{ flag, text string }{
		{"include", o.Include}, {"exclude", o.Exclude}, {"focus", o.Focus}, {"trim", o.Trim}, {"hide", o.Hide},
	} {
		p, err := compile(f.flag, f.text)
		if err != nil {
			return err
		}
		patterns = append(patterns, p)
	}
	include, exclude, focus, trim, hide := patterns[0], patterns[1], patterns[2], patterns[3], patterns[4]
	b.assign(include, exclude, focus, trim, hide)
	if (include.given() || exclude.given() || focus.given()) && !slices.ContainsFunc(b.frames, func(f frame) bool { return f.counts }) {
		return fmt.Errorf("no frame is left after%s%s%s; use a wider filter, or none to see what there is", include, exclude, focus)
	}
	return nil
}

// assign decides for every frame which row it belongs to, and makes the rows.
func (b *builder) assign(include, exclude, focus, trim, hide *pattern) {
	n := len(b.frames)
	through := b.through(include, exclude)
	onPath := b.above(through) // frames that lead to one that counts
	focused := make([]bool, n)
	trimmed := make([]bool, n)
	merged := focus.given() || hide.given() // frames of different callers may now be siblings of one name
	rowOf := map[sibling]int32{}
	b.sums.rows = append(make([]rowFrame, 0, n), rowFrame{b.frames[0].node, -1})
	for i := range b.frames {
		f := &b.frames[i]
		up := int32(0) // row of the caller
		if i > 0 {
			up = b.frames[f.parent].row
			focused[i] = focused[f.parent]
			trimmed[i] = trimmed[f.parent]
		}
		focused[i] = focused[i] || !focus.given() || focus.match(f.node.Name)
		f.counts = through[i] && focused[i]
		switch {
		case i == 0:
			f.row, f.itself = 0, true
		case !onPath[i] || up < 0:
			f.row, f.counts = -1, false
		case !focused[i], trimmed[i], hide.match(f.node.Name):
			f.row = up
		default:
			f.row, f.itself = b.rowFor(f, up, merged, rowOf), true
		}
		trimmed[i] = trimmed[i] || trim.match(f.node.Name) && f.row > 0
	}
}

// sibling names a row among the children of another.
type sibling struct {
	parent int32
	name   string
}

// rowFor makes a new row below another, or finds the one of the same name if equal names are merged.
func (b *builder) rowFor(f *frame, parent int32, merged bool, rowOf map[sibling]int32) int32 {
	key := sibling{parent, f.node.Name}
	if merged {
		if row, ok := rowOf[key]; ok {
			return row
		}
		rowOf[key] = int32(len(b.sums.rows))
	}
	b.sums.rows = append(b.sums.rows, rowFrame{f.node, parent})
	return int32(len(b.sums.rows) - 1)
}

// through reports which frames lie on or below one that include matches, and not on or below one that exclude matches.
func (b *builder) through(include, exclude *pattern) []bool {
	through := make([]bool, len(b.frames))
	dropped := make([]bool, len(b.frames))
	for i := range b.frames {
		f := &b.frames[i]
		inside, out := false, false
		if f.parent >= 0 {
			inside, out = through[f.parent], dropped[f.parent]
		}
		dropped[i] = out || exclude.match(f.node.Name)
		through[i] = !dropped[i] && (inside || !include.given() || include.match(f.node.Name))
	}
	return through
}

// above adds the frames above those that are given.
func (b *builder) above(given []bool) []bool {
	all := make([]bool, len(given))
	for i := len(given) - 1; i >= 0; i-- {
		if all[i] = all[i] || given[i]; all[i] && i > 0 {
			all[b.frames[i].parent] = true
		}
	}
	return all
}

// pattern is a filter's regular expression. Trees repeat few names many times, so answers are kept.
type pattern struct {
	flag   string
	re     *regexp.Regexp // nil when the filter was not requested
	answer map[string]bool
}

func compile(flag, text string) (*pattern, error) {
	if text == "" {
		return &pattern{}, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, badOption("read --%s %q: %v; write a regular expression such as 'gemm|matmul' (Go syntax, no look-around)", flag, text, err)
	}
	return &pattern{flag, re, map[string]bool{}}, nil
}

func (p *pattern) given() bool { return p.re != nil }

func (p *pattern) match(name string) bool {
	if p.re == nil {
		return false
	}
	yes, known := p.answer[name]
	if !known {
		yes = p.re.MatchString(name)
		p.answer[name] = yes
	}
	return yes
}

// String is the flag as it was given.
func (p *pattern) String() string {
	if p.re == nil {
		return ""
	}
	return fmt.Sprintf(" --%s %s", p.flag, p.re)
}
