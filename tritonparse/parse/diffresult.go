package parse

import (
	"slices"
	"strings"

	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/quirks"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// result puts what is the same and what differs into two objects, which are valid until the next result.
func (d *launchDiff) result(q quirks.Set) (diffs, sames *store.Object) {
	diffs, sames = &d.diffs, &d.sames
	diffs.Clear()
	sames.Clear()
	for _, group := range d.members() {
		if group[0].place.IsArg || !q.Has(quirks.OneLevel) && slices.ContainsFunc(group, func(r *leafRuns) bool { return len(r.place.Path) > 0 }) {
			d.parts(group, q, diffs, sames)
			continue
		}
		for _, r := range group {
			if r.same(d.n, q) {
				sames.At(r.place.Route...).Text = r.only()
			} else {
				diffs.At(r.place.Route...).Long = r.values.writeJSON
			}
		}
	}
	return diffs, sames
}

// members are the leaves of each member or argument, all runs ended.
func (d *launchDiff) members() [][]*leafRuns {
	var firsts []*launchtext.LeafPath // of the groups
	of := make([]int, len(d.leaves))
	sizes := make([]int, 0, 32)
	for i := range d.leaves {
		r := &d.leaves[i]
		if r.values != nil || r.from > 0 {
			d.close(r)
		}
		at := len(firsts) - 1 // mostly the one that the leaf before is in
		if at < 0 || !r.place.Together(firsts[at]) {
			if at = slices.IndexFunc(firsts, r.place.Together); at < 0 {
				at = len(firsts)
				firsts, sizes = append(firsts, r.place), append(sizes, 0)
			}
		}
		of[i] = at
		sizes[at]++
	}
	all := make([]*leafRuns, len(d.leaves))
	groups := make([][]*leafRuns, len(firsts))
	end := 0
	for at, n := range sizes {
		groups[at] = all[end : end : end+n]
		end += n
	}
	for i, at := range of {
		groups[at] = append(groups[at], &d.leaves[i])
	}
	return groups
}

// same says whether all launches have the same value. values is nil for a leaf that never changed.
func (r *leafRuns) same(total int, q quirks.Set) bool {
	return r.values == nil || r.values.same(total, q)
}

// only is the value of a leaf that is the same in all launches.
func (r *leafRuns) only() []byte {
	if r.values == nil {
		return r.current
	}
	return []byte(r.values.bases[0])
}

// parts writes what differs in an argument or another object, and what is the same in it, as one difference. tritonparse does so for
// arguments only, against its own schema.
func (d *launchDiff) parts(group []*leafRuns, q quirks.Set, diffs, sames *store.Object) {
	p := group[0].place
	differs := slices.ContainsFunc(group, func(r *leafRuns) bool { return !r.same(d.n, q) })
	if !differs {
		for _, r := range group {
			sames.At(r.place.Route...).Text = r.only()
		}
		return
	}
	o := diffs.At(p.Member)
	if p.IsArg {
		o = o.At(p.Argument)
	}
	o.At("diff_type").Text = []byte(`"argument_diff"`)
	o.At("sames")
	o.At("diffs")
	for _, r := range group {
		if q.Has(quirks.OneLevel) && len(r.place.Path) > 1 {
			continue // tritonparse looks one level deep
		}
		name := strings.Join(r.place.Path, ".")
		if r.same(d.n, q) {
			o.At("sames", name).Text = r.only()
		} else {
			o.At("diffs", name).Long = r.values.writeJSON
		}
	}
}
