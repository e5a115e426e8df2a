package pprofile

import (
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
)

// split writes a node of a merged profile as a sample for each rank, and one for what no rank has a part of. It
// reports whether it did: nodes without parts are left to the caller.
func (w *writer) split(stack stack, row []int64, labels *labelSet, n *profile.Node) bool {
	var order []origin
	rows := map[origin][]int64{}
	for i := range n.Metrics {
		m := &n.Metrics[i]
		part := w.columns.parts[m.Name]
		if part == nil {
			continue
		}
		v, _ := w.columns.list[part.column].whole(m.Value)
		if v == 0 {
			continue
		}
		if rows[part.of] == nil {
			rows[part.of] = w.row()
			order = append(order, part.of)
		}
		rows[part.of][part.column] = v
		row[part.column] -= v
	}
	for _, o := range order {
		w.sample(stack, rows[o], w.withOrigin(labels, o))
	}
	if len(order) > 0 && !slices.ContainsFunc(row, func(v int64) bool { return v != 0 }) {
		return true
	}
	w.sample(stack, row, labels)
	return true
}

type originKey struct {
	labels *labelSet
	of     origin
}

// withOrigin returns labels with a rank among them.
func (w *writer) withOrigin(labels *labelSet, o origin) *labelSet {
	k := originKey{labels, o}
	w.facts.Origins = true
	set := w.origins[k]
	if set == nil {
		set = labels.clone()
		set.add(o.key, profile.StringValue(o.value), textLabel)
		w.origins[k] = set
	}
	return set
}

// takeOrigin takes the label that names a part out of the labels of a sample; "" if there is none.
func (r *reader) takeOrigin(labels []profile.Metric) (source string, rest []profile.Metric) {
	if !r.ours || !r.facts.Origins {
		return "", labels
	}
	for i, m := range labels {
		if name, is := (origin{m.Name, labelText(m.Value)}).source(); is {
			return name, slices.Delete(labels, i, i+1)
		}
	}
	return "", labels
}

// addPart adds the values of a sample to the metrics of one source.
func (r *reader) addPart(n *profile.Node, s *pprof.Sample, source string) {
	for i, v := range s.Value {
		if v == 0 {
			continue
		}
		m := r.metrics[i]
		m.Metric = merge.Column(m.Metric, source)
		addValue(n, m, v)
	}
}
