package hatchet

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
)

// What upstream has no place for is written to further keys of the node object, next to "frame" and "metrics". hatchet and
// proton-viewer skip them: "info" and "kinds" at the root, "times" at any node, each only where there is something.
// Instruction samples have two more, see samples.go, and so have traced launches, see launches.go.

// Loses says what a file cannot hold of p: JSON has no infinity.
func Loses(p *profile.Profile) []string {
	infinite := 0
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			v := n.Metrics[i].Value
			f, _ := v.Float()
			if math.IsInf(f, 0) || slices.ContainsFunc(v.Floats(), func(f float64) bool { return math.IsInf(f, 0) }) {
				infinite++
			}
		}
		return true
	})
	switch infinite {
	case 0:
		return nil
	case 1:
		return []string{"1 infinite value, written as null"}
	}
	return []string{fmt.Sprintf("%d infinite values, written as null", infinite)}
}

// info writes the facts of the run.
func (t *treeWriter) info(info profile.Info) {
	t.strings("info", slices.Sorted(maps.Keys(info)), func(key string) string { return info[key] })
}

// kindExceptions writes the kinds that a reader, with nothing but the root's zeros to go by, would get wrong.
func (t *treeWriter) kindExceptions(root *profile.Node) {
	t.strings("kinds", t.seen.Exceptions(root), func(name string) string { return t.kinds[name].String() })
}

// strings writes a member that is an object of strings, unless it is empty.
func (t *treeWriter) strings(member string, keys []string, value func(key string) string) {
	if len(keys) == 0 {
		return
	}
	t.next(false)
	t.key(member)
	t.open('{')
	for i, key := range keys {
		t.next(i == 0)
		t.key(key)
		t.str(value(key))
	}
	t.close('}')
}

// times writes a distribution on one line, also in an indented file: a bucket is two numbers, and a busy node has a
// hundred of them.
func (t *treeWriter) times(s *profile.Sketch) {
	if s == nil || s.Count == 0 {
		return
	}
	t.next(false)
	t.key("times")
	indent := t.indent
	t.indent = false
	defer func() { t.indent = indent }()
	t.open('{')
	for i, fact := range []struct {
		name  string
		value uint64
	}{{"count", s.Count}, {"min", s.Min}, {"max", s.Max}} {
		t.next(i == 0)
		t.key(fact.name)
		t.unsigned(fact.value)
	}
	t.next(false)
	t.key("mean")
	t.float(s.Mean)
	t.next(false)
	t.key("m2")
	t.float(s.M2)
	t.next(false)
	t.key("buckets")
	t.list(len(s.Buckets), func(i int) {
		low, _ := profile.BucketBounds(s.Buckets[i].Index)
		t.buf = append(t.buf, '[')
		t.unsigned(low)
		t.buf = append(t.buf, ',')
		t.unsigned(s.Buckets[i].Count)
		t.buf = append(t.buf, ']')
	})
	t.close('}')
}

// info reads the facts of the run.
func (d *decoder) info() profile.Info {
	info := profile.Info{}
	d.Object("at the start of info", func(key string) { info[key] = d.Intern(d.Str("a string")) })
	return info
}

// kindExceptions reads the kinds that the root's zeros do not tell.
func (d *decoder) kindExceptions() profile.Kinds {
	kinds := profile.Kinds{}
	d.Object("at the start of kinds", func(name string) {
		at := d.Offset()
		word := string(d.Str("a kind"))
		kind, ok := profile.ParseKind(word)
		if !ok {
			d.Fail(at, "%q is not a kind of metric: expected exclusive, inclusive or property", jsonscan.Clip([]byte(word)))
			return
		}
		kinds[name] = kind
	})
	return kinds
}

// times reads a distribution and checks that it is a valid one, so that no other code has to.
func (d *decoder) times() *profile.Sketch {
	d.Peek()
	start := d.Offset()
	s := &profile.Sketch{}
	d.Object("at the start of times", func(key string) {
		switch key {
		case "count":
			s.Count = d.unsigned()
		case "min":
			s.Min = d.unsigned()
		case "max":
			s.Max = d.unsigned()
		case "mean":
			s.Mean = d.finite()
		case "m2":
			s.M2 = d.finite()
		case "buckets":
			s.Buckets = d.buckets()
		default:
			d.Skip(0)
		}
	})
	if d.Err == nil {
		if err := s.Check(); err != nil {
			d.Fail(start, "times of a node: %v", err)
		}
	}
	return s
}

func (d *decoder) buckets() []profile.Bucket {
	var list []profile.Bucket
	d.Array("at the start of buckets", func() {
		var pair [2]uint64
		n := 0
		d.Peek()
		start := d.Offset()
		d.Array("at the start of a bucket", func() {
			v := d.unsigned()
			if n < 2 {
				pair[n] = v
			}
			n++
		})
		index := profile.BucketOf(pair[0])
		if low, _ := profile.BucketBounds(index); d.Err == nil && (n != 2 || low != pair[0]) {
			d.Fail(start, "a bucket of times is [lower bound, count], and none begins at %d", pair[0])
		}
		list = append(list, profile.Bucket{Index: index, Count: pair[1]})
	})
	return list
}

// unsigned reads a whole number. Beyond 63 bits it was read as a float, which holds every bucket's bound exactly.
func (d *decoder) unsigned() uint64 {
	d.Peek()
	at := d.Offset()
	v := d.Scalar()
	f, _ := v.Float()
	switch {
	case d.Err != nil:
	case v.Type() == profile.Int && v.Int() >= 0:
		return uint64(v.Int())
	case f >= 0 && f < math.MaxUint64 && f == math.Trunc(f):
		return uint64(f)
	default:
		d.Fail(at, "expected a whole number of at least 0")
	}
	return 0
}

func (d *decoder) finite() float64 {
	d.Peek()
	at := d.Offset()
	v := d.Scalar()
	f, number := v.Float()
	if d.Err == nil && (!number || math.IsNaN(f) || math.IsInf(f, 0)) {
		d.Fail(at, "expected a number")
	}
	return f
}
