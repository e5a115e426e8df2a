package interpreter

import (
	"math"

	"github.com/goproton/goproton/triton/ttir"
)

func init() {
	register(map[string]func(c *compiler) step{"tt.dot": dot, "tt.dot_scaled": scaledDot})
}

// sizes of a product of matrices: batch · (m×k · k×n).
type sizes struct{ batch, m, n, k int }

func (c *compiler) sizes(a, to *ttir.Type) sizes {
	r := len(to.Shape)
	s := sizes{1, int(to.Shape[r-2]), int(to.Shape[r-1]), int(a.Shape[r-1])}
	for _, b := range to.Shape[:r-2] {
		s.batch *= int(b)
	}
	return s
}

func dot(c *compiler) step {
	a, to := c.use(0).t, c.resultType(0)
	s := c.sizes(a, to)
	switch from, of := classOf(a), classOf(to); {
	case classOf(c.use(1).t) != from:
	case from == f32 && of == f32:
		precision := c.op.Keyword("inputPrecision", "ieee")
		var prepare func(list []float32)
		if a.Element.Float == ttir.F32 {
			switch precision {
			case "tf32":
				prepare = truncated
			case "ieee":
			default:
				if pieces[precision].terms == nil {
					panic(failure("the precision %s is not supported", precision))
				}
				return dotOf(c, s, nil, inPieces(s, precision))
			}
		}
		return dotOf(c, s, prepare, products[float32])
	case from == f64 && of == f64:
		return dotOf(c, s, nil, products[float64])
	case from == i8 && of == i32:
		return dotOf(c, s, nil, wideProducts[int32, int8])
	case from == f32 && of == f64:
		return dotOf(c, s, nil, wideProducts[float64, float32])
	}
	panic(failure("%s * %s -> %s is not supported", a.Text, c.use(1).t.Text, to.Text))
}

// truncated drops the 13 bits that TF32 does not have.
func truncated(list []float32) {
	for i, x := range list {
		if x == x {
			list[i] = math.Float32frombits(math.Float32bits(x) &^ (1<<13 - 1))
		}
	}
}

func dotOf[T, R any](c *compiler, s sizes, prepare func([]T), multiply func(o []R, x, y []T, s sizes)) step {
	a, b, d := c.use(0), c.use(1), c.use(2)
	x, fillX := operand[T](c, a, dims(a.t))
	y, fillY := operand[T](c, b, dims(b.t))
	z, fillZ := operand[R](c, d, dims(d.t))
	out := c.define(0, dims(d.t))
	o := dataOf[R](out)
	if len(x) != s.batch*s.m*s.k || len(y) != s.batch*s.k*s.n || len(o) != s.batch*s.m*s.n {
		panic(failure("the shapes of %s and %s do not fit", a.t.Text, b.t.Text))
	}
	p, q := x, y
	if prepare != nil {
		p, q = make([]T, len(x)), make([]T, len(y))
	}
	c.block.cost += int64(s.batch*s.m*s.n) * int64(s.k) / 256
	return chain(fillX, fillY, fillZ, func() {
		if prepare != nil {
			copy(p, x)
			copy(q, y)
			prepare(p)
			prepare(q)
		}
		copy(o, z)
		for i := range s.batch {
			multiply(o[i*s.m*s.n:(i+1)*s.m*s.n], p[i*s.m*s.k:(i+1)*s.m*s.k], q[i*s.k*s.n:(i+1)*s.k*s.n], s)
		}
	}, roundingOf(out))
}

// products adds the products of a row and a column in the order of k. Two rows of o are computed at once, and four rows of y are read in
// each pass over them. The conversions keep a compiler from adding without rounding the product.
func products[T float](o, x, y []T, s sizes) {
	n := s.n
	i := 0
	for ; i+2 <= s.m; i += 2 {
		a, b := x[i*s.k:(i+1)*s.k], x[(i+1)*s.k:(i+2)*s.k]
		p, q := o[i*n:(i+1)*n], o[(i+1)*n:(i+2)*n]
		k := 0
		for ; k+4 <= s.k; k += 4 {
			twoRows(p, q, y[k*n:], n, a[k:k+4], b[k:k+4])
		}
		oneRow(p, a[k:], y[k*n:], n)
		oneRow(q, b[k:], y[k*n:], n)
	}
	if i < s.m {
		oneRow(o[i*n:(i+1)*n], x[i*s.k:(i+1)*s.k], y, n)
	}
}

