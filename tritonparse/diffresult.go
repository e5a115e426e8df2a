package tritonparse

import (
	"slices"
	"strings"
)

// result puts what is the same and what differs into two objects.
func (d *launchDiff) result(compat bool) (diffs, sames *object) {
	diffs, sames = &object{}, &object{}
	for _, group := range d.members() {
		if group[0].place.isArg || !compat && slices.ContainsFunc(group, func(r *leafRuns) bool { return len(r.place.path) > 0 }) {
			d.parts(group, compat, diffs, sames)
			continue
		}
		for _, r := range group {
			if r.same(d.n, compat) {
				sames.at(r.place.route...).text = r.only()
			} else {
				diffs.at(r.place.route...).long = r.values.writeJSON
			}
		}
	}
	return diffs, sames
}

// members are the leaves of each member or argument, all runs ended.
func (d *launchDiff) members() [][]*leafRuns {
	var firsts []*place // of the groups
	of := make([]int, len(d.leaves))
	sizes := make([]int, 0, 32)
	for i := range d.leaves {
		r := &d.leaves[i]
		if r.values != nil || r.from > 0 {
			r.close(d.n)
		}
		at := len(firsts) - 1 // mostly the one that the leaf before is in
		if at < 0 || !r.place.together(firsts[at]) {
			if at = slices.IndexFunc(firsts, r.place.together); at < 0 {
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

// together says whether two places are below the same member or argument.
func (p *place) together(q *place) bool {
	return p.member == q.member && p.argument == q.argument && p.isArg == q.isArg
}

// same says whether all launches have one value. One that all have from the first on has no values.
func (r *leafRuns) same(total int, compat bool) bool {
	return r.values == nil || r.values.same(total, compat)
}

// only is the value of a leaf that is the same in all launches.
func (r *leafRuns) only() []byte {
	if r.values == nil {
		return r.current
	}
	return []byte(r.values.list[0].text)
}

// parts keeps what differs in an argument together with what does not; likewise in another member that is an object, which
// for tritonparse is against its own schema.
func (d *launchDiff) parts(group []*leafRuns, compat bool, diffs, sames *object) {
	p := group[0].place
	differs := slices.ContainsFunc(group, func(r *leafRuns) bool { return !r.same(d.n, compat) })
	if !differs {
		for _, r := range group {
			sames.at(r.place.route...).text = r.only()
		}
		return
	}
	o := diffs.at(p.member)
	if p.isArg {
		o = o.at(p.argument)
	}
	o.at("diff_type").text = []byte(`"argument_diff"`)
	o.at("sames")
	o.at("diffs")
	for _, r := range group {
		if compat && len(r.place.path) > 1 {
			continue // tritonparse looks one level deep
		}
		name := strings.Join(r.place.path, ".")
		if r.same(d.n, compat) {
			o.at("sames", name).text = r.only()
		} else {
			o.at("diffs", name).long = r.values.writeJSON
		}
	}
}
