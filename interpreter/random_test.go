package interpreter

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// maker writes random kernels that are well-typed.
type maker struct {
	r      *rand.Rand
	b      strings.Builder
	values map[string][]string // names that can be used here, by type
	next   int
	depth  int
}

const pointers = 4 // arguments: pointers to f32, i32, f16 and i8

var pointees = [pointers]string{"f32", "i32", "f16", "i8"}

func (g *maker) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *maker) name() string {
	g.next++
	return fmt.Sprintf("%%v%d", g.next)
}

// value is a value of a type; it makes one if there is none.
func (g *maker) value(t string) string {
	if list := g.values[t]; len(list) > 0 && g.r.IntN(8) > 0 {
		return list[len(list)-1-min(g.r.IntN(len(list)), g.r.IntN(len(list)))]
	}
	return g.fresh(t)
}

func (g *maker) add(t, format string, a ...any) string {
	n := g.name()
	fmt.Fprintf(&g.b, "%s = %s\n", n, fmt.Sprintf(format, a...))
	g.values[t] = append(g.values[t], n)
	return n
}

func elementOf(t string) string {
	if s, ok := strings.CutPrefix(t, "tensor<"); ok {
		s = strings.TrimSuffix(s, ">")
		for {
			n, rest, found := strings.Cut(s, "x")
			if !found || strings.Trim(n, "0123456789") != "" {
				return s
			}
			s = rest
		}
	}
	return t
}

func shapeOf(t string) string {
	if !strings.HasPrefix(t, "tensor<") {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(t, ">"), "tensor<"), elementOf(t))
}

func tensor(shape, element string) string {
	if shape == "" {
		return element
	}
	return "tensor<" + shape + element + ">"
}

// fresh makes a value: a constant, a range, or a scalar that is repeated.
func (g *maker) fresh(t string) string {
	e, shape := elementOf(t), shapeOf(t)
	number := map[string]string{"i1": g.pick("true", "false"), "f32": g.pick("1.5", "0.0", "-3.25e2", "0x7F800000", "0x7FC00000"), "f16": g.pick("1.5", "-2.0", "0x7C00"), "bf16": "1.0",
		"i8": g.pick("1", "-128", "7"), "i16": g.pick("2", "-3"), "i32": g.pick("0", "1", "-1", "3", "16", "2147483647", "-7"), "i64": g.pick("0", "2", "-5", "4611686018427387904")}[e]
	switch {
	case strings.HasPrefix(e, "!tt.ptr"):
		k := 0
		for i, p := range pointees {
			if e == "!tt.ptr<"+p+">" {
				k = i
			}
		}
		if shape == "" {
			return fmt.Sprintf("%%p%d", k)
		}
		return g.add(t, "tt.splat %%p%d : %s -> %s", k, e, t)
	case shape == "":
		if e == "i32" && g.r.IntN(2) == 0 {
			return g.pick("%pid", "%n")
		}
		if e == "i1" {
			return g.add(t, "arith.constant %s", number)
		}
		return g.add(t, "arith.constant %s : %s", number, e)
	case e == "i32" && strings.Count(shape, "x") == 1 && g.r.IntN(2) == 0:
		start := g.r.IntN(5)
		var n int
		fmt.Sscan(strings.TrimSuffix(shape, "x"), &n)
		return g.add(t, "tt.make_range {end = %d : i32, start = %d : i32} : %s", start+n, start, t)
	case g.r.IntN(2) == 0:
		return g.add(t, "tt.splat %s : %s -> %s", g.value(e), e, t)
	}
	return g.add(t, "arith.constant dense<%s> : %s", number, t)
}

var shapes = []string{"8x", "16x", "4x8x", "8x4x", "1x8x", "4x1x", "16x16x", "8x2x", "2x4x8x", ""}

func (g *maker) shape() string { return g.pick(shapes...) }

func (g *maker) integer() string { return g.pick("i32", "i32", "i32", "i64", "i8", "i16") }

