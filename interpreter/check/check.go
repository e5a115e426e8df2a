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
	Divisions                       // the result of an integer division by zero is used
	All           Set = 1<<iota - 1 // of the above
)

// names of the checks, as users write them, in the order of the constants.
var names = []string{"race", "uninit", "hint", "duplicate", "overflow", "nan", "inf", "division"}

// Kinds of findings. Those of the checks on request stand in the order of the checks; the others are always looked for.
const (
	Race               = "race"
	UninitialisedValue = "uninitialised"
	WrongHint          = "wrong hint"
	DuplicateAddresses = "duplicate addresses"
	IntegerOverflow    = "overflow"
	BirthOfNaN         = "NaN"
	BirthOfInfinity    = "infinity"
	DivisionByZero     = "division by zero"

	OutOfBounds  = "out of bounds"
	Assertion    = "assertion"
	Assumption   = "assumption"
	Steps        = "steps"
	Loop         = "loop"
	Descriptor   = "descriptor"
	Deadlock     = "deadlock"
	NotSupported = "not supported" // by the interpreter
)

// descriptions of the kinds, for those who read findings elsewhere.
var descriptions = map[string]string{
	Race:               "Two program instances access one element, one of them writes, and nothing orders them.",
	UninitialisedValue: "A value that was never set is used.",
	WrongHint:          "What the kernel or the launch promises of a value does not hold.",
	DuplicateAddresses: "One operation stores different values at one address.",
	IntegerOverflow:    "An address is computed with integers that are too small for it.",
	BirthOfNaN:         "A NaN that is stored came from numbers.",
	BirthOfInfinity:    "An infinity that is stored came from finite numbers.",
	DivisionByZero:     "The result of an integer division by zero, which is another one on each GPU, is used.",

	OutOfBounds:  "A program instance accesses memory outside of a buffer.",
	Assertion:    "An assertion does not hold.",
	Assumption:   "What the kernel assumes does not hold.",
	Steps:        "A launch executes more operations than are allowed.",
	Loop:         "The step of a loop is not positive.",
	Descriptor:   "A descriptor does not fit its use.",
	Deadlock:     "Program instances wait for each other.",
	NotSupported: "The interpreter does not execute an operation.",
}

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
