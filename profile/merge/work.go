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
	kinds    int64            // of work
	byKind   map[string]*work // of launches, of those whose kind is known
	byPath   map[string]*work // of those below some frames, by the path of the kernel; nil if all are at the root
}

func newWork() *work { return &work{amounts: map[string]float64{}, byKind: map[string]*work{}} }

// under names the path of a frame below another one.
func under(path, name string) string { return path + "\x00" + name }

// at is the work at a path: of the launches that were counted there, or of all.
func (w *work) at(path string) *work {
	if own := w.byPath[path]; own != nil {
		return own
	}
	return w
}

func (w *work) add(n *profile.Node) {
	w.launches += launchesOf(n)
	n.Walk(func(line *profile.Node, _ int) bool {
		for _, m := range line.Metrics {
			if v, ok := m.Value.Float(); ok && profile.CountsWork(m.Name) {
				w.amounts[m.Name] += v
			}
		}
		return true
	})
}

// of is the work of the launches at a frame: of their kinds if all are known, else their number times the average.
func (w *work) of(p *profile.Profile, n *profile.Node) (amounts map[string]float64, exact bool) {
	amounts, left := map[string]float64{}, launchesOf(n)
	for i := range n.Launches {
		l := &n.Launches[i]
		if l.Kind >= len(p.Launches) || w.byKind[p.Launches[l.Kind].ID] == nil {
			break
		}
		left -= float64(l.Count)
		w.byKind[p.Launches[l.Kind].ID].times(float64(l.Count), amounts)
	}
	if left == 0 {
		return amounts, true
	}
	clear(amounts)
	w.times(launchesOf(n), amounts)
	return amounts, w.kinds <= 1
}

// times adds the average work of so many launches.
func (w *work) times(launches float64, to map[string]float64) {
	for metric, v := range w.amounts {
		to[metric] += v / w.launches * launches
	}
}

// AddWork adds to the kernels of a profile the flops and bytes that counts has for a launch of each, such as those of interpreted kernels. A
// kernel is known by its call path if counts have one of it, else by its name. Kernels whose work the profile has already keep that. The notes say what was added, and what could not be.
func AddWork(p, counts *profile.Profile) (notes []string, err error) {
	works := worksOf(counts)
	if len(works) == 0 {
		return nil, fmt.Errorf("the profile of counts has no kernel with flops or bytes: proton interpret --count -o OUT makes one")
	}
	a := adding{profile: p, works: works, done: map[string]bool{}, given: map[string]bool{}, unknown: map[string]bool{}, average: map[string]bool{}}
	a.add(p.Root, "", false)
	if len(a.done)+len(a.given) == 0 {
		return nil, fmt.Errorf("no kernel of the profile has the name of one that was counted: %s", names(maps.Keys(works)))
	}
	for metric, kind := range counts.Kinds {
		if _, has := p.Kinds[metric]; !has && profile.CountsWork(metric) {
			p.Kinds[metric] = kind
		}
	}
	return a.notes(), nil
}

func worksOf(counts *profile.Profile) map[string]*work {
	works := map[string]*work{}
	var take func(n *profile.Node, path string)
	take = func(n *profile.Node, path string) {
		if launchesOf(n) == 0 {
			for _, c := range n.Children {
				take(c, under(path, c.Name))
			}
			return
		}
		name, kind := n.Name, ""
		if len(n.Launches) == 1 && n.Launches[0].Kind < len(counts.Launches) { // a kind of launches, below the frame of its kernel
			name, kind = counts.Launches[n.Launches[0].Kind].Kernel, counts.Launches[n.Launches[0].Kind].ID
		}
		w := works[name]
		if w == nil {
			w = newWork()
		}
		w.take(n, kind)
		if own := under("", name); kind == "" && path != own {
			if w.byPath == nil {
				w.byPath = map[string]*work{}
			}
			if w.byPath[path] == nil {
				w.byPath[path] = newWork()
			}
			w.byPath[path].take(n, "")
		}
		if len(w.amounts) > 0 {
			works[name] = w
		}
	}
	take(counts.Root, "")
	return works
}

// take adds launches at a frame, which are of one kind if kind is not "".
func (w *work) take(n *profile.Node, kind string) {
	before := maps.Clone(w.amounts)
	launches := w.launches
	w.add(n)
	if kind != "" {
		w.byKind[kind] = newWork()
		w.byKind[kind].add(n)
		w.kinds = int64(len(w.byKind))
	}
	if kinds := n.Number(WorksMetric); kinds > 0 {
		w.kinds = max(w.kinds, int64(kinds))
	}
	for metric, sum := range w.amounts { // elsewhere a launch did something else
		if launches > 0 && before[metric]*w.launches != sum*launches {
			w.kinds = max(w.kinds, 2)
		}
	}
}

// launchesOf is how often the kernel of a frame ran; 0 for other frames, whose count may be written as 0.
func launchesOf(n *profile.Node) float64 {
	if count := n.Number(profile.CountMetric); count > 0 {
		return count
	}
	return 0
}

// adding is one call of AddWork. Its sets are of names of kernels.
type adding struct {
	profile                       *profile.Profile
	works                         map[string]*work
	done, given, unknown, average map[string]bool
}

func (a *adding) add(n *profile.Node, path string, given bool) {
	number := launchesOf(n)
	given = given || slices.ContainsFunc(n.Metrics, func(m profile.Metric) bool {
		v, _ := m.Value.Float()
		return profile.CountsWork(m.Name) && v > 0
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
			amounts, exact := w.at(path).of(a.profile, n)
			if !exact {
				a.average[n.Name] = true
			}
			for _, metric := range slices.Sorted(maps.Keys(amounts)) {
				n.Set(metric, profile.IntValue(int64(math.Round(amounts[metric]))))
			}
			given = true
		}
	}
	for _, c := range n.Children {
		a.add(c, under(path, c.Name), given)
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
	missing := map[string]bool{}
	for name := range a.works {
		if !a.done[name] && !a.given[name] {
			missing[name] = true
		}
	}
	say(missing, "counts of %s have no kernel in the profile: %s")
	say(a.average, "the counted launches of %s differ in their work, and each launch gets their average: %s")
	return notes
}