// op writes one operation.
func (g *maker) op() {
	switch g.r.IntN(26) {
	case 0, 1, 2:
		t := tensor(g.shape(), g.integer())
		g.add(t, "arith.%s %s, %s : %s", g.pick("addi", "addi", "subi", "muli", "muli", "divsi", "remsi", "remui", "andi", "ori", "xori", "shli", "shrsi", "shrui", "maxsi", "minui"), g.value(t), g.value(t), t)
	case 3, 4:
		shape := g.shape()
		t := tensor(shape, g.pick("i32", "i32", "i64", "i8"))
		g.add(tensor(shape, "i1"), "arith.cmpi %s, %s, %s : %s", g.pick("slt", "slt", "sle", "sgt", "sge", "ult", "uge", "eq", "ne"), g.value(t), g.value(t), t)
	case 5:
		t := tensor(g.shape(), "i1")
		g.add(t, "arith.%s %s, %s : %s", g.pick("andi", "andi", "ori", "xori"), g.value(t), g.value(t), t)
	case 6, 7:
		t := tensor(g.shape(), g.pick("f32", "f32", "f16", "bf16"))
		g.add(t, "arith.%s %s, %s : %s", g.pick("addf", "subf", "mulf", "divf", "maxnumf", "minimumf", "remf"), g.value(t), g.value(t), t)
	case 8:
		t := tensor(g.shape(), "f32")
		g.add(t, "math.%s %s : %s", g.pick("exp", "exp2", "log", "sqrt", "sin", "floor", "absf", "erf"), g.value(t), t)
	case 9:
		shape := g.shape()
		a, b := "i32", "i64"
		op := g.pick("extsi", "extui")
		switch g.r.IntN(5) {
		case 0:
			a, b, op = "i64", "i32", "trunci"
		case 1:
			a, b, op = "i32", "f32", "sitofp"
		case 2:
			a, b, op = "f32", "i32", "fptosi"
		case 3:
			a, b, op = "f32", "f16", "truncf"
		}
		g.add(tensor(shape, b), "arith.%s %s : %s to %s", op, g.value(tensor(shape, a)), tensor(shape, a), tensor(shape, b))
	case 10, 11, 12:
		shape := g.pick(shapes[:len(shapes)-1]...)
		p := tensor(shape, "!tt.ptr<"+g.pick(pointees[:]...)+">")
		i := tensor(shape, g.pick("i32", "i32", "i64"))
		g.add(p, "tt.addptr %s, %s : %s, %s", g.value(p), g.value(i), p, i)
	case 13, 14, 15:
		g.load()
	case 16, 17:
		g.store()
	case 18:
		g.view()
	case 19:
		shape := g.shape()
		t := tensor(shape, g.pick("f32", "i32", "i8", "!tt.ptr<f32>"))
		c := tensor(g.pick(shape, ""), "i1")
		if g.r.IntN(2) == 0 && c == "i1" {
			g.add(t, "arith.select %s, %s, %s : %s", g.value(c), g.value(t), g.value(t), t)
		} else {
			c = tensor(shape, "i1")
			types := c + ", " + t
			if shape == "" {
				types = t
			}
			g.add(t, "arith.select %s, %s, %s : %s", g.value(c), g.value(t), g.value(t), types)
		}
	case 20:
		g.reduction()
	case 21:
		g.loop()
	case 22:
		g.branch()
	case 23:
		a, c := "tensor<16x16x"+g.pick("f32", "f16")+">", "tensor<16x16xf32>"
		g.add(c, "tt.dot %s, %s, %s : %s * %s -> %s", g.value(a), g.value(a), g.value(c), a, a, c)
	case 24:
		p, v := "tensor<8x!tt.ptr<i32>>", "tensor<8xi32>"
		g.add(v, "tt.atomic_rmw %s, acq_rel, gpu, %s, %s, %s : (%s, %s, tensor<8xi1>) -> %s", g.pick("add", "max", "umin", "and", "exch"), g.value(p), g.value(v), g.value("tensor<8xi1>"), p, v, v)
	case 25:
		if g.r.IntN(2) == 0 {
			g.add("tensor<16xi32>", "tt.histogram %s : tensor<16xi32> -> tensor<16xi32>", g.value("tensor<16xi32>"))
		} else {
			g.add("tensor<8xf32>", "tt.gather %s[%s] {axis = 0 : i32} : (tensor<16xf32>, tensor<8xi32>) -> tensor<8xf32>", g.value("tensor<16xf32>"), g.value("tensor<8xi32>"))
		}
	}
}

