// Package counters is the catalogue of what hardware counters say about kernels: figures with names that people type, the vendor's
// metrics that each is computed from on each chip, and the named sets of figures that a run can measure.
package counters

import (
	"slices"
	"strings"
)

// Figure is a number that is computed from the vendor's metrics. Its parts are sums, so that it can be computed for any
// set of launches: a share of two launches is the sum of what it is a share of, not the mean of two shares.
type Figure struct {
	Name  string // what people type
	About string // half a line
	Unit  Unit
	DType string   // of flops: the type of profile.OperandTypes that their units multiply; else ""
	Same  []string // vendor's metrics of one launch that this figure is the value of
	Forms []Form   // the first that a chip has counts
}

// Unit is what a figure counts.
type Unit string

const (
	Count Unit = ""
	Bytes Unit = "bytes"
	Flops Unit = "flops"
	Share Unit = "share" // from 0 to 1
	Ratio Unit = "ratio" // of two counts
)

// Form is how a figure is computed from metrics: the sum of Above, divided by the sum of Below unless that is empty.
type Form struct {
	Only, Except []string // prefixes of the names of chips that have its metrics, or lack them; no Only means all of NVIDIA's
	Above, Below []Term
}

// Term is a multiple of a metric.
type Term struct {
	Metric string
	Factor float64
}

const (
	Time     = "gpu__time_duration.sum" // of each measured launch, in ns: a part of every set
	LinesSet = "lines"                  // the set of counts by source line, which is measured alone
	Lined    = "launches_by_line"       // the metric of a profile that has the number of launches whose instructions were counted
	Launches = "counted_launches"       // the metric of a profile that has the number of measured launches of a kernel at a call path
)

// What a launch asks for, by the names that Nsight Compute has for it. It is recorded with the counters, and no counter.
const (
	Registers     = "launch__registers_per_thread"
	Threads       = "launch__block_size"
	StaticShared  = "launch__shared_mem_per_block_static" // bytes
	DynamicShared = "launch__shared_mem_per_block_dynamic"
)

// ByLine reports whether a figure is of what single instructions counted.
func (f *Figure) ByLine() bool { return slices.Contains(sets[LinesSet], f.Name) }

// Of returns the form that a chip has.
func (f *Figure) Of(chip string) (Form, bool) {
	for _, form := range f.Forms {
		if form.on(chip) {
			return form, true
		}
	}
	return Form{}, false
}

// on says whether a chip has a form's metrics.
func (f *Form) on(chip string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(chip, prefix) }
	all := len(f.Only) == 0 && !begins(amdChips)
	return (all || slices.ContainsFunc(f.Only, begins)) && !slices.ContainsFunc(f.Except, begins)
}

// Metrics are the names of a form's metrics.
func (f *Form) Metrics() []string {
	var names []string
	for _, t := range slices.Concat(f.Above, f.Below) {
		names = append(names, t.Metric)
	}
	return names
}

// Parts computes what stands above and below the fraction line, from metrics that were recorded together: the first form counts that has
// all of its own. Below is 1 for a figure without a fraction line.
func (f *Figure) Parts(of func(metric string) (float64, bool)) (above, below float64, ok bool) {
	for i := range f.Forms {
		above, has := sum(f.Forms[i].Above, of)
		if !has {
			continue
		}
		if len(f.Forms[i].Below) == 0 {
			return above, 1, true
		}
		if below, has := sum(f.Forms[i].Below, of); has {
			return above, below, true
		}
	}
	return 0, 0, false
}

func sum(terms []Term, of func(metric string) (float64, bool)) (sum float64, ok bool) {
	for _, t := range terms {
		v, has := of(t.Metric)
		if !has {
			return 0, false
		}
		sum += t.Factor * v
	}
	return sum, true
}

// Find returns the figure of a name, or of a vendor's name that it is the same as; nil if there is none.
func Find(name string) *Figure {
	at := slices.IndexFunc(Figures, func(f Figure) bool { return f.Name == name || slices.Contains(f.Same, name) })
	if at < 0 {
		return nil
	}
	return &Figures[at]
}

// IsMetric reports whether a name is a vendor's: gpu__time_duration.sum, launch__block_size, SQ_INSTS_VALU.
func IsMetric(name string) bool {
	if isAMDs(name) {
		return true
	}
	unit, rest, ok := strings.Cut(name, "__")
	return ok && unit != "" && (strings.Contains(rest, ".") || unit == "launch") && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// Adds reports whether a vendor's metric adds up over launches: a sum, or the most that it could have been.
func Adds(metric string) bool {
	_, rollup, _ := strings.Cut(metric, ".")
	return isAMDs(metric) || rollup == "sum" || rollup == "sum.peak_sustained_active" || rollup == "sum.peak_sustained_elapsed"
}
