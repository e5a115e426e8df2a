package counters

import (
	"cmp"
	"maps"
	"slices"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/natural"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/delta"
)

const (
	// Other is the scope of what has no room among so many.
	Other = "(other)"
	// noScope is the scope of what ran outside of any.
	noScope = "(none)"
	// MostScopes is how many scopes a process has, if the user does not say.
	MostScopes = 200

	mostScopeBytes = 200
)

// Sums adds up windows. A scope that has a row keeps it: the first ones of a process have, later ones are Other.
type Sums struct {
	limit  int
	scopes map[string]bool
	rows   map[Row]*Row // by GPU, Scope and Work
}

// NewSums returns sums of at most so many scopes.
func NewSums(scopes int) *Sums {
	return &Sums{scopes, map[string]bool{}, map[Row]*Row{}}
}

// Add adds a window.
func (s *Sums) Add(window *profile.Profile) {
	gpus := delta.GPUs(window.Root)
	var add func(n *profile.Node, scope string)
	add = func(n *profile.Node, scope string) {
		s.addNode(n, gpus[n], scope)
		for _, c := range n.Children {
			add(c, scope)
		}
	}
	s.addNode(window.Root, gpus[window.Root], noScope)
	for _, c := range window.Root.Children {
		add(c, s.scope(c))
	}
}

// scope is the label of a frame below the root. A kernel or a copy that stands there is in no scope.
func (s *Sums) scope(n *profile.Node) string {
	if _, ran := n.Metric(profile.DeviceIDMetric); ran {
		return noScope
	}
	name := foreign.Plain(n.Name, mostScopeBytes)
	switch {
	case name == "":
		return noScope
	case s.scopes[name]:
	case len(s.scopes) >= s.limit:
		return Other
	default:
		s.scopes[name] = true
	}
	return name
}

func (s *Sums) addNode(n *profile.Node, gpu, scope string) {
	row := Row{Nanos: value(n, profile.TimeMetric), Launches: value(n, profile.CountMetric), Samples: value(n, profile.SamplesMetric),
		Bytes: value(n, profile.BytesMetric), Flops: float64(value(n, delta.FlopsMetric))}
	if row == (Row{}) {
		return
	}
	key := Row{GPU: gpu, Scope: scope, Work: workOf(n)}
	if s.rows[key] == nil {
		sum := key
		s.rows[key] = &sum
	}
	s.rows[key].Add(row)
}

func value(n *profile.Node, metric string) uint64 {
	v, _ := n.Metric(metric)
	return uint64(max(v.Int(), 0))
}

// workOf is the kind of work of a node. What a program says about a frame is about the kernels below it.
func workOf(n *profile.Node) string {
	if _, ran := n.Metric(profile.DeviceIDMetric); ran {
		switch profile.WorkOf(n.Name) {
		case profile.LocalCopy, profile.LinkedCopy:
			return "copy"
		case profile.Fill:
			return "fill"
		}
	}
	return "kernel"
}

// Rows returns the sums so far, in an order.
func (s *Sums) Rows() []Row {
	rows := make([]Row, 0, len(s.rows))
	for _, key := range slices.SortedFunc(maps.Keys(s.rows), Compare) {
		rows = append(rows, *s.rows[key])
	}
	return rows
}

// Compare orders rows by their labels.
func Compare(a, b Row) int {
	return cmp.Or(natural.Compare(a.GPU, b.GPU), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Work, b.Work))
}
