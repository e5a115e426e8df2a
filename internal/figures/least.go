package figures

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Least is the amount below which something is left out: 5%, 2ms or 0.5.
type Least struct {
	Amount float64 // of a share, 0.05 for 5%
	Unit   string  // of time; "%" for a share, "" for a number
}

// ParseLeast reads an amount as command lines have it.
func ParseLeast(text string) (Least, bool) {
	text = strings.TrimSpace(text)
	number := strings.TrimRight(text, "nuµms%")
	l := Least{Unit: text[len(number):]}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) || l.Unit != "" && l.Unit != "%" && Nanos(l.Unit) == 0 {
		return Least{}, false
	}
	if l.Amount = v; l.Unit == "%" {
		l.Amount /= 100
	}
	return l, true
}

// Of is the amount in a unit of which total is the whole, and false for a time where the unit is of something else.
func (l Least) Of(total float64, unit string) (float64, bool) {
	switch {
	case l.Unit == "%":
		return l.Amount * total, true
	case l.Unit == "":
		return l.Amount, true
	case Nanos(unit) == 0:
		return 0, false
	}
	return l.Amount * Nanos(l.Unit) / Nanos(unit), true
}

// String is the amount as ParseLeast reads it.
func (l Least) String() string {
	if l.Unit == "%" {
		return fmt.Sprintf("%g%%", 100*l.Amount)
	}
	return fmt.Sprintf("%g%s", l.Amount, l.Unit)
}
