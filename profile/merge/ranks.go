package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Ranks is which ranks of a distributed run, and which of their attempts, have been merged. The zero value is ready for use.
type Ranks struct {
	Apart  bool   // the merged profile keeps runs apart, so that nothing is said of several
	OneRun string // how the user takes one of several runs; "": how proton merge does

	added   int
	present rankSet
	worlds  map[int]string // number of ranks → a file that says so
	unknown bool           // a file was merged before, and does not say of which ranks
	before  []mergedBefore
	files   map[int][]attempt // of each rank, one for each file, or for all windows of a process; noRank for processes that have none
	windows map[windowed]int  // where in files
}

// noRank stands for a process without a rank.
const noRank = -1

// mergedBefore is a file that holds ranks already added up.
type mergedBefore struct {
	file  string
	ranks ranksByAttempt
}

// Add notes the ranks of a profile.
func (r *Ranks) Add(s Source, p *profile.Profile) {
	position := r.added
	r.added++
	if world, err := strconv.Atoi(p.Info[profile.InfoWorld]); err == nil && world > 0 && r.worlds[world] == "" {
		if r.worlds == nil {
			r.worlds = map[int]string{}
		}
		r.worlds[world] = s.File
	}
	if p.Info[InfoMerged] != "" {
		ranks := parseAttempts(p.Info[profile.InfoRanks])
		r.unknown = r.unknown || ranks == nil
		r.before = append(r.before, mergedBefore{s.File, ranks})
		for _, set := range ranks {
			r.present = r.present.union(set)
		}
		return
	}
	rank, err := strconv.Atoi(s.Rank)
	switch {
	case err != nil || rank < 0 || rank > maxRank:
		rank = noRank
	default:
		r.present = r.present.add(span{rank, rank})
	}
	if r.files == nil {
		r.files = map[int][]attempt{}
	}
	if one := r.processOf(rank, s, p.Info); one != nil {
		one.add(p.Info, position)
		return
	}
	r.files[rank] = append(r.files[rank], newAttempt(p.Info, position))
}

// processOf is where the windows of a process are one attempt, which may have rested for longer than a window; nil for other profiles.
func (r *Ranks) processOf(rank int, s Source, i profile.Info) *attempt {
	if i[profile.InfoWindowEnd] == "" || i[profile.InfoPID] == "" {
		return nil
	}
	who := windowed{rank, numberOf(i), i[profile.InfoJob] + "\x00" + s.Host + "\x00" + i[profile.InfoPID]}
	at, known := r.windows[who]
	if known {
		return &r.files[rank][at]
	}
	if r.windows == nil {
		r.windows = map[windowed]int{}
	}
	who.process = strings.Clone(who.process)
	r.windows[who] = len(r.files[rank])
	return nil
}

// windowed is a process of which there are windows.
type windowed struct {
	rank    int
	number  attemptNumber
	process string
}

// Notes are sentences about ranks that are missing, about ranks that ran more than once, and about files of different runs.
func (r *Ranks) Notes() []string {
	return slices.Concat(r.worldNotes(), r.Repeated(), r.twiceNotes(), r.missingNotes())
}

// Repeated are the sentences of Notes about ranks that ran more than once.
func (r *Ranks) Repeated() []string { return r.attemptNotes(added) }

// Earlier returns the files that are of an earlier attempt than the last of their rank, by their position in the order of Add, and
// sentences about them.
func (r *Ranks) Earlier() (left map[int]bool, notes []string) {
	left = map[int]bool{}
	for rank, files := range r.files {
		for _, run := range runsOf(files, rank) {
			for _, earlier := range run[:len(run)-1] {
				for _, position := range earlier.positions {
					left[position] = true
				}
			}
		}
	}
	notes = r.attemptNotes(leftOut)
	for _, m := range r.before {
		if len(m.ranks) > 1 {
			notes = append(notes, fmt.Sprintf("%s has more than one attempt already, which cannot be taken out of it: merge the files that it was made of", m.file))
		}
	}
	return left, notes
}

func (r *Ranks) worldNotes() []string {
	worlds := slices.Sorted(maps.Keys(r.worlds))
	if r.unknown || len(worlds) < 2 {
		return nil
	}
	least, most := worlds[0], worlds[len(worlds)-1]
	return []string{fmt.Sprintf("%s is of %d ranks and %s of %d: they are of different runs, or the run went on with another number of ranks",
		r.worlds[least], least, r.worlds[most], most)}
}

func (r *Ranks) missingNotes() []string {
	if r.unknown || len(r.worlds) == 0 {
		return nil
	}
	world := slices.Max(slices.Collect(maps.Keys(r.worlds)))
	missing := r.present.missing(world)
	switch {
	case len(missing) == 0:
		return nil
	case missing.one():
		return []string{fmt.Sprintf("%s of %d is missing: it has no profile here", missing.named(), world)}
	}
	return []string{fmt.Sprintf("%s of %d are missing: they have no profile here", missing.named(), world)}
}

// attemptNotes says which ranks ran more than once, with ranks of which the same can be said in one sentence.
func (r *Ranks) attemptNotes(what func(run []attempt) string) (notes []string) {
	saying := map[string]rankSet{}
	for _, rank := range slices.Sorted(maps.Keys(r.files)) {
		runs := runsOf(r.files[rank], rank)
		if rank != noRank && len(runs) > 1 && !r.Apart {
			text := fmt.Sprintf("there in %d runs, %s: all are added up; %s", len(runs), jobsOf(runs), cmp.Or(r.OneRun, "--by run keeps them apart"))
			saying[text] = saying[text].add(span{rank, rank})
		}
		for _, run := range runs {
			if _, numbered := attemptsOf(run); len(run) < 2 || r.Apart && !numbered {
				continue
			}
			text := what(run)
			if rank == noRank {
				notes = append(notes, "the program "+text)
				continue
			}
			saying[text] = saying[text].add(span{rank, rank})
		}
	}
	// By first rank, then by text.
	for _, text := range slices.SortedFunc(maps.Keys(saying), func(a, b string) int {
		return cmp.Or(cmp.Compare(saying[a][0].first, saying[b][0].first), cmp.Compare(a, b))
	}) {
		ranks := saying[text]
		if strings.HasPrefix(text, "there") {
			text = map[bool]string{true: "is ", false: "are "}[ranks.one()] + text
		}
		notes = append(notes, ranks.named()+" "+text)
	}
	const most = 8
	if more := len(notes) - most; more > 0 {
		notes = append(notes[:most], fmt.Sprintf("… and %d more sentences like this", more))
	}
	return notes
}

// twiceNotes says which ranks are in several files that were merged before.
func (r *Ranks) twiceNotes() (notes []string) {
	for i, m := range r.before {
		for _, earlier := range r.before[:i] {
			for _, which := range slices.SortedFunc(maps.Keys(m.ranks), attemptNumber.compare) {
				if both := m.ranks[which].common(earlier.ranks[which]); both != nil {
					return append(notes, fmt.Sprintf("attempt %s of %s is in %s and in %s: its values count twice", which, both.named(), earlier.file, m.file))
				}
			}
		}
	}
	return nil
}
