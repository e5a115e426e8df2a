package interpreter

import "github.com/goproton/goproton/triton/ttir"

// element is a type that elements of values are kept as.
type element interface{ bit | number }

// typed is what the interpreter does with elements of any class, for one class; typedOf[T] does it with those that are kept as T.
type typed interface {
	make(n int) any
	mover(to, from *slot, shape []int) step
	copyPart(to *slot, at int, from *slot, start, n int) step
	pick(to, from *slot, places []int32) step
	merge(to, a, b *slot, left, right []int32) step
	choose(c *compiler) step
	scanParts(m *machine, left, right, result, s *slot, lanes int) []step

	load(c *compiler) step
	store(c *compiler) step
	loadAtomically(c *compiler) step
	storeAtomically(c *compiler) step
	poll(c *compiler) step
	swap(c *compiler) step
	loadInto(c *compiler, b *blockOf, set step, nan func() bool) step
	storeFrom(c *compiler, b *blockOf, v *slot, set step) step

	scalars(c *compiler, s *slot, shape []int) (func(i int) scalar, step)
	scalarsInto(s *slot) func(i int, v scalar)
	zeroDivisors(c *compiler, op *ttir.Op, result, out *slot) step
	all(s *slot) any
	read(m *memory, t *ttir.Type, addresses []int64) (elements any, bad int)
}

type typedOf[T element] struct{}

func (typedOf[T]) make(n int) any { return make([]T, n) }

var classes map[class]typed

// integral is what it does with integers alone.
type integral interface {
	zip(c *compiler, kind string) step
	half(c *compiler, kind string, n int) step
	carry(c *compiler) step
	each(c *compiler, name string) step
	compare(c *compiler, predicate string) step
	cast(c *compiler, isUnsigned bool) step
	float(c *compiler, isUnsigned bool) step
	reduce(c *compiler, kind string, outer, n, inner int) step
	atomic(c *compiler, kind string) step
	offset(c *compiler, size int64) step
	widen(o []int64, s *slot, at []int32) step
	turns(m *machine, op *ttir.Op, counter, low, high, by *slot, blocks []*block, unsigned bool) step
	overflow(c *compiler, op *ttir.Op, result, out *slot) step
}

// integralOf is that of integers that are kept as T; as U they have no sign.
type integralOf[T signed, U unsigned] struct {
	loops       loops[T]
	comparisons comparisons[T]
}

var integrals map[class]integral

// floating is what it does with floating-point numbers alone.
type floating interface {
	zip(c *compiler, kind string) step
	compare(c *compiler, predicate string) step
	clamp(c *compiler, propagate bool) step
}

type floatOf[T float] struct {
	loops       loops[T]
	comparisons comparisons[T]
}

var (
	singles = floatOf[float32]{floatLoops[float32](), floatComparisons[float32]()}
	doubles = floatOf[float64]{floatLoops[float64](), floatComparisons[float64]()}
)

// loops are operations on the elements of two operands, by their names in arith.
type loops[T any] map[string]func(o, a, b []T)

func (l loops[T]) of(kind string) func(o, a, b []T) {
	if l[kind] == nil {
		panic(failure("it is not supported"))
	}
	return l[kind]
}

// comparisons are those of the elements of two operands, by their predicates.
type comparisons[T any] map[string]func(o []bit, a, b []T)

func (l comparisons[T]) of(predicate string) func(o []bit, a, b []T) {
	if l[predicate] == nil {
		panic(failure("there is no comparison %q", predicate))
	}
	return l[predicate]
}

func init() { // the methods lead to both
	classes = map[class]typed{bits1: typedOf[bit]{}, i8: typedOf[int8]{}, i16: typedOf[int16]{}, i32: typedOf[int32]{}, i64: typedOf[int64]{}, f32: typedOf[float32]{}, f64: typedOf[float64]{}}
	integrals = map[class]integral{i8: newIntegral[int8, uint8](), i16: newIntegral[int16, uint16](), i32: newIntegral[int32, uint32](), i64: newIntegral[int64, uint64]()}
}

func newIntegral[T signed, U unsigned]() integral {
	return integralOf[T, U]{integerLoops[T, U](), integerComparisons[T, U]()}
}

// What is said of a type that an operation refuses.
const (
	notTaken = "it does not take %s"
	notGiven = "it does not give %s"
)

// typedAs is what is done with elements of a type, for an operation that refuses classes that are not from low to high.
func typedAs(t *ttir.Type, low, high class, refusal string) typed {
	k := classOf(t)
	if k < low || k > high {
		panic(failure(refusal, t.Text))
	}
	return classes[k]
}

// integralAs is the same of an operation that takes integers, but for i1.
func integralAs(t *ttir.Type, refusal string) integral {
	k := integrals[classOf(t)]
	if k == nil {
		panic(failure(refusal, t.Text))
	}
	return k
}