// place is pointers in a shape, most of which are in the buffers.
func (g *maker) place(shape, of string) string {
	p := tensor(shape, "!tt.ptr<"+of+">")
	if shape == "" || g.r.IntN(3) == 0 {
		return g.value(p)
	}
	i := tensor(shape, "i32")
	at := g.add(i, "arith.andi %s, %s : %s", g.value(i), g.add(i, "arith.constant dense<%d> : %s", 255, i), i)
	return g.add(p, "tt.addptr %s, %s : %s, %s", g.add(p, "tt.splat %%p%d : !tt.ptr<%s> -> %s", map[string]int{"f32": 0, "i32": 1, "f16": 2, "i8": 3}[of], of, p), at, p, i)
}

func (g *maker) load() {
	shape, of := g.shape(), g.pick(pointees[:]...)
	p, v, m := tensor(shape, "!tt.ptr<"+of+">"), tensor(shape, of), tensor(shape, "i1")
	from := g.place(shape, of)
	switch g.r.IntN(3) {
	case 0:
		g.add(v, "tt.load %s : %s", from, p)
	case 1:
		g.add(v, "tt.load %s, %s : %s", from, g.value(m), p)
	case 2:
		g.add(v, "tt.load %s, %s, %s : %s", from, g.value(m), g.value(v), p)
	}
}

func (g *maker) store() {
	shape, of := g.shape(), g.pick(pointees[:]...)
	p, v, m := tensor(shape, "!tt.ptr<"+of+">"), tensor(shape, of), tensor(shape, "i1")
	to, what := g.place(shape, of), g.value(v)
	if g.r.IntN(3) == 0 {
		fmt.Fprintf(&g.b, "tt.store %s, %s : %s\n", to, what, p)
	} else {
		fmt.Fprintf(&g.b, "tt.store %s, %s, %s : %s\n", to, what, g.value(m), p)
	}
}

func (g *maker) view() {
	e := g.pick("i32", "i32", "f32", "i1", "!tt.ptr<f32>")
	t := func(shape string) string { return tensor(shape, e) }
	switch g.r.IntN(8) {
	case 0, 1:
		g.add(t("1x8x"), "tt.expand_dims %s {axis = 0 : i32} : %s -> %s", g.value(t("8x")), t("8x"), t("1x8x"))
	case 2, 3:
		from := g.pick("1x8x", "4x1x")
		g.add(t("4x8x"), "tt.broadcast %s : %s -> %s", g.value(t(from)), t(from), t("4x8x"))
	case 4:
		g.add(t("8x4x"), "tt.trans %s {order = array<i32: 1, 0>} : %s -> %s", g.value(t("4x8x")), t("4x8x"), t("8x4x"))
	case 5:
		g.add(t("16x"), "tt.reshape %s : %s -> %s", g.value(t("8x2x")), t("8x2x"), t("16x"))
	case 6:
		if e != "!tt.ptr<f32>" {
			g.add(t("8x2x"), "tt.join %s, %s : %s -> %s", g.value(t("8x")), g.value(t("8x")), t("8x"), t("8x2x"))
		}
	case 7:
		a, b := g.name(), g.name()
		fmt.Fprintf(&g.b, "%s, %s = tt.split %s : %s -> %s\n", a, b, g.value(t("8x2x")), t("8x2x"), t("8x"))
		g.values[t("8x")] = append(g.values[t("8x")], a, b)
	}
}

func (g *maker) reduction() {
	e := g.pick("f32", "i32")
	op := map[string]string{"f32": g.pick("addf", "maxnumf", "mulf"), "i32": g.pick("addi", "xori", "minsi")}[e]
	from := tensor("4x8x", e)
	kind, end, to := "tt.reduce", "", tensor("8x", e)
	if g.r.IntN(2) == 0 {
		kind, end, to = "tt.scan", ", reverse = "+g.pick("true", "false"), from
	}
	a, b, s := g.name(), g.name(), g.name()
	more, last := "", s
	if g.r.IntN(3) == 0 { // not an operation that is known
		last = g.name()
		more = fmt.Sprintf("%s = arith.%s %s, %s : %s\n", last, op, s, a, e)
	}
	g.add(to, "\"%s\"(%s) <{axis = 0 : i32%s}> ({\n^bb0(%s: %s, %s: %s):\n%s = arith.%s %s, %s : %s\n%s%s.return %s : %s\n}) : (%s) -> %s", kind, g.value(from), end, a, e, b, e, s, op, a, b, e, more, kind, last, e, from, to)
}

