// Package check holds what is checked while a kernel is interpreted: the names of the checks, findings and their forms (text, JSON, SARIF),
// and the shadow of memory in which races are found. It knows nothing of how kernels are executed.
package check

import (
	"fmt"
	"strings"
)

// Set is a set of checks that a launch makes on request. Accesses outside of buffers, assertions and assumptions are always checked.
type Set uint16

const (
	Races         Set = 1 << iota   // accesses of program instances that nothing orders
	Uninitialised                   // values that were never set decide, address or are stored
	Hints                           // tl.multiple_of, tl.max_contiguous, tl.max_constancy, and what the launch promises of arguments
	Duplicates                      // different values are stored at one address by one operation
	Overflow                        // an address is computed with integers that are too small
	NaN                             // a NaN that is stored came from numbers
	Infinity                        // an infinity that is stored came from finite numbers
	All           Set = 1<<iota - 1 // of the above
)

// names of the checks, as users write them, in the order of the constants.
var names = []string{"race", "uninit", "hint", "duplicate", "overflow", "nan", "inf"}

// Parse reads names of checks, separated by commas; "all" is all of them, and "" is none.
func Parse(list string) (Set, error) {
	var s Set
next:
	for _, word := range strings.Split(list, ",") {
		word = strings.TrimSpace(word)
		switch word {
		case "", "none", "bounds": // bounds are always checked
			continue
		case "all":
			s = All
			continue
		}
		for i, n := range names {
			if word == n {
				s |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("there is no check %q: the checks are %s, or all of them", word, strings.Join(names, ", "))
	}
	return s, nil
}

func (s Set) String() string {
	var list []string
	for i, n := range names {
		if s&(1<<i) != 0 {
			list = append(list, n)
		}
	}
	return strings.Join(list, ",")
}