func twoRows[T float](p, q, y []T, n int, a, b []T) {
	from := vectorColumns(p, q, y, n, a, b)
	if from == n {
		return
	}
	a0, a1, a2, a3, b0, b1, b2, b3 := a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]
	y0, y1, y2, y3 := y[from:n], y[n+from:2*n], y[2*n+from:3*n], y[3*n+from:4*n]
	y1, y2, y3, p, q = y1[:len(y0)], y2[:len(y0)], y3[:len(y0)], p[from:n], q[from:n]
	p, q = p[:len(y0)], q[:len(y0)]
	for j, v0 := range y0 {
		v1, v2, v3 := y1[j], y2[j], y3[j]
		p[j] = T(T(T(p[j]+T(a0*v0))+T(a1*v1))+T(a2*v2)) + T(a3*v3)
		q[j] = T(T(T(q[j]+T(b0*v0))+T(b1*v1))+T(b2*v2)) + T(b3*v3)
	}
}

func oneRow[T float](to, row, y []T, n int) {
	for k, a := range row {
		v := y[k*n : (k+1)*n]
		to = to[:len(v)]
		for j := range v {
			to[j] += T(a * v[j])
		}
	}
}

// wideProducts sums in a wider type than the elements have.
func wideProducts[S int32 | float64, T int8 | float32](o []S, x, y []T, s sizes) {
	for i := range s.m {
		to := o[i*s.n : (i+1)*s.n]
		for k := range s.k {
			a := S(x[i*s.k+k])
			for j, v := range y[k*s.n : (k+1)*s.n] {
				to[j] += a * S(v)
			}
		}
	}
}

// scaledFormats are the formats of scaled products.
var scaledFormats = map[string]ttir.Float{"e4m3": ttir.F8E4M3FN, "e5m2": ttir.F8E5M2, "e2m3": ttir.F6E2M3FN, "e3m2": ttir.F6E3M2FN, "e2m1": ttir.F4E2M1FN, "bf16": ttir.BF16, "fp16": ttir.F16}

// scaledDot is a product of matrices whose elements have a scale for 16 or 32 of them along K.
func scaledDot(c *compiler) step {
	to := c.resultType(0)
	if classOf(to) != f32 {
		panic(failure("it does not give %s", to.Text))
	}
	r := len(to.Shape)
	s := sizes{1, int(to.Shape[r-2]), int(to.Shape[r-1]), 0}
	for _, b := range to.Shape[:r-2] {
		s.batch *= int(b)
	}
	left, right := c.unpacker(0, 3, "a_elem_type", "lhs_k_pack", false, s.m, s.batch), c.unpacker(1, 4, "b_elem_type", "rhs_k_pack", true, s.n, s.batch)
	if s.k = left.k; left.k != right.k {
		panic(failure("the shapes do not fit"))
	}
	z, fillZ := operand[float32](c, c.use(2), dims(to))
	out := c.define(0, dims(to))
	o := dataOf[float32](out)
	c.block.cost += int64(s.batch*s.m*s.n) * int64(s.k) / 256
	return chain(left.fill, right.fill, fillZ, func() {
		copy(o, z)
		for b := range s.batch {
			products(o[b*s.m*s.n:(b+1)*s.m*s.n], left.values[b*s.m*s.k:(b+1)*s.m*s.k], right.values[b*s.k*s.n:(b+1)*s.k*s.n], s)
		}
	}, roundingOf(out))
}

// unpacked is an operand as numbers, with its scales applied.
type unpacked struct {
	k      int
	values []float32
	fill   step
}

