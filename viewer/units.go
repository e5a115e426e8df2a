package viewer

import (
	"math"
	"strconv"
	"strings"
)

// unit is one way to write a quantity down.
type unit struct {
	name   string  // as users ask for it, in lower case: "us", "tflop/s"
	label  string  // as people read it: "us", "Tflop/s"
	factor float64 // what one of it is in the base unit
}

// quantity is a kind of value with its units from the smallest to the largest.
type quantity struct {
	units []unit
	base  unit // in which output for programs is given when the unit was left open
	from  int  // the smallest unit that fit chooses; the bare one of a rate has no name to ask for it by
}

// byName finds a unit.
func (q *quantity) byName(name string) (unit, bool) {
	for _, u := range q.units {
		if u.name == name {
			return u, true
		}
	}
	return unit{}, false
}

// names lists the units, for messages.
func (q *quantity) names() string {
	var all []string
	for _, u := range q.units {
		all = append(all, u.name)
	}
	return strings.Join(all, ", ")
}

// comfortable is the largest number in a unit that was chosen automatically: four digits before the point
// leave room for the small values of the same column behind it.
const comfortable = 10_000

// fit chooses the smallest unit in which the largest value keeps four digits before its point, so that the small
// values of a column keep as many as possible.
func (q *quantity) fit(largest float64) unit {
	for _, u := range q.units[q.from:] {
		if math.Abs(largest)/u.factor < comfortable {
			return u
		}
	}
	return q.units[len(q.units)-1]
}

// append adds a value, given in the base unit, with three digits in the largest unit of which it has at least one: 9.90 ms.
// Whole numbers of the smallest unit have no decimals: 930 ns.
func (q *quantity) append(b []byte, v float64) []byte {
	if v == 0 {
		return append(b, '0')
	}
	u := q.units[0]
	for _, larger := range q.units[1:] {
		if math.Abs(v)/larger.factor >= 0.9995 { // 999.96 us are printed as 1.00 ms
			u = larger
		}
	}
	v /= u.factor
	decimals := 0
	switch size := math.Abs(v); {
	case u == q.units[0] && math.Abs(v-math.Round(v)) < 1e-9*size:
	case size < 9.995:
		decimals = 2
	case size < 99.95:
		decimals = 1
	}
	b = strconv.AppendFloat(b, v, 'f', decimals, 64)
	return append(append(b, ' '), u.label...)
}

// times are in seconds.
var times = quantity{
	units: []unit{{"ns", "ns", 1e-9}, {"us", "us", 1e-6}, {"ms", "ms", 1e-3}, {"s", "s", 1}},
	base:  unit{"ns", "ns", 1e-9},
}

// prefixed makes the units of a quantity that has decimal prefixes.
func prefixed(name, label string, prefixes string) quantity {
	q := quantity{}
	factor := 1.0
	for i, p := range " kMGTPE" {
		if i > 0 {
			factor *= 1000
		}
		if !strings.ContainsRune(prefixes, p) {
			continue
		}
		prefix := strings.TrimSpace(string(p))
		q.units = append(q.units, unit{strings.ToLower(prefix) + name, prefix + label, factor})
	}
	q.base = q.units[0]
	if strings.HasSuffix(name, "/s") {
		q.from = 1
	}
	return q
}

// flopRate is the arithmetic rate on operands of a width ("16", or "" for any).
func flopRate(width string) quantity { return prefixed("flop"+width+"/s", "flop/s", " kMGTP") }

// The other quantities. Amounts of work are asked for as "flops16/gflop", data as "bytes/mb".
var (
	byteRate    = prefixed("byte/s", "B/s", " kMGT")
	flopAmount  = prefixed("flop", "flop", " kMGTPE")
	byteAmount  = prefixed("b", "B", " kMGTP")
	percentUnit = unit{"%", "%", 0.01}
)
