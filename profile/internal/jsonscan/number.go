package jsonscan

import (
	"math"
	"math/big"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Rounded says whether text is an integer, in the spelling of JSON or Python, that f does not hold exactly.
func Rounded(text string, f float64) bool {
	if strings.ContainsAny(text, ".eE") && !strings.HasPrefix(text, "0x") || math.IsNaN(f) || len(text) > 4096 {
		return false
	}
	n, ok := new(big.Int).SetString(text, 0)
	if !ok {
		return false
	}
	if math.IsInf(f, 0) {
		return true
	}
	exact, _ := new(big.Float).SetFloat64(f).Int(nil)
	return exact.Cmp(n) != 0
}

// OfUint is an unsigned integer as a value. rounded says that it became a float that does not hold it.
func OfUint(n uint64) (v profile.Value, rounded bool) {
	if n <= math.MaxInt64 {
		return profile.IntValue(int64(n)), false
	}
	f := float64(n)
	return profile.FloatValue(f), f >= math.MaxUint64 || uint64(f) != n
}

// fits says whether a float holds an integer exactly.
func fits(n int64) bool {
	f := float64(n)
	return f < math.MaxInt64 && int64(f) == n
}

// Vector collects the numbers of a list, eight bytes for each. The list is one of integers until a float comes.
type Vector struct {
	ints    []int64
	floats  []float64 // instead of ints once there is one
	Rounded int       // integers that are floats now and were not before
}

// Add appends a number.
func (l *Vector) Add(v profile.Value) {
	if v.Type() == profile.Int && l.floats == nil {
		l.ints = append(l.ints, v.Int())
		return
	}
	if l.floats == nil {
		l.floats = make([]float64, len(l.ints), len(l.ints)+1)
		for i, n := range l.ints {
			l.floats[i] = l.float(n)
		}
		l.ints = nil
	}
	f, _ := v.Float()
	if v.Type() == profile.Int {
		f = l.float(v.Int())
	}
	l.floats = append(l.floats, f)
}

func (l *Vector) float(n int64) float64 {
	if !fits(n) {
		l.Rounded++
	}
	return float64(n)
}

// Value returns the list as the value of a metric.
func (l *Vector) Value() profile.Value {
	if l.floats != nil {
		return profile.FloatsValue(l.floats)
	}
	if l.ints == nil {
		l.ints = []int64{}
	}
	return profile.IntsValue(l.ints)
}
