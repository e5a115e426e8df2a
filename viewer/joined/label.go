package joined

import (
	"fmt"
	"slices"
	"strings"
)

// describe says what a kernel's launches are of, and gives its specialisations and groups the names that tell them apart.
func (b *builder) describe(k *Kernel) error {
	var all []*Group
	for _, s := range k.Specialisations {
		if err := b.readLaunches(s); err != nil {
			return err
		}
		if s.Constexprs == nil {
			s.Constexprs = compiledIn(s.Compilation)
		}
		if b.options.namesOnly {
			continue
		}
		s.Registers = b.code.registers(s)
		for _, g := range s.Groups {
			b.work.finish(g)
		}
		s.Rates = together(&s.Times, s.Groups)
		all = append(all, s.Groups...)
	}
	k.Rates = together(&k.Times, all)
	labelSpecialisations(k)
	labelGroups(k)
	return nil
}

func (s *Specialisation) settings() []Setting {
	return append(slices.Clone(s.Constexprs), s.Options...)
}

// labelSpecialisations names each by the settings that differ; one alone by its constexprs and number of warps.
func labelSpecialisations(k *Kernel) {
	differ := differing(k.Specialisations, (*Specialisation).settings)
	seen := map[string]int{}
	for _, s := range k.Specialisations {
		var parts []string
		for _, set := range s.settings() {
			if differ[set.Name] || len(differ) == 0 && (slices.Contains(s.Constexprs, set) || set.Name == "num_warps") {
				parts = append(parts, set.Name+"="+set.Value)
			}
		}
		s.Label = strings.Join(parts, " ")
		seen[s.Label]++
	}
	for _, s := range k.Specialisations {
		switch {
		case s.Hash == "":
			s.Label = "of an unknown compilation" // the launches do not say theirs
		case seen[s.Label] > 1 || s.Label == "": // compiled alike for other types of arguments
			s.Label = strings.TrimSpace(s.Label + " #" + s.Hash[:min(8, len(s.Hash))])
		}
	}
}

// differing are the names of settings that not all have with the same value.
func differing[T any](all []T, settings func(T) []Setting) map[string]bool {
	first, count := map[string]string{}, map[string]int{}
	differ := map[string]bool{}
	for _, of := range all {
		for _, s := range settings(of) {
			if count[s.Name]++; count[s.Name] == 1 {
				first[s.Name] = s.Value
			} else if first[s.Name] != s.Value {
				differ[s.Name] = true
			}
		}
	}
	for name, n := range count {
		if n < len(all) {
			differ[name] = true
		}
	}
	return differ
}

// labelGroups names each by as few arguments as tell it from the others of its kernel: numbers first, then tensors, then
// strides, which mostly follow from those, then the grid.
func labelGroups(k *Kernel) {
	var all []*Group
	for _, s := range k.Specialisations {
		for _, g := range s.Groups {
			if g.Arguments != nil {
				all = append(all, g)
			}
		}
	}
	differ := differing(all, func(g *Group) []Setting { return g.Arguments })
	parts := make([][]string, len(all))
	for _, class := range []func(Setting) bool{isNumber, isTensor, isStride, nil} {
		for i, g := range all {
			if class == nil {
				parts[i] = append(parts[i], "grid="+gridText(g.Grid))
				continue
			}
			for _, a := range g.Arguments {
				if class(a) && (differ[a.Name] || len(differ) == 0) {
					parts[i] = append(parts[i], a.Name+"="+a.Value)
				}
			}
		}
		if distinct(k, all, parts) {
			break
		}
	}
	for i, g := range all {
		g.Label = strings.Join(parts[i], " ")
	}
	for _, s := range k.Specialisations {
		labelCaptured(s)
		seen := map[string]int{}
		for _, g := range s.Groups {
			seen[g.Label]++
		}
		for _, g := range s.Groups {
			if seen[g.Label] > 1 || g.Label == "" {
				g.Label = strings.TrimSpace(g.Label + " #" + g.ID[:min(8, len(g.ID))])
			}
		}
	}
}

// isCaptured says of launches that they are a graph's, whose arguments nobody was told.
func isCaptured(g *Group) bool { return strings.Contains(g.Note, "CUDA graph") }

// labelCaptured names launches that a graph replays. Of those only the grid is known.
func labelCaptured(s *Specialisation) {
	var captured []*Group
	for _, g := range s.Groups {
		if g.Label == "" && isCaptured(g) {
			captured = append(captured, g)
		}
	}
	for _, g := range captured {
		g.Label = "captured in a graph"
		if len(captured) > 1 {
			g.Label += ", grid=" + gridText(g.Grid)
		}
	}
}

// distinct says whether every group has a name, and one of its own within its specialisation.
func distinct(k *Kernel, all []*Group, parts [][]string) bool {
	of := map[*Group]string{}
	for i, g := range all {
		of[g] = strings.Join(parts[i], " ")
	}
	for _, s := range k.Specialisations {
		seen := map[string]bool{}
		for _, g := range s.Groups {
			text, known := of[g]
			if known && (text == "" || seen[text]) {
				return false
			}
			seen[text] = true
		}
	}
	return true
}

func isStride(s Setting) bool { return !isTensor(s) && strings.Contains(s.Name, "stride") }
func isTensor(s Setting) bool { return strings.HasSuffix(s.Value, "]") }
func isNumber(s Setting) bool { return !isTensor(s) && !isStride(s) }

// gridText is a grid as people write it: 64×8.
func gridText(grid []int) string {
	for len(grid) > 1 && grid[len(grid)-1] == 1 {
		grid = grid[:len(grid)-1]
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(grid), "[]"), " ", "×")
}
