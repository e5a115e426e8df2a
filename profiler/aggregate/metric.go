package aggregate

import (
	"math"
	"strings"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/callpath"
)

// metric is a user metric that Go itself sums: vectors, texts, and the metrics of captured ops.
type metric struct {
	name   string
	kind   profile.Kind
	value  profile.Value
	vector []float64
	whole  bool // the vector holds integers
}

// MetricName splits a metric's raw name into the name to show and its kind. The marks "(exc)" and "(pty)"
// are cut wherever they stand; a unit in parentheses stays.
func MetricName(raw string) (string, profile.Kind) {
	kind := profile.Inclusive
	if strings.Contains(raw, "(exc)") {
		raw, kind = strings.ReplaceAll(raw, "(exc)", ""), profile.Exclusive
	}
	if strings.Contains(raw, "(pty)") {
		raw, kind = strings.ReplaceAll(raw, "(pty)", ""), profile.Property
	}
	return strings.TrimSpace(raw), kind
}

func (n *node) metric(raw string) *metric {
	name, kind := MetricName(raw)
	for i := range n.metrics {
		if n.metrics[i].name == name {
			return &n.metrics[i]
		}
	}
	n.metrics = append(n.metrics, metric{name: name, kind: kind})
	return &n.metrics[len(n.metrics)-1]
}

func (n *node) add(m callpath.OpMetric) {
	to := n.metric(hotpath.Text(m.Name))
	to.value = sum(to.value, value(m.Double, m.Bits), to.kind == profile.Property)
}

func value(double bool, bits uint64) profile.Value {
	if double {
		return profile.FloatValue(math.Float64frombits(bits))
	}
	return profile.IntValue(int64(bits))
}

// sum adds b to a, or replaces a, as a text always does; the sum of an integer and a float is a float.
func sum(a, b profile.Value, replace bool) profile.Value {
	if replace || a.Type() == profile.String || b.Type() == profile.String {
		return b
	}
	if a.Type() == profile.Int && b.Type() == profile.Int {
		return profile.IntValue(a.Int() + b.Int())
	}
	x, _ := a.Float()
	y, _ := b.Float()
	return profile.FloatValue(x + y)
}

// Metric is the value of a metric that does not fit a slot of the hot path: a vector or a text.
type Metric struct {
	vector []float64
	whole  bool // the vector holds integers
	text   string
}

// VectorMetric returns a vector, of integers if whole.
func VectorMetric(values []float64, whole bool) Metric {
	if values == nil {
		values = []float64{}
	}
	return Metric{vector: values, whole: whole}
}

// TextMetric returns a text.
func TextMetric(text string) Metric { return Metric{text: text} }

// AddMetric adds a vector element by element at a place, or sets a text. The error is a change of length.
func (t *Tree) AddMetric(p callpath.Place, raw string, v Metric) error {
	return t.at(p, lastOrder).addMetric(raw, v)
}

func (n *node) addMetric(raw string, v Metric) error {
	m := n.metric(raw)
	switch {
	case v.vector == nil:
		m.value, m.vector = profile.StringValue(v.text), nil
		return nil
	case m.vector == nil || m.kind == profile.Property:
		m.vector, m.whole = append([]float64{}, v.vector...), v.whole
		return nil
	case len(m.vector) != len(v.vector):
		return &VectorSizeError{m.name, len(m.vector), len(v.vector)}
	}
	for i, x := range v.vector {
		m.vector[i] += x
	}
	m.whole = m.whole && v.whole
	return nil
}

// VectorSizeError reports that a vector metric changed its length.
type VectorSizeError struct {
	Name     string
	Old, New int
}

func (m *metric) frozen() profile.Value {
	if m.vector == nil {
		return m.value
	}
	v := Metric{vector: m.vector, whole: m.whole}
	return v.frozen()
}

func (m *Metric) frozen() profile.Value {
	switch {
	case m.vector == nil:
		return profile.StringValue(m.text)
	case !m.whole:
		return profile.FloatsValue(m.vector)
	}
	ints := make([]int64, len(m.vector))
	for i, v := range m.vector {
		ints[i] = int64(v)
	}
	return profile.IntsValue(ints)
}
