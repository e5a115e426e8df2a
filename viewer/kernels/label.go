package kernels

import (
	"fmt"
	"slices"
	"strings"
)

// describe computes what a kernel's launches did, and gives its specialisations and groups labels that distinguish them.
func (j *joiner) describe(k *Kernel) error {
	var all []*Group
	for _, s := range k.Specialisations {
		if err := j.readLaunches(s); err != nil {
			return err
		}
		if s.Constexprs == nil {
			s.Constexprs = compiledIn(s.Compilation)
		}
		if j.options.namesOnly {
			continue
		}
		s.Registers = j.code.registers(s)
		for _, g := range s.Groups {
			j.work.finish(g)
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

// labelSpecialisations labels each with the settings that differ; if none does, with its constexprs and number of warps.
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
			s.Label = "of an unknown compilation" // the launches have no compile hash
		case seen[s.Label] > 1 || s.Label == "": // equal settings, compiled for other types of arguments
			s.Label = strings.TrimSpace(s.Label + " #" + s.Hash[:min(8, len(s.Hash))])
		}
	}
}

// differing returns the names of settings that some have with another value or not at all.
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

// labelGroups labels each with as few arguments as distinguish it from the others of its kernel: numbers first, then tensors,
// then strides, which mostly follow from tensors, then the grid.
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
				parts[i] = append(parts[i], "grid="+GridText(g.Grid))
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

// isCaptured reports whether launches were captured in a CUDA graph, so that their arguments are not known.
func isCaptured(g *Group) bool { return strings.Contains(g.Note, "CUDA graph") }

// labelCaptured labels launches that a graph replays. Only their grid is known.
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
			g.Label += ", grid=" + GridText(g.Grid)
		}
	}
}

// distinct reports whether every group has a label that no other group of its specialisation has.
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

// GridText writes a grid without its trailing ones: 64×8.
func GridText(grid []int) string {
	for len(grid) > 1 && grid[len(grid)-1] == 1 {
		grid = grid[:len(grid)-1]
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(grid), "[]"), " ", "×")
}
