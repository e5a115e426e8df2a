package interpreter

// zip is an operation on the elements of two operands.
func zip[T, R any](c *compiler, loop func(o []R, a, b []T)) step {
	a, b := c.peek(0), c.peek(1)
	shape := join(a.shape, b.shape)
	x, fillX := operand[T](c, a, shape)
	y, fillY := operand[T](c, b, shape)
	out := c.define(0, shape)
	o := dataOf[R](out)
	round := roundingOf(out)
	if len(o) == 1 && round == nil {
		return c.simplified(c.pure(out, func() { loop(o, x, y) }, a, b), out, a, b)
	}
	return c.simplified(c.pure(out, chain(fillX, fillY, func() { loop(o, x, y) }, round), a, b), out, a, b)
}

// each1 is an operation on the elements of one operand.
func each1[T, R any](c *compiler, loop func(o []R, a []T)) step {
	a := c.peek(0)
	out := c.define(0, a.shape)
	x, o := dataOf[T](a), dataOf[R](out)
	run := c.pure(out, chain(func() { loop(o, x) }, roundingOf(out)), a)
	switch c.op.Name {
	case "arith.extsi", "arith.index_cast":
		return c.extended(run, out, a, false)
	case "arith.extui", "arith.index_castui":
		return c.extended(run, out, a, true)
	}
	return asked(run, a)
}

// zip3 is an operation on the elements of three operands.
func zip3[T any](c *compiler, f func(a, b, c T) T) step {
	a, b, d := c.use(0), c.use(1), c.use(2)
	shape := join(a.shape, b.shape, d.shape)
	x, fillX := operand[T](c, a, shape)
	y, fillY := operand[T](c, b, shape)
	z, fillZ := operand[T](c, d, shape)
	out := c.define(0, shape)
	o := dataOf[T](out)
	return c.pure(out, chain(fillX, fillY, fillZ, func() {
		for i := range o {
			o[i] = f(x[i], y[i], z[i])
		}
	}, roundingOf(out)), a, b, d)
}

func dataOf[T any](s *slot) []T {
	list, ok := s.data.([]T)
	if !ok {
		panic(failure("a value of it is %s", s.t.Text))
	}
	return list
}

// roundingOf rounds results that are kept as float32 to their type; nil for others.
func roundingOf(s *slot) step {
	list, ok := s.data.([]float32)
	round := rounded(s.t)
	if !ok || round == nil {
		return nil
	}
	return func() { round(list) }
}

// by makes a loop of a function of two elements.
func by[T, R any](f func(a, b T) R) func(o []R, a, b []T) {
	return func(o []R, a, b []T) {
		for i := range o {
			o[i] = f(a[i], b[i])
		}
	}
}

// with makes a loop of a function of one element.
func with[T, R any](f func(a T) R) func(o []R, a []T) {
	return func(o []R, a []T) {
		for i := range o {
			o[i] = f(a[i])
		}
	}
}

func addAll[T number](o, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = a[i] + b[i]
	}
}

func subtractAll[T number](o, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = a[i] - b[i]
	}
}

func multiplyAll[T number](o, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = a[i] * b[i]
	}
}

func divideAll[T float](o, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = a[i] / b[i]
	}
}

func andAll[T signed | bit](o, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = a[i] & b[i]
	}
}

func orAll[T signed | bit](o, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = a[i] | b[i]
	}
}

func xorAll[T signed | bit](o, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = a[i] ^ b[i]
	}
}

func truth(b bool) bit {
	if b {
		return 1
	}
	return 0
}

func lessAll[T number | bit](o []bit, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = truth(a[i] < b[i])
	}
}

func mostAll[T number | bit](o []bit, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = truth(a[i] <= b[i])
	}
}

func equalAll[T number | bit](o []bit, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = truth(a[i] == b[i])
	}
}

func differAll[T number | bit](o []bit, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		o[i] = truth(a[i] != b[i])
	}
}

// swapped is a comparison with its operands exchanged.
func swapped[T any](loop func(o []bit, a, b []T)) func(o []bit, a, b []T) {
	return func(o []bit, a, b []T) { loop(o, b, a) }
}