// inside writes operations of a region; what they make is not used outside.
func (g *maker) inside(n int, more map[string]string) {
	outer := map[string][]string{}
	for t, list := range g.values {
		outer[t] = list[:len(list):len(list)]
	}
	for name, t := range more {
		g.values[t] = append(g.values[t], name)
	}
	g.depth++
	for range n {
		g.op()
	}
	g.depth--
	for t := range g.values {
		g.values[t] = outer[t]
	}
}

// loop carries a pointer tensor that moves, and other values.
func (g *maker) loop() {
	if g.depth > 1 {
		return
	}
	shape := g.pick("8x", "4x8x", "16x")
	p, v := tensor(shape, "!tt.ptr<"+g.pick("f32", "i32")+">"), tensor(g.shape(), g.pick("f32", "i32"))
	i := tensor(shape, "i32")
	k := tensor(shape, "i32")
	first, start, at := g.value(p), g.value(v), g.value(k)
	low, high, by := g.add("i32", "arith.constant 0 : i32"), g.add("i32", "arith.constant %d : i32", g.r.IntN(4)), g.add("i32", "arith.constant 1 : i32")
	r, j, a, b, d := g.name(), g.name(), g.name(), g.name(), g.name()
	fmt.Fprintf(&g.b, "%s:3 = scf.for %s = %s to %s step %s iter_args(%s = %s, %s = %s, %s = %s) -> (%s, %s, %s) : i32 {\n", r, j, low, high, by, a, first, b, start, d, at, p, v, k)
	before := g.b.Len()
	g.inside(2+g.r.IntN(6), map[string]string{j: "i32", a: p, b: v, d: k})
	_ = before
	step := g.name()
	if g.r.IntN(2) == 0 {
		fmt.Fprintf(&g.b, "%s = arith.constant dense<%d> : %s\n", step, g.r.IntN(9), i)
	} else {
		fmt.Fprintf(&g.b, "%s = tt.splat %s : i32 -> %s\n", step, j, i)
	}
	q, sum := g.name(), g.name()
	fmt.Fprintf(&g.b, "%s = tt.addptr %s, %s : %s, %s\n%s = arith.addi %s, %s : %s\nscf.yield %s, %s, %s : %s, %s, %s\n}\n", q, a, step, p, i, sum, d, step, k, q, b, sum, p, v, k)
	for n, t := range []string{p, v, k} {
		g.values[t] = append(g.values[t], fmt.Sprintf("%s#%d", r, n))
	}
}

func (g *maker) branch() {
	if g.depth > 1 {
		return
	}
	t := tensor(g.shape(), g.pick("f32", "i32", "!tt.ptr<f32>"))
	c, n := g.value("i1"), g.name()
	fmt.Fprintf(&g.b, "%s = scf.if %s -> (%s) {\n", n, c, t)
	for side := range 2 {
		// What is yielded is made in front of the region or in it: the last value of the type.
		outer := map[string][]string{}
		for t, list := range g.values {
			outer[t] = list[:len(list):len(list)]
		}
		g.depth++
		for range 1 + g.r.IntN(4) {
			g.op()
		}
		v := g.value(t)
		g.depth--
		g.values = outer
		fmt.Fprintf(&g.b, "scf.yield %s : %s\n}", v, t)
		if side == 0 {
			g.b.WriteString(" else {\n")
		}
	}
	g.b.WriteString("\n")
	g.values[t] = append(g.values[t], n)
}

// randomKernel is a kernel of so many operations.
func randomKernel(seed uint64, n int) string {
	g := &maker{r: rand.New(rand.NewPCG(seed, 77)), values: map[string][]string{"i32": {"%n"}}}
	g.b.WriteString("%pid = tt.get_program_id x : i32\n")
	g.values["i32"] = append(g.values["i32"], "%pid")
	for range n {
		g.op()
	}
	for range 3 {
		g.store()
	}
	return body("%p0: !tt.ptr<f32>, %p1: !tt.ptr<i32>, %p2: !tt.ptr<f16>, %p3: !tt.ptr<i8>, %n: i32", g.b.String())
}

