package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// metric is the recorded amount that the user means. The first profile that has it says its name in full.
type metric struct {
	name  string // "" until a profile has it
	spans bool   // what a frame has includes all below it

	recorded map[string]bool // what profiles without it have instead
	counted  bool            // some frame that is asked for has a value
}

// find looks for the metric in a profile, by the viewer's rule. What is not a number, or does not add up, is none.
func (m *metric) find(wanted string, p *profile.Profile) {
	found, inclusive := "", false
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			name := n.Metrics[i].Name
			if _, number := n.Metrics[i].Value.Float(); !number || p.Kinds[name] == profile.Property {
				continue
			}
			if !m.recorded[name] {
				m.recorded[strings.Clone(name)] = true
			}
			adds := p.Kinds[name] == profile.Inclusive
			if name == wanted || found != wanted && viewer.IsCalled(name, wanted) && (found == "" || adds && !inclusive) {
				found, inclusive = name, adds
			}
		}
		return true
	})
	m.name, m.spans = strings.Clone(found), viewer.Spans(found)
}

// value is what a frame has of the metric; the root of a file often has zeros, which are none.
func (m *metric) value(n *profile.Node, depth int) (v float64, has bool) {
	of, has := n.Metric(m.name)
	if has && m.spans {
		of, has = n.WholeValue(m.name)
	}
	v, number := of.Float()
	return v, has && number && v == v && (v != 0 || depth > 0)
}

// Unknown is the error if no profile has the metric; nil if one has.
func (f *Fleet) Unknown() error {
	if f.metric.name != "" {
		return nil
	}
	names := slices.Sorted(maps.Keys(f.metric.recorded))
	has := "none is recorded"
	if len(names) > 0 {
		const most = 40
		has = "recorded are " + strings.Join(names[:min(len(names), most)], ", ")
		if len(names) > most {
			has += ", …"
		}
	}
	return fmt.Errorf("there is no amount %s in these profiles: %s; query adds up what is recorded, in its own unit, and computes no other metrics", f.query.Metric, has)
}

// NothingLeft is a sentence for the case that the filters left no frame with the metric; "" if they left one.
func (f *Fleet) NothingLeft() string {
	switch {
	case f.metric.counted || f.metric.name == "":
		return ""
	case f.query.Exclude != nil && f.query.GPU != "":
		return fmt.Sprintf("--exclude and --label gpu leave no frame with %s", f.metric.name)
	case f.query.Exclude != nil:
		return fmt.Sprintf("--exclude leaves no frame with %s", f.metric.name)
	case f.query.GPU != "":
		return fmt.Sprintf("no frame with %s is of GPU %s", f.metric.name, f.query.GPU)
	}
	return ""
}
