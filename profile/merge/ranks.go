package merge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Ranks is which ranks of a distributed run have been merged. The zero value is ready for use.
type Ranks struct {
	files  map[int]string // of each rank, the first one
	worlds map[int]string // number of ranks → a file that says so
	merged bool           // a file was merged before, and does not say of which ranks
}

// Add notes the rank of a profile.
func (r *Ranks) Add(s Source, p *profile.Profile) {
	if p.Info[InfoMerged] != "" {
		r.merged = true
		return
	}
	rank, err := strconv.Atoi(s.Rank)
	if err != nil || rank < 0 {
		return
	}
	if r.files == nil {
		r.files, r.worlds = map[int]string{}, map[int]string{}
	}
	if r.files[rank] == "" {
		r.files[rank] = s.File
	}
	if world, err := strconv.Atoi(p.Info[profile.InfoWorld]); err == nil && world > 0 && r.worlds[world] == "" {
		r.worlds[world] = s.File
	}
}

// Notes are sentences about ranks that are missing, and about files of different runs.
func (r *Ranks) Notes() (notes []string) {
	if r.merged || len(r.worlds) == 0 {
		return nil
	}
	worlds := slices.Sorted(maps.Keys(r.worlds))
	world := worlds[len(worlds)-1]
	if len(worlds) > 1 {
		notes = append(notes, fmt.Sprintf("%s is of %d ranks and %s of %d: they are of different runs, or the run went on with another number of ranks",
			r.worlds[worlds[0]], worlds[0], r.worlds[world], world))
	}
	var missing []span
	count, next := 0, 0
	gap := func(to int) {
		if next < to {
			missing = append(missing, span{next, to - 1})
			count += to - next
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(r.files)) {
		gap(min(rank, world))
		next = rank + 1
	}
	gap(world)
	switch count {
	case 0:
		return notes
	case 1:
		return append(notes, fmt.Sprintf("rank %s of %d is missing: it has no profile here", list(missing), world))
	}
	return append(notes, fmt.Sprintf("ranks %s of %d are missing: they have no profile here", list(missing), world))
}

// span is ranks from first to last.
type span struct{ first, last int }

// list is "2, 5-7"; the ranks after the 16th span are left out.
func list(spans []span) string {
	var text []string
	for i, s := range spans {
		switch {
		case i == 16:
			return strings.Join(text, ", ") + ", …"
		case s.first == s.last:
			text = append(text, strconv.Itoa(s.first))
		default:
			text = append(text, fmt.Sprintf("%d-%d", s.first, s.last))
		}
	}
	return strings.Join(text, ", ")
}