// unpacker reads an operand: rows×K, or K×rows of the right one.
func (c *compiler) unpacker(n, scale int, format, along string, isRight bool, rows, batch int) *unpacked {
	s := c.use(n)
	name := c.op.Keyword(format, "")
	f, ok := scaledFormats[name]
	if !ok {
		panic(failure("the format %s is not supported", name))
	}
	full := dims(s.t)
	total := ttir.Count(full)
	packed := name == "e2m1"
	pairs := 1
	if packed {
		pairs = 2
	}
	u := &unpacked{k: total * pairs / max(rows*batch, 1)}
	u.values = make([]float32, rows*batch*u.k)
	c.room(4 * len(u.values))
	// raw returns the number at an index of memory, and its half.
	var raw func(i, half int) float32
	var fillRaw step
	switch classOf(s.t) {
	case i8:
		list, fill := operand[int8](c, s, full)
		var table [2][256]float32
		for i := range 256 {
			if packed {
				table[0][i], table[1][i] = float32(f.Value(uint64(i&15))), float32(f.Value(uint64(i>>4)))
			} else {
				table[0][i] = float32(f.Value(uint64(i)))
			}
		}
		if f == ttir.BF16 || f == ttir.F16 {
			panic(failure("%s is not %s", s.t.Text, name))
		}
		raw, fillRaw = func(i, half int) float32 { return table[half][uint8(list[i])] }, fill
	case f32:
		if packed {
			panic(failure("%s is not %s", s.t.Text, name))
		}
		list, fill := operand[float32](c, s, full)
		raw, fillRaw = func(i, _ int) float32 { return list[i] }, fill
	default:
		panic(failure("%s is not %s", s.t.Text, name))
	}
	byK := true
	if a := c.op.Attribute(along); a != nil && a.Int == 0 {
		byK = false
	}
	factor, fillScale := c.scales(scale, rows*batch, u.k)
	u.fill = chain(fillRaw, fillScale, func() {
		for b := range batch {
			for r := range rows {
				for k := range u.k {
					sr, sk, half := r, k, 0
					if packed && byK {
						sk, half = k/2, k%2
					} else if packed {
						sr, half = r/2, r%2
					}
					kk, rr := u.k, rows
					if packed && byK {
						kk = u.k / 2
					} else if packed {
						rr = rows / 2
					}
					from, to := (b*rr+sr)*kk+sk, (b*rows+r)*u.k+k
					if isRight {
						from, to = (b*kk+sk)*rr+sr, (b*u.k+k)*rows+r
					}
					u.values[to] = raw(from, half) * factor(b*rows+r, k)
				}
			}
		}
	})
	return u
}

// scales returns the scale of an element by row and K.
func (c *compiler) scales(n, rows, k int) (func(row, k int) float32, step) {
	s := c.optional(n)
	if s == nil {
		return func(int, int) float32 { return 1 }, nil
	}
	full := dims(s.t)
	per := ttir.Count(full) / max(rows, 1)
	if per == 0 || k%per != 0 || ttir.Count(full) != rows*per {
		panic(failure("scales of %s do not fit %d rows of %d", s.t.Text, rows, k))
	}
	group := k / per
	ignore := c.op.Flag("fastMath")
	switch classOf(s.t) {
	case i8:
		list, fill := operand[int8](c, s, full)
		return func(row, k int) float32 {
			e := uint8(list[row*per+k/group])
			if e == 0xFF && !ignore {
				return float32(math.NaN())
			}
			return float32(math.Ldexp(1, int(e)-127))
		}, fill
	case f32:
		list, fill := operand[float32](c, s, full)
		return func(row, k int) float32 { return list[row*per+k/group] }, fill
	}
	panic(failure("%s are not scales", s.t.Text))
}

// flops is what an operation computes each time.
func (c *compiler) flops(op *ttir.Op) cost {
	k := cost{op: op}
	if len(op.Results) == 0 {
		return k
	}
	t := c.f.Type(op.Results[0])
	n := t.Elements() * int64(max(c.lanes, 1))
	switch op.Name {
	case "tt.dot":
		a := c.f.Type(op.Operands[0])
		k.of, k.dot = a.Element.Text, true
		if precision := op.Keyword("inputPrecision", "ieee"); a.Element.Float == ttir.F32 && precision != "ieee" {
			k.of = precision
		}
		k.flops = 2 * n * a.Shape[len(a.Shape)-1]
	case "tt.dot_scaled":
		a := c.f.Type(op.Operands[0])
		k.of, k.dot = op.Keyword("a_elem_type", "")+"*"+op.Keyword("b_elem_type", ""), true
		k.flops = 2 * n * a.Elements() / max(t.Elements()/t.Shape[len(t.Shape)-1], 1)
		if op.Keyword("a_elem_type", "") == "e2m1" {
			k.flops *= 2
		}
	default:
		if t.Scalar().Kind == ttir.FloatType {
			k.of, k.flops = t.Scalar().Text, ttir.FloatOperations(op.Name)*n
		}
	}
	return k
}
