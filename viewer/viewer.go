// Package viewer turns a profile into tables for people: rows and columns with the requested metrics, and views
// of those. `proton viewer` passes it a profile and a writer; it uses neither flags nor files nor terminals.
//
// The passes, in order:
//
//  1. collect  frames of the profile are listed, except those that are not work of the program (frames.go)
//  2. resolve  the names that were requested are turned into columns over recorded amounts (metrics.go, stats.go, roofline.go)
//  3. filter   include, exclude, focus, trim and hide choose the row that gets each frame's values (filter.go)
//  4. sum      amounts are added up per row and over subtrees (sums.go)
//  5. group    rows of one name, or call paths turned around, are joined to one row (group.go)
//  6. derive   every column is computed from the sums of its row; missing units are chosen (metrics.go, units.go)
//  7. cut      rows below the threshold, too deep or in the long tail are hidden, siblings sorted (cut.go)
//  8. print    one file per view (views.go lists them)
//
// Ratios are always computed from sums, never summed, and a sum is taken over what the filters left. Shares are
// parts of the whole program, whatever the filters left of it.
//
// The text of Triton's proton-viewer is package compat, below this one. The API of this package is promised, see CONTRIBUTING.md.
package viewer

import "fmt"

// Options choose what of a profile is shown. The zero value shows all call paths with their time.
type Options struct {
	// Metrics in the order of their columns, see docs/viewer.md; the first rules threshold, sorting and colour.
	// None means the first that the profile has of time, cycles, cpu_time and any other.
	Metrics []string

	// Filters choose the work that counts; each is a regular expression (Go's) found anywhere in a frame's name.
	Include string // only paths through a frame that matches
	Exclude string // no path through a frame that matches
	Focus   string // only paths through a frame that matches, and without what is above the first that does
	Trim    string // what is below a frame that matches counts as that frame's own
	Hide    string // frames that match count as their caller's own

	// Cuts choose the rows that are shown; what they hide still counts for the rows above.
	Threshold     float64 // rows with less than this much of the first metric, in its unit; 0 hides nothing
	ThresholdUnit string  // of Threshold: ns, us, ms or s for a time; "%" of the root's value, of which Threshold is a part; "" for the metric's
	Depth         int     // levels that are shown, the root is the first; 0 shows all
	Top           int     // of the rows below the root, only so many: those with most of their own; 0 shows all
	elide         bool    // the long tail, which views for people leave out
	errors        bool    // of times that are estimates, without being asked: what views print

	Group Grouping   // what a row is
	Peaks []string   // --peak: "flops16=990T", "bytes=4.8T", "flops32=fp32"; what is not named is looked up by GPU
	Names NameFormat // how Table.Label shortens names

	Sort string // of siblings: "" or "chronological", "name", or the largest first: "share", "own", a shown metric

	// BaseUnits gives ns, flop/s, byte/s where a name leaves the unit open, for output that programs read.
	// Otherwise such a column gets the unit in which its values are easy to read.
	BaseUnits bool
}

// OptionError is the error for an option that no profile can satisfy, or that contradicts the others: a command that got it
// from its command line exits with the code for an invalid one.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

func badOption(format string, args ...any) error { return &OptionError{fmt.Errorf(format, args...)} }
