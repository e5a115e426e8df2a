package kernels

import "github.com/goproton/goproton/profile"

// Row is a row of the table of a kernel's launches: a specialisation, below it a kind of its launches, or a sum of several.
type Row struct {
	Specialisation *Specialisation // nil for all other rows
	Group          *Group          // nil for all other rows
	Kind           bool            // the row is below a specialisation
	More           int             // number of specialisations, or of kinds of launches, that are summed up in the row
	Times          *profile.Durations
	Traced         int    // number of launches in the trace
	Rates          *Rates // nil for sums
}

// UnattributedName is the name of rows of measured launches of which less is known than of those in the rows above.
const UnattributedName = "unattributed (launched before tracing, or launch-kind limit reached)"

// Rows are the rows of the kernel's table. Where there are more specialisations or kinds of launches than the limits, one row sums up
// the others.
func (k *Kernel) Rows(specialisations, kinds int) (rows []Row) {
	shown, others := first(k.Specialisations, specialisations)
	for _, s := range shown {
		rows = append(rows, Row{Specialisation: s, Times: &s.Times, Traced: s.Traced, Rates: &s.Rates})
		groups, rest := first(s.Groups, kinds)
		for _, g := range groups {
			rows = append(rows, Row{Kind: true, Group: g, Times: &g.Times, Traced: g.Traced, Rates: &g.Work.Rates})
		}
		if rest != nil {
			sum := sumRow(rest, func(g *Group) (*profile.Durations, int) { return &g.Times, g.Traced })
			sum.Kind = true
			rows = append(rows, sum)
		}
		rows = append(rows, unattributedRows(s.Unattributed(), s.Times.Count, true)...)
	}
	if others != nil {
		rows = append(rows, sumRow(others, func(s *Specialisation) (*profile.Durations, int) { return &s.Times, s.Traced }))
	}
	return append(rows, unattributedRows(k.Unattributed(), k.Times.Count, false)...)
}

// first separates the first of a list from the rest. A single one beyond the limit is not worth a row of its own kind.
func first[T any](all []T, most int) (shown, rest []T) {
	if len(all) > most+1 {
		return all[:most], all[most:]
	}
	return all, nil
}

func sumRow[T any](all []T, of func(T) (*profile.Durations, int)) Row {
	row := Row{More: len(all), Times: &profile.Durations{}}
	for _, one := range all {
		times, traced := of(one)
		row.Times.Add(times)
		row.Traced += traced
	}
	return row
}

// unattributedRows returns a row for what the rows above lack. There is none if they lack all launches, since the row of the sum has the
// same numbers.
func unattributedRows(left profile.Durations, all uint64, kind bool) []Row {
	if left.Count == 0 || left.Count == all {
		return nil
	}
	return []Row{{Kind: kind, Times: &left}}
}
