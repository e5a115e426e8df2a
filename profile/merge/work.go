package merge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// WorksMetric is, in a profile of counts, how many different amounts of work the launches of a kernel had. It is a property.
const WorksMetric = "kinds_of_work"

// work is what the launches of one kernel did.
type work struct {
	launches float64
	amounts  map[string]float64
	kinds    int64
}

// AddWork adds to the kernels of a profile the flops and bytes that counts has for a launch of each, such as those of interpreted kernels. A
// kernel is known by its name. Kernels whose work the profile has already keep that. The notes say what was added, and what could not be.
func AddWork(p, counts *profile.Profile) (notes []string, err error) {
	works := worksOf(counts)
	if len(works) == 0 {
		return nil, fmt.Errorf("the profile of counts has no kernel with flops or bytes: proton interpret --count -o OUT makes one")
	}
	a := adding{profile: p, works: works, done: map[string]bool{}, given: map[string]bool{}, unknown: map[string]bool{}}
	a.add(p.Root, false)
	if len(a.done)+len(a.given) == 0 {
		return nil, fmt.Errorf("no kernel of the profile has the name of one that was counted: %s", names(maps.Keys(works)))
	}
	for metric, kind := range counts.Kinds {
		if _, has := p.Kinds[metric]; !has && isWork(metric) {
			p.Kinds[metric] = kind
		}
	}
	return a.notes(), nil
}

func isWork(metric string) bool {
	_, flops := profile.Flops(metric)
	return flops || metric == profile.BytesMetric
}

func worksOf(counts *profile.Profile) map[string]*work {
	works := map[string]*work{}
	counts.Root.Walk(func(n *profile.Node, _ int) bool {
		number := launchesOf(n)
		if number == 0 {
			return true
		}
		w := works[n.Name]
		if w == nil {
			w = &work{amounts: map[string]float64{}}
		}
		w.launches += number
		n.Walk(func(line *profile.Node, _ int) bool {
			for _, m := range line.Metrics {
				if v, ok := m.Value.Float(); ok && isWork(m.Name) {
					w.amounts[m.Name] += v
				}
			}
			return true
		})
		if v, ok := n.Metric(WorksMetric); ok {
			kinds, _ := v.Float()
			w.kinds = max(w.kinds, int64(kinds))
		}
		if len(w.amounts) > 0 {
			works[n.Name] = w
		}
		return false
	})
	return works
}

// launchesOf is how often the kernel of a frame ran; 0 for other frames, whose count may be written as 0.
func launchesOf(n *profile.Node) float64 {
	v, _ := n.Metric(profile.CountMetric)
	number, _ := v.Float()
	return max(number, 0)
}

// adding is one call of AddWork. Its sets are of names of kernels.
type adding struct {
	profile              *profile.Profile
	works                map[string]*work
	done, given, unknown map[string]bool
}

func (a *adding) add(n *profile.Node, given bool) {
	number := launchesOf(n)
	given = given || slices.ContainsFunc(n.Metrics, func(m profile.Metric) bool {
		v, _ := m.Value.Float()
		return isWork(m.Name) && v > 0
	})
	if number > 0 && profile.WorkOf(n.Name) == profile.KernelWork && !strings.HasPrefix(n.Name, "<") {
		w := a.works[n.Name]
		switch {
		case w == nil && !given:
			a.unknown[n.Name] = true
		case w != nil && given:
			a.given[n.Name] = true
		case w != nil:
			a.done[n.Name] = true
			for _, metric := range slices.Sorted(maps.Keys(w.amounts)) {
				n.Set(metric, profile.IntValue(int64(math.Round(w.amounts[metric]/w.launches*number))))
			}
			given = true
		}
	}
	for _, c := range n.Children {
		a.add(c, given)
	}
}

// mostNames is how many names a note has, and mostOfName how much of each.
const (
	mostNames  = 5
	mostOfName = 48
)

func names(of func(yield func(string) bool)) string {
	list := slices.Sorted(of)
	for i, name := range list {
		if runes := []rune(name); len(runes) > mostOfName { // C++'s
			list[i] = string(runes[:mostOfName]) + "…"
		}
	}
	if n := len(list) - mostNames; n > 0 {
		return strings.Join(list[:mostNames], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(list, ", ")
}

func (a *adding) notes() (notes []string) {
	say := func(of map[string]bool, text string) {
		if len(of) > 0 {
			notes = append(notes, fmt.Sprintf(text, figures.Count(len(of), "kernel"), names(maps.Keys(of))))
		}
	}
	say(a.done, "flops and bytes of %s are from the counts: %s")
	say(a.given, "of %s flops or bytes are the profile's own: %s")
	say(a.unknown, "of %s of the profile there are no counts: %s")
	missing, several := map[string]bool{}, map[string]bool{}
	for name, w := range a.works {
		missing[name] = !a.done[name] && !a.given[name]
		several[name] = a.done[name] && w.kinds > 1
	}
	for _, of := range []map[string]bool{missing, several} {
		maps.DeleteFunc(of, func(_ string, is bool) bool { return !is })
	}
	say(missing, "counts of %s have no kernel in the profile: %s")
	say(several, "the counted launches of %s differ in their work, and each launch gets their average: %s")
	return notes
}
