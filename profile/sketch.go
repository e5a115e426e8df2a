package profile

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Sketch is a distribution of whole, non-negative values, such as the times of a node's kernels in ns, in a
// few bytes: exact count, sum, smallest, largest and spread, and a histogram whose buckets are a 64th of an octave
// wide or narrower, so that a quantile is known to one part in 64. Sketches that saw different values merge into
// exactly the sketch that would have seen them all, in any order.
//
// The zero Sketch is empty and ready to use. It is not safe for concurrent use.
type Sketch struct {
	Count    uint64
	Min, Max uint64 // 0 when empty
	Mean     float64
	M2       float64  // sum of the squared distances from the mean
	Buckets  []Bucket // in order of index, none empty
	Sums     *Sums    // of a merged sketch; nil where only Mean and M2 are known
}

// Bucket counts the values that fall between two bounds; see BucketOf.
type Bucket struct {
	Index uint16
	Count uint64
}

// subBits is the number of mantissa bits that a bucket's index keeps: 64 buckets to an octave.
const subBits = 6

// BucketOf returns the index of the bucket that a value falls in. Values below 64 have a bucket each.
func BucketOf(v uint64) uint16 {
	if v < 1<<subBits {
		return uint16(v)
	}
	exp := bits.Len64(v) - 1 - subBits // how many low bits are dropped
	return uint16(exp<<subBits + int(v>>exp))
}

// BucketBounds returns the smallest and the largest value of a bucket.
func BucketBounds(index uint16) (low, high uint64) {
	if index < 1<<(subBits+1) {
		return uint64(index), uint64(index)
	}
	exp := uint(index>>subBits) - 1
	low = (uint64(index) - uint64(exp)<<subBits) << exp
	return low, low + (1<<exp - 1)
}

// Add adds one value.
func (s *Sketch) Add(v uint64) {
	if s.Count == 0 || v < s.Min {
		s.Min = v
	}
	s.Max = max(s.Max, v)
	s.Count++
	d := float64(v) - s.Mean
	s.Mean += d / float64(s.Count)
	s.M2 += d * (float64(v) - s.Mean)
	s.bucket(BucketOf(v)).Count++
}

// bucket finds or makes the bucket with that index. Equal kernels take nearly equal times, so the list is short
// and the wanted bucket is most often near the end of a search that starts in the middle.
func (s *Sketch) bucket(index uint16) *Bucket {
	at, found := slices.BinarySearchFunc(s.Buckets, index, func(b Bucket, i uint16) int { return int(b.Index) - int(i) })
	if !found {
		s.Buckets = slices.Insert(s.Buckets, at, Bucket{Index: index})
	}
	return &s.Buckets[at]
}

// Merge adds all values of another sketch.
func (s *Sketch) Merge(o *Sketch) {
	if o == nil || o.Count == 0 {
		return
	}
	n, m := float64(s.Count), float64(o.Count)
	d := o.Mean - s.Mean
	s.Mean += d * m / (n + m)
	s.M2 += o.M2 + d*d*n*m/(n+m)
	s.Sums = nil
	s.join(o)
}

// join adds what does not depend on the order of additions.
func (s *Sketch) join(o *Sketch) {
	if s.Count == 0 || o.Min < s.Min {
		s.Min = o.Min
	}
	s.Max = max(s.Max, o.Max)
	s.Count += o.Count
	s.Buckets = mergeBuckets(s.Buckets, o.Buckets)
}

func mergeBuckets(a, b []Bucket) []Bucket {
	all := make([]Bucket, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Index < b[0].Index:
			all, a = append(all, a[0]), a[1:]
		case b[0].Index < a[0].Index:
			all, b = append(all, b[0]), b[1:]
		default:
			all = append(all, Bucket{a[0].Index, a[0].Count + b[0].Count})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// Check says what is wrong with a sketch that was not made by Add and Merge alone, such as one from a file.
func (s *Sketch) Check() error {
	var sum uint64
	for i, b := range s.Buckets {
		if b.Count == 0 || i > 0 && b.Index <= s.Buckets[i-1].Index || b.Index > lastBucket {
			return fmt.Errorf("bucket %d is empty or out of order", i)
		}
		if sum += b.Count; sum < b.Count {
			return errors.New("the buckets count more than 64 bits can hold")
		}
	}
	switch {
	case sum != s.Count:
		return fmt.Errorf("the buckets count %d values and count says %d", sum, s.Count)
	case s.Count == 0 && (s.Min != 0 || s.Max != 0 || s.Mean != 0 || s.M2 != 0):
		return errors.New("count is 0, and min, max, mean or m2 is not")
	case s.Count > 0 && (BucketOf(s.Min) != s.Buckets[0].Index || BucketOf(s.Max) != s.Buckets[len(s.Buckets)-1].Index || s.Min > s.Max):
		return errors.New("min and max do not lie in the first and the last bucket")
	case !(s.Mean >= 0) || !(s.M2 >= 0) || math.IsInf(s.Mean, 0) || math.IsInf(s.M2, 0):
		return errors.New("mean and m2 must be finite and at least 0")
	}
	return nil
}

// lastBucket is the one of the largest value.
var lastBucket = BucketOf(math.MaxUint64)

// Clone returns a copy that shares nothing; nil of nil.
func (s *Sketch) Clone() *Sketch {
	if s == nil {
		return nil
	}
	c := *s
	c.Buckets = slices.Clone(s.Buckets)
	if s.Sums != nil {
		sums := *s.Sums
		c.Sums = &sums
	}
	return &c
}

// Sum returns the sum of all values, up to rounding of the mean.
func (s *Sketch) Sum() float64 { return s.Mean * float64(s.Count) }

// StdDev returns the sample standard deviation; NaN below two values.
func (s *Sketch) StdDev() float64 {
	if s.Count < 2 {
		return math.NaN()
	}
	return math.Sqrt(max(s.M2, 0) / float64(s.Count-1))
}

// Quantile returns the value below which a share q of the values lies, 0 ≤ q ≤ 1, by nearest rank; NaN when
// empty. The smallest and the largest are exact. Of the others the bucket is known: it returns the bucket's
// shortest number, so that all its digits are known.
func (s *Sketch) Quantile(q float64) float64 {
	if s.Count == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	rank := uint64(math.Ceil(q * float64(s.Count)))
	if rank <= 1 {
		return float64(s.Min)
	}
	if rank >= s.Count {
		return float64(s.Max)
	}
	for _, b := range s.Buckets {
		if rank <= b.Count {
			low, high := BucketBounds(b.Index)
			return float64(shortest(max(low, s.Min), min(high, s.Max)))
		}
		rank -= b.Count
	}
	return float64(s.Max)
}

// shortest is the number from low to high with the fewest digits before its zeros, and of several the one nearest to the middle.
func shortest(low, high uint64) uint64 {
	unit := uint64(1)
	for unit <= high/10 && high/(unit*10)*(unit*10) >= low {
		unit *= 10
	}
	below := (low + (high-low)/2) / unit * unit
	if above := below + unit; below < low || above > below && above <= high && high-above >= below-low {
		return above
	}
	return below
}
