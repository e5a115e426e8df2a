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
	Apart   bool   // the merged profile keeps runs apart, so that nothing is said of several
	Part    bool   // other parts follow, so that nothing is said of what is missing
	OfParts bool   // the profiles were merged with Options.Part: one without ranks has none
	OneRun  string // how the user takes one of several runs; "": how proton merge does

	added   int
	present rankSet
	worlds  map[int]string // number of ranks → a file that says so
	unknown bool           // a file was merged before, and does not say of which ranks
	before  []mergedBefore
	files   map[int][]attempt // of each rank, one for each file, or for all windows of a process; noRank for processes that have none
	windows map[windowed]int  // where in files

	recorded  map[recording]string // the file of each
	sameTwice string               // a sentence about two files of one recording
}

// noRank stands for a process without a rank.
const noRank = -1

// mergedBefore is a file that holds ranks already added up.
type mergedBefore struct {
	file  string
	ranks ranksByAttempt
	whole attempt // of all of them together
}

// has says whether an attempt of a rank may be in the file: its rank and number are there, and it is of no other job or time.
func (m *mergedBefore) has(rank int, one *attempt) bool {
	if m.ranks[one.number].common(rankSet{{rank, rank}}) == nil {
		return false
	}
	otherJob := one.job != "" && m.whole.job != "" && !strings.Contains(m.whole.job, one.job) // it may be a list
	earlier := one.start > 0 && one.start < m.whole.start
	later := m.whole.end > 0 && one.end > m.whole.end
	return !otherJob && !earlier && !later
}

// recording is what a process recorded from a moment on, which is in one file.
type recording struct{ rank, host, pid, start string }

// Add notes the ranks of a profile.
func (r *Ranks) Add(s Source, p *profile.Profile) {
	position := r.added
	if r.added++; position == 0 {
		r.worlds, r.files, r.windows, r.recorded = map[int]string{}, map[int][]attempt{}, map[windowed]int{}, map[recording]string{}
	}
	if world, err := strconv.Atoi(p.Info[profile.InfoWorld]); err == nil && world > 0 && r.worlds[world] == "" {
		r.worlds[world] = s.File
	}
	if p.Info[InfoMerged] != "" {
		ranks := parseAttempts(p.Info[profile.InfoRanks])
		r.unknown = r.unknown || ranks == nil && !r.OfParts
		r.before = append(r.before, mergedBefore{s.File, ranks, newAttempt(p.Info, position)})
		for _, set := range ranks {
			r.present = r.present.union(set)
		}
		return
	}
	r.addRecording(s, p.Info)
	rank, err := strconv.Atoi(s.Rank)
	switch {
	case err != nil || rank < 0 || rank > maxRank:
		rank = noRank
	default:
		r.present = r.present.add(span{rank, rank})
	}
	if one := r.processOf(rank, s, p.Info); one != nil {
		one.add(p.Info, position)
		return
	}
	r.files[rank] = append(r.files[rank], newAttempt(p.Info, position))
}

// addRecording notes the first two files of one recording. That a file is given twice is for the command to say.
func (r *Ranks) addRecording(s Source, i profile.Info) {
	one := recording{s.Rank, s.Host, i[profile.InfoPID], i[profile.InfoStart]}
	if one.pid == "" || one.start == "" || r.sameTwice != "" {
		return
	}
	first, known := r.recorded[one]
	switch {
	case known && first != s.File:
		r.sameTwice = fmt.Sprintf("%s and %s are of one process, pid %s, from one moment on: what it did counts twice", first, s.File, one.pid)
	case !known:
		r.recorded[recording{strings.Clone(one.rank), strings.Clone(one.host), strings.Clone(one.pid), strings.Clone(one.start)}] = s.File
	}
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
	return slices.Concat(r.worldNotes(), r.Repeated(), r.twiceNotes(), r.aloneNotes(), r.missingNotes())
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
	if r.unknown || r.Part || len(r.worlds) == 0 {
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
				if both := m.ranks[which].common(earlier.ranks[which]); both != nil && r.OfParts {
					return append(notes, fmt.Sprintf("attempt %s of %s is in more than one file: they are of several runs, or its values count twice", which, both.named()))
				} else if both != nil {
					return append(notes, fmt.Sprintf("attempt %s of %s is in %s and in %s: its values count twice", which, both.named(), earlier.file, m.file))
				}
			}
		}
	}
	return nil
}

// aloneNotes says which ranks of a file that was merged before have files of their own as well, and which process has two files.
func (r *Ranks) aloneNotes() (notes []string) {
	if r.sameTwice != "" {
		notes = append(notes, r.sameTwice)
	}
	for i := range r.before {
		var both rankSet
		for rank, files := range r.files {
			if slices.ContainsFunc(files, func(one attempt) bool { return r.before[i].has(rank, &one) }) {
				both = both.add(span{rank, rank})
			}
		}
		if both != nil {
			return append(notes, fmt.Sprintf("%s has %s already, of which there are other files as well: what is in both counts twice", r.before[i].file, both.named()))
		}
	}
	return notes
}
