package tree

import (
	"math"

	"github.com/goproton/goproton/profile"
)

// times writes a sketch that is not empty. Sketches are most of many files, so they are written and read without a list of members.
func times(w Writer, s *profile.Sketch) {
	before := w.Wrap(false)
	members := 6
	if s.Sums != nil {
		members++
	}
	w.Object(members)
	number(w, "count", s.Count)
	number(w, "min", s.Min)
	number(w, "max", s.Max)
	w.Key("mean")
	w.Float(s.Mean)
	w.Key("m2")
	w.Float(s.M2)
	w.Key("buckets")
	w.List(len(s.Buckets))
	for _, b := range s.Buckets {
		low, _ := profile.BucketBounds(b.Index)
		w.Next()
		w.List(2)
		w.Next()
		w.Unsigned(low)
		w.Next()
		w.Unsigned(b.Count)
		w.EndList()
	}
	w.EndList()
	if s.Sums != nil {
		w.Key("sums")
		tuple(w, s.Sums.Values, s.Sums.SquaresHigh, s.Sums.SquaresLow>>32, s.Sums.SquaresLow&math.MaxUint32)
	}
	w.EndObject()
	w.Wrap(before)
}

func hasTimes(s *profile.Sketch) bool { return s != nil && s.Count > 0 }

// readTimes reads a sketch and checks that it is a valid one, so that no other code has to.
func readTimes(r Reader) *profile.Sketch {
	start := r.Here()
	s := &profile.Sketch{}
	for c := r.Object("times"); c.More; c = r.Next(c) {
		switch string(r.Key()) {
		case "count":
			s.Count = unsigned(r)
		case "min":
			s.Min = unsigned(r)
		case "max":
			s.Max = unsigned(r)
		case "mean":
			s.Mean = finite(r)
		case "m2":
			s.M2 = finite(r)
		case "buckets":
			s.Buckets = readBuckets(r)
		case "sums":
			s.Sums = readSums(r)
		default:
			r.Skip()
		}
	}
	if err := s.Check(); err != nil {
		r.Fail(start, "times of a node: %v", err)
	}
	return s
}

func readSums(r Reader) *profile.Sums {
	start := r.Here()
	var sums [4]uint64
	if n := readTuple(r, "sums", sums[:]); n != len(sums) {
		r.Fail(start, "sums of times are 4 numbers, not %d", n)
	}
	return &profile.Sums{Values: sums[0], SquaresHigh: sums[1], SquaresLow: sums[2]<<32 | sums[3]&math.MaxUint32}
}

func readBuckets(r Reader) (list []profile.Bucket) {
	for c := r.List("buckets"); c.More; c = r.Next(c) {
		start := r.Here()
		var pair [2]uint64
		n := readTuple(r, "a bucket", pair[:])
		index := profile.BucketOf(pair[0])
		if n != len(pair) {
			r.Fail(start, "a bucket of times is [lower bound, count], not %d numbers", n)
		} else if low, _ := profile.BucketBounds(index); low != pair[0] {
			r.Fail(start, "a bucket of times begins with its lower bound, and none begins at %d", pair[0])
		}
		list = append(list, profile.Bucket{Index: index, Count: pair[1]})
	}
	return list
}
