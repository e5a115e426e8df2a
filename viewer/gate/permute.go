package gate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"
)

// A family is the set of hypotheses that one gate tests together: a row of values per call path and rule, with the runs
// before the change first. Under the null hypothesis the runs before and after are exchangeable: every assignment of the
// runs to two groups of the same sizes is as likely as the observed one.
//
// The p-value of a hypothesis is adjusted for the others by the step-down procedure of Westfall and Young: it is the part of
// the assignments in which the largest statistic, of the hypotheses that are not more extreme, reaches the observed one.
// With all assignments counted this is exact. The probability that a gate fails anything although nothing changed is at
// most alpha, however many call paths are compared, however their times depend on each other, and whatever their
// distribution. Corrections that use only p-values (Holm, Benjamini-Hochberg) cannot find one slower kernel among hundreds
// with five runs a side: the smallest p-value of a rank test is then 1/252, and a hundred times that is not significant.
type family struct {
	before, after int
	rows          [][]float64 // relative to their median, centred on their mean
	signs         []float64   // by row: 1 if the rule fails on an increase, -1 on a decrease
	rules         []int       // by row: index of its rule

	squares []float64 // by row: sum of squares
	usual   []float64 // by row: median standard deviation of the rows of the same rule
}

// mostDeals is the largest number of assignments of runs to groups that are counted: 7 and 7 runs have 3432. Of more
// assignments a random sample is counted. The error of a p-value near 0.05 is then 0.003, and a gate of 10,000 call paths
// takes two seconds.
const mostDeals = 5000

// tiny keeps a statistic finite where runs do not vary at all, as with counts. It is also the relative tolerance of
// comparisons between numbers that were computed in different orders.
const tiny = 1e-12

// adjusted returns the adjusted p-value of every hypothesis.
func (f *family) adjusted() []float64 {
	n := len(f.rows)
	f.measure()
	observed := make([]float64, n)
	last := make([]int, f.after) // the observed assignment: the runs after the change are last
	for i := range last {
		last[i] = f.before + i
	}
	f.statistics(last, observed)
	order := make([]int, n) // the most extreme first
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(observed[b], observed[a]) })

	reached, deals := make([]int, n), 0
	stats := make([]float64, n)
	deal(f.before+f.after, f.after, func(chosen []int) {
		deals++
		f.statistics(chosen, stats)
		largest := math.Inf(-1)
		for i := n - 1; i >= 0; i-- {
			largest = max(largest, stats[order[i]])
			if largest >= observed[order[i]]-tiny*math.Abs(observed[order[i]]) {
				reached[i]++
			}
		}
	})
	p, above := make([]float64, n), 0.0
	for i, h := range order {
		above = max(above, float64(reached[i])/float64(deals))
		p[h] = above
	}
	return p
}

// measure computes the sums that are the same for every assignment of runs to groups.
func (f *family) measure() {
	f.squares = make([]float64, len(f.rows))
	deviations := make([]float64, len(f.rows))
	for i, row := range f.rows {
		f.squares[i] = floats.Dot(row, row)
		deviations[i] = math.Sqrt(f.squares[i] / float64(f.before+f.after-1))
	}
	byRule := map[int][]float64{}
	for i, rule := range f.rules {
		byRule[rule] = append(byRule[rule], deviations[i])
	}
	typical := map[int]float64{}
	for rule, all := range byRule {
		typical[rule] = figures.Median(all)
	}
	f.usual = make([]float64, len(f.rows))
	for i, rule := range f.rules {
		f.usual[i] = typical[rule]
	}
}

// statistics computes, for one assignment of runs to groups, the difference between the means of the two groups over the
// sum of two standard deviations: the row's own and the median of the rule's rows. With few runs some row always has a
// very small deviation by chance. Adding the median keeps its statistic from exceeding those of all other rows. In the
// simulation of TestAPlantedRegressionIsFound this finds 86 % of the regressions among 120 kernels; Student's t finds 50 %.
func (f *family) statistics(chosen []int, out []float64) {
	n, m := float64(f.before), float64(f.after)
	for i, row := range f.rows {
		sum := 0.0
		for _, at := range chosen {
			sum += row[at]
		}
		// The row is centred, so the other group's sum is -sum.
		if f.squares[i] == 0 {
			out[i] = 0
			continue
		}
		within := max(f.squares[i]-sum*sum/m-sum*sum/n, f.squares[i]*tiny)
		out[i] = f.signs[i] * (sum/m + sum/n) / (math.Sqrt(within/(n+m-2)) + f.usual[i])
	}
}

// farOff limits the distance of a value from the median, in median distances. Values farther away are moved to the limit.
const farOff = 2.5

// centred returns values relative to their median and minus their mean, with outliers moved closer (see farOff). One run in
// which a kernel took three times as long would otherwise hide any change of that kernel. The result does not depend on
// which side a run is of, so the test remains exact.
func centred(values []float64) []float64 {
	middle := figures.Median(values)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - middle)
	}
	reach := farOff * figures.Median(distances)
	all := slices.Clone(values)
	for i, v := range all {
		if reach > 0 {
			all[i] = min(max(v, middle-reach), middle+reach)
		}
	}
	mean := floats.Sum(all) / float64(len(all))
	scale := max(math.Abs(middle), math.Abs(mean))
	for i, v := range all {
		if all[i] = (v - mean) / scale; math.Abs(all[i]) < tiny || scale == 0 {
			all[i] = 0
		}
	}
	return all
}

// deal calls visit with every choice of k of n runs. Where there are more than mostDeals it visits the observed choice and a
// random sample with a fixed seed. The slice is reused.
func deal(n, k int, visit func(chosen []int)) {
	if choices(n, k) > mostDeals {
		r := rand.New(rand.NewPCG(20, 26))
		happened := make([]int, k)
		for i := range happened {
			happened[i] = n - k + i
		}
		visit(happened)
		for range mostDeals - 1 {
			visit(r.Perm(n)[:k])
		}
		return
	}
	chosen := make([]int, k)
	for every := combin.NewCombinationGenerator(n, k); every.Next(); {
		visit(every.Combination(chosen))
	}
}

// choices is the number of ways to choose k of n. It is a float, since 34 runs a side are more than an integer holds.
func choices(n, k int) float64 { return math.Round(combin.GeneralizedBinomial(float64(n), float64(k))) }
