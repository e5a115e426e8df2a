package profile

import (
	"math"
	"math/big"
	"math/bits"
)

// Sums are the exact sums of a distribution: of its values, and of their squares in 128 bits. The mean and the deviation, as floats,
// are rounded at each addition, so that their last digits depend on its order. Merged files keep these sums, and merge to the same
// bytes in any order.
type Sums struct {
	Values                  uint64
	SquaresHigh, SquaresLow uint64
}

// MergeExactly adds all values of another sketch. Mean and M2 are right only after Finish. Where the sums do not fit, it is Merge.
func (s *Sketch) MergeExactly(o *Sketch) {
	if o == nil || o.Count == 0 {
		return
	}
	a, fits := s.sums()
	b, bothFit := o.sums()
	values, over := bits.Add64(a.Values, b.Values, 0)
	low, carry := bits.Add64(a.SquaresLow, b.SquaresLow, 0)
	high, more := bits.Add64(a.SquaresHigh, b.SquaresHigh, carry)
	if !fits || !bothFit || over+more > 0 || values>>63+high>>63 > 0 { // files hold 63 bits
		s.Finish()
		s.Merge(o)
		return
	}
	s.join(o)
	if s.Sums == nil {
		s.Sums = &Sums{}
	}
	*s.Sums = Sums{values, high, low}
}

// Finish computes Mean and M2 from the exact sums, if there are some.
func (s *Sketch) Finish() {
	if s.Sums == nil || s.Count == 0 {
		return
	}
	s.Mean = float64(s.Sums.Values) / float64(s.Count)
	n := new(big.Int).SetUint64(s.Count)
	sum := new(big.Int).SetUint64(s.Sums.Values)
	squares := new(big.Int).SetUint64(s.Sums.SquaresHigh)
	squares.Add(squares.Lsh(squares, 64), new(big.Int).SetUint64(s.Sums.SquaresLow))
	distance := squares.Sub(squares.Mul(squares, n), sum.Mul(sum, sum)) // n times M2
	m2, _ := new(big.Rat).SetFrac(distance, n).Float64()
	s.M2 = max(m2, 0)
}

// sums returns the exact sums, from the mean and the deviation if there are none yet. The sum of whole numbers is whole, which
// restores what the floats have rounded, up to 2^53.
func (s *Sketch) sums() (sums Sums, fit bool) {
	if s.Sums != nil {
		return *s.Sums, true
	}
	if s.Count == 0 {
		return Sums{}, true
	}
	sum := s.Mean * float64(s.Count)
	if sum >= 1<<63 || s.M2 >= 0x1p126 {
		return Sums{}, false
	}
	values := uint64(math.RoundToEven(sum))
	high, low := bits.Mul64(values, values)
	quotientHigh, rest := high/s.Count, high%s.Count
	quotientLow, rest := bits.Div64(rest, low, s.Count)
	// What is left of the square of the sum belongs to a whole number together with M2.
	distance := math.RoundToEven(s.M2 + float64(rest)/float64(s.Count))
	distanceHigh := math.Floor(distance / 0x1p64)
	low, carry := bits.Add64(quotientLow, uint64(distance-distanceHigh*0x1p64), 0)
	return Sums{values, quotientHigh + uint64(distanceHigh) + carry, low}, true
}
