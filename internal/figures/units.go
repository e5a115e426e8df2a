package figures

import (
	"math"
	"strings"
)

// Unit is one way to write a quantity down.
type Unit struct {
	Name   string  // as users ask for it, in lower case: "us", "tflop/s"
	Label  string  // as people read it: "us", "Tflop/s"
	Factor float64 // what one of it is in the quantity's base unit
}

// Quantity is a kind of value with its units from the smallest to the largest.
type Quantity struct {
	Units []Unit
	Exact Unit // the unit of output for programs, which must not depend on the values
	from  int  // the smallest unit that Fit chooses; the bare one of a rate has no name to ask for it by
}

// Unit finds a unit by its name.
func (q *Quantity) Unit(name string) (Unit, bool) {
	for _, u := range q.Units {
		if u.Name == name {
			return u, true
		}
	}
	return Unit{}, false
}

// Names lists the units, for messages.
func (q *Quantity) Names() string {
	var all []string
	for _, u := range q.Units {
		all = append(all, u.Name)
	}
	return strings.Join(all, ", ")
}

// comfortable is the largest number in the unit of a column: four digits before the point leave room for the small values of the
// same column behind it.
const comfortable = 10_000

// Fit chooses the unit of a column by its largest value: the smallest unit in which that has four digits before its point, so that
// the small values of the column keep as many as possible.
func (q *Quantity) Fit(largest float64) Unit {
	for _, u := range q.Units[q.from:] {
		if math.Abs(largest)/u.Factor < comfortable {
			return u
		}
	}
	return q.Units[len(q.Units)-1]
}

// Largest is the largest unit of which a value has at least one.
func (q *Quantity) Largest(v float64) Unit {
	u := q.Units[0]
	for _, larger := range q.Units[1:] {
		if math.Abs(v)/larger.Factor >= 0.99995 { // 999.996 us are printed as 1.000 ms
			u = larger
		}
	}
	return u
}

// Text writes a value, given in the base unit, in the largest unit of which it has at least one: 9.899 ms. Whole numbers of the
// smallest unit have no decimals: 930 ns.
func (q *Quantity) Text(v float64) string { return string(q.append(nil, v)) }

func (q *Quantity) append(b []byte, v float64) []byte {
	if !Finite(v) {
		return append(b, Missing...)
	}
	u := q.Largest(v)
	v /= u.Factor
	if u == q.Units[0] && math.Abs(v-math.Round(v)) <= 1e-9*math.Abs(v) {
		b = appendPlaces(b, v, 0)
	} else {
		b = appendNumber(b, v)
	}
	return append(append(b, ' '), u.Label...)
}

// Times are in seconds.
var Times = Quantity{
	Units: []Unit{{"ns", "ns", 1e-9}, {"us", "us", 1e-6}, {"ms", "ms", 1e-3}, {"s", "s", 1}},
	Exact: Unit{"ns", "ns", 1e-9},
}

// Time writes a time that is given in ns.
func Time[N whole | ~float64](ns N) string { return Times.Text(float64(ns) * 1e-9) }

// KnownTime is Time of a number that has no more digits than are known.
func KnownTime(ns float64) string { return Short(Time(ns)) }

// Short leaves out the zeros at the end of a value's decimals: "12.60 us" is "12.6 us".
func Short(text string) string {
	number, unit, _ := strings.Cut(text, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	return strings.TrimSpace(number + " " + unit)
}

// Nanos is the size of a unit of time in ns; 0 for another unit.
func Nanos(unit string) float64 {
	return map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
}

// prefixed makes the units of a quantity that has decimal prefixes.
func prefixed(name, label, prefixes string) Quantity {
	q := Quantity{}
	factor := 1.0
	for i, p := range " kMGTPE" {
		if i > 0 {
			factor *= 1000
		}
		if !strings.ContainsRune(prefixes, p) {
			continue
		}
		prefix := strings.TrimSpace(string(p))
		q.Units = append(q.Units, Unit{strings.ToLower(prefix) + name, prefix + label, factor})
	}
	q.Exact = q.Units[0]
	if strings.HasSuffix(name, "/s") {
		q.from = 1
	}
	return q
}

// FlopRate is the arithmetic rate on operands of a width ("16", or "" for any).
func FlopRate(width string) Quantity { return prefixed("flop"+width+"/s", "flop/s", " kMGTP") }

// The other quantities. Amounts of work are asked for as "flops16/gflop", data as "bytes/mb".
var (
	ByteRate = prefixed("byte/s", "B/s", " kMGT")
	Flops    = prefixed("flop", "flop", " kMGTPE")
	Bytes    = prefixed("b", "B", " kMGTP")

	flopRate = FlopRate("")
)

// MetricName is a metric's name without its unit, in lower case: what users type.
func MetricName(metric string) string {
	base, _, _ := strings.Cut(metric, "(")
	return strings.ToLower(strings.TrimSpace(base))
}

// MetricUnit is what stands in the parentheses of a metric's name: "ns" of "time (ns)".
func MetricUnit(metric string) string {
	_, rest, _ := strings.Cut(metric, "(")
	unit, _, _ := strings.Cut(rest, ")")
	return unit
}

// QuantityOf is what is measured in the unit that stands in a metric's name, and that unit: "ns" of "idle (ns)", "bytes" of "inuse (bytes)".
func QuantityOf(unit string) (*Quantity, Unit, bool) {
	if unit == "bytes" {
		unit = "b"
	}
	for _, q := range []*Quantity{&Times, &Bytes} {
		if u, ok := q.Unit(strings.ToLower(unit)); ok {
			return q, u, true
		}
	}
	return nil, Unit{}, false
}

// Percent is the unit of shares.
var Percent = Unit{"%", "%", 0.01}

// Amount writes a value that is given in the unit of a label. Times, work, data and their rates get the unit that suits the value.
// Other whole numbers have no decimals.
func Amount(v float64, label string) string {
	for _, q := range []*Quantity{&Times, &flopRate, &ByteRate, &Flops, &Bytes} {
		for _, u := range q.Units {
			if u.Label == label {
				return q.Text(v * u.Factor)
			}
		}
	}
	number := Number(v)
	if v == math.Trunc(v) {
		number = Places(v, 0)
	}
	return strings.TrimSpace(number + " " + label)
}