// outcome runs a kernel, and returns its buffers, its findings, and its error.
func outcome(p *Program, o Options) (raw []byte, found string, err error) {
	var all []*Buffer
	var list []Argument
	for i, of := range pointees {
		data := make([]byte, 2048)
		for k := range data {
			data[k] = byte(k * 7 % 251)
		}
		b := &Buffer{Name: of, Data: data}
		all, list = append(all, b), append(list, Pointer(b, int64(i%2)*64))
	}
	o.MaxSteps = 1 << 18
	r, err := p.Launch("", [3]int32{2, 1, 1}, append(list, Int(5)), o)
	for _, b := range all {
		raw = append(raw, b.Data...)
	}
	if r != nil {
		for _, f := range r.Findings {
			found += fmt.Sprintln(f)
		}
	}
	return raw, found, err
}

// checkRandom: a random kernel ends in values or in a finding, which are the same whether or not addresses and masks are lines, in each launch,
// in the generic form of what is printed, and with all checks. These find the same with lines and without; how often a race is found
// depends on how many neighbours in memory an access reaches at once.
func checkRandom(t *testing.T, seed uint64, n int) (ran, found bool) {
	text := randomKernel(seed, n)
	m := ttir.Parse(text)
	p, err := Load(m)
	if err != nil {
		t.Fatalf("the text of seed %d is not valid: %v\n%s", seed, err, text)
	}
	defer func() { withoutLines, withoutKnown = false, false }()
	want, _, first := outcome(p, Options{})
	var f *Finding
	if first != nil && (!errors.As(first, &f) || f.Kind == check.NotSupported) {
		t.Fatalf("seed %d, %d operations: %v\n%s", seed, n, first, text)
	}
	checked := Options{Checks: check.All, KeepGoing: true}
	var findings string
	for turn, how := range []func() *Program{
		func() *Program { return p }, func() *Program { withoutLines = true; return program(t, text) }, func() *Program { withoutKnown = true; return program(t, m.Print(true)) },
	} {
		way := how()
		got, _, err := outcome(way, Options{})
		if fmt.Sprint(err) != fmt.Sprint(first) && turn < 2 || (err == nil) != (first == nil) {
			t.Fatalf("seed %d, %d operations, way %d: %v, and otherwise %v\n%s", seed, n, turn, err, first, text)
		}
		if err == nil && !bytes.Equal(got, want) {
			t.Fatalf("seed %d, %d operations: the buffers differ in way %d\n%s", seed, n, turn, text)
		}
		switch _, found, _ := outcome(way, checked); {
		case turn == 0:
			findings = found
		case found != findings && turn < 2: // of the generic form lines are others
			t.Fatalf("seed %d, %d operations: the findings in way %d are\n%s\nand otherwise\n%s\n%s", seed, n, turn, found, findings, text)
		}
	}
	for _, o := range []Options{checked, {Checks: check.All &^ check.Overflow, KeepGoing: true}, {Checks: check.All, KeepGoing: true, Order: Cooperative}} {
		if got, _, err := outcome(p, o); err != nil && !errors.As(err, &f) || first == nil && (err != nil || !bytes.Equal(got, want) && o.Order == Serial) {
			t.Fatalf("seed %d, %d operations, with checks in the order %d: %v, and without %v\n%s", seed, n, o.Order, err, first, text)
		}
	}
	withoutLines, withoutKnown = false, false
	for _, o := range []Options{{Touched: true}, {Observer: &recorder{before: map[*ttir.Op]int{}}}} {
		if got, _, err := outcome(p, o); (err == nil) != (first == nil) || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("seed %d, %d operations, %+v: %v, and otherwise %v; or the buffers differ\n%s", seed, n, o, err, first, text)
		}
	}
	return first == nil, findings != ""
}

// TestRandomKernels does so for some time.
func TestRandomKernels(t *testing.T) {
	end := 2 * time.Second
	if testing.Short() {
		end = time.Second / 2
	}
	ran, found, all := 0, 0, 0
	for begin := time.Now(); time.Since(begin) < end; all++ {
		whole, some := checkRandom(t, uint64(all), 4+all%30)
		if whole {
			ran++
		}
		if some {
			found++
		}
	}
	if ran < all/8 || found < all/8 {
		t.Errorf("%d of %d kernels ran to their ends, and checks found something in %d", ran, all, found)
	}
	t.Logf("%d of %d ran to their ends, and checks found something in %d", ran, all, found)
}

// FuzzRandom does so for as long as it is asked to.
func FuzzRandom(f *testing.F) {
	f.Add(uint64(1), uint8(10))
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) { checkRandom(t, seed, int(n)) })
}
