package kernels

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// ComparedKernel is a kernel in two runs: index 0 is A, index 1 B.
type ComparedKernel struct {
	Name   string
	Times  [2]profile.Durations
	Traced [2]int
	Kinds  []*ComparedKind // the one with most time in either run first
}

// ComparedKind is the launches of a kernel with the same arguments, of any specialisation: two runs are compared for what an
// autotuner chose, or for changed code. Arguments that only one of the two kernels has do not count.
type ComparedKind struct {
	Label string // arguments that distinguish it from the others
	Sides [2]ComparedSide
}

// ComparedSide is the launches of one run.
type ComparedSide struct {
	Times           profile.Durations
	Traced          int
	Specialisations []*Specialisation // that ran, most time first
	Groups          []*Group
}

// CompareLaunches pairs the launches of two runs by kernel and arguments. rename is applied to the names of kernels; nil renames
// none.
func CompareLaunches(runs [2]*Run, rename func(string) string) []*ComparedKernel {
	var all []*ComparedKernel
	byName := map[string]*ComparedKernel{}
	kernels := map[string]*[2][]*Kernel{}
	for side, r := range runs {
		for _, k := range r.Kernels {
			name := k.Name
			if rename != nil {
				name = rename(name)
			}
			c := byName[name]
			if c == nil {
				c = &ComparedKernel{Name: name}
				byName[name], kernels[name] = c, &[2][]*Kernel{}
				all = append(all, c)
			}
			c.Times[side].Add(&k.Times)
			c.Traced[side] += k.Traced
			kernels[name][side] = append(kernels[name][side], k)
		}
	}
	for _, c := range all {
		c.pair(kernels[c.Name])
	}
	slices.SortStableFunc(all, func(x, y *ComparedKernel) int {
		return cmp.Or(moreOfEither(&x.Times, &y.Times), cmp.Compare(x.Name, y.Name))
	})
	return all
}

// moreOfEither orders by the larger time.
func moreOfEither(x, y *[2]profile.Durations) int {
	return cmp.Compare(max(y[0].Nanos, y[1].Nanos), max(x[0].Nanos, x[1].Nanos))
}

func (c *ComparedKernel) pair(kernels *[2][]*Kernel) {
	common := commonArguments(kernels)
	byKey := map[string]*ComparedKind{}
	for side, of := range kernels {
		for _, k := range of {
			for _, s := range k.Specialisations {
				for _, g := range s.Groups {
					key := pairKey(g, common)
					kind := byKey[key]
					if kind == nil {
						kind = &ComparedKind{}
						byKey[key] = kind
						c.Kinds = append(c.Kinds, kind)
					}
					kind.Sides[side].add(s, g)
				}
			}
		}
	}
	slices.SortStableFunc(c.Kinds, func(x, y *ComparedKind) int {
		return moreOfEither(&[2]profile.Durations{x.Sides[0].Times, x.Sides[1].Times}, &[2]profile.Durations{y.Sides[0].Times, y.Sides[1].Times})
	})
	c.label(common)
}

func (s *ComparedSide) add(of *Specialisation, g *Group) {
	s.Times.Add(&g.Times)
	s.Traced += g.Traced
	s.Groups = append(s.Groups, g)
	if !slices.Contains(s.Specialisations, of) {
		s.Specialisations = append(s.Specialisations, of)
	}
}

// commonArguments are the names that launches of both runs have; nil, which means all, if only one run has launches.
func commonArguments(kernels *[2][]*Kernel) map[string]bool {
	var names [2]map[string]bool
	for side, of := range kernels {
		for _, k := range of {
			for _, s := range k.Specialisations {
				for _, g := range s.Groups {
					for _, a := range g.Arguments {
						if names[side] == nil {
							names[side] = map[string]bool{}
						}
						names[side][a.Name] = true
					}
				}
			}
		}
	}
	if names[0] == nil || names[1] == nil {
		return nil
	}
	for name := range names[0] {
		if !names[1][name] {
			delete(names[0], name)
		}
	}
	return names[0]
}

// counting are the arguments that are compared.
func counting(g *Group, common map[string]bool) (arguments []Setting) {
	for _, a := range g.Arguments {
		if common == nil || common[a.Name] {
			arguments = append(arguments, a)
		}
	}
	return arguments
}

// pairKey is equal for launches that are compared with each other. Launches that a graph replays are compared by grid; all others
// without arguments are one kind.
func pairKey(g *Group, common map[string]bool) string {
	if g.Arguments == nil {
		if isCaptured(g) {
			return "captured " + GridText(g.Grid)
		}
		return "unknown"
	}
	var b strings.Builder
	b.WriteString("arguments")
	for _, a := range counting(g, common) {
		b.WriteString("\x00" + a.Name + "=" + a.Value)
	}
	return b.String()
}

// label labels the kinds as those of one run.
func (c *ComparedKernel) label(common map[string]bool) {
	all := &Specialisation{}
	for _, kind := range c.Kinds {
		first := append(slices.Clone(kind.Sides[1].Groups), kind.Sides[0].Groups...)[0]
		all.Groups = append(all.Groups, &Group{ID: first.ID, Grid: first.Grid, Note: first.Note, Arguments: counting(first, common)})
	}
	labelGroups(&Kernel{Specialisations: []*Specialisation{all}})
	for i, kind := range c.Kinds {
		kind.Label = all.Groups[i].Label
		if first := all.Groups[i]; first.Arguments == nil && !isCaptured(first) {
			kind.Label = "with unknown arguments"
		}
	}
}

// Unattributed are the measured launches of a side that belong to none of its kinds of launches.
func (c *ComparedKernel) Unattributed(side int) profile.Durations {
	return rest(&c.Times[side], c.Kinds, func(k *ComparedKind) *profile.Durations { return &k.Sides[side].Times })
}
