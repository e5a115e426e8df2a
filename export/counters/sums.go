package counters

import (
	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/profile"
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
	rows   Rows
}

// NewSums returns sums of at most so many scopes.
func NewSums(scopes int) *Sums {
	return &Sums{scopes, map[string]bool{}, Rows{}}
}

// Add adds a window.
func (s *Sums) Add(window *profile.Profile) {
	gpus := GPUs(window.Root)
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
		Bytes: value(n, profile.BytesMetric), Flops: float64(value(n, FlopsMetric))}
	if row != (Row{}) {
		s.rows.Add(Row{GPU: gpu, Scope: scope, Work: workOf(n)}, row)
	}
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
func (s *Sums) Rows() []Row { return s.rows.Sorted() }
