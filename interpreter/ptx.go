package interpreter

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// assembly is the PTX of one operation: it computes with registers, of which the first are those of its constraints.
type assembly struct {
	names     map[string]int // registers by name
	widths    []int          // bits of each register; 1 of a predicate
	run       []func(r []uint64)
	constants map[int]uint64 // registers that hold numbers of the text
}

// badAssembly is an instruction that is not supported.
type badAssembly struct{ text string }

func badPTX(format string, a ...any) *badAssembly { return &badAssembly{fmt.Sprintf(format, a...)} }

// readPTX reads instructions. widths are the sizes of the registers $0, $1 ….
func readPTX(m *machine, text string, widths []int) (a *assembly, err error) {
	a = &assembly{names: map[string]int{}, constants: map[int]uint64{}}
	for i, w := range widths {
		a.names["$"+strconv.Itoa(i)] = i
		a.widths = append(a.widths, w)
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *badAssembly:
			a, err = nil, errors.New(r.text)
		default:
			panic(r)
		}
	}()
	for _, line := range statements(text) {
		a.statement(m, line)
	}
	return a, nil
}

// statements cuts a text at semicolons, without comments and the braces of blocks.
func statements(text string) (list []string) {
	var b strings.Builder
	end := func() {
		if s := strings.Join(strings.Fields(b.String()), " "); s != "" {
			list = append(list, s)
		}
		b.Reset()
	}
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			i += n - 1
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest, "*/")
			if n < 0 {
				n = len(rest) - 2
			}
			i += n + 1
		case text[i] == ';':
			end()
		case text[i] == '{' && strings.TrimSpace(b.String()) == "":
			// a block
		case text[i] == '{':
			n := strings.IndexByte(rest, '}')
			if n < 0 {
				n = len(rest) - 1
			}
			b.WriteString(rest[:n+1])
			i += n
		case text[i] == '}':
			end()
		default:
			b.WriteByte(text[i])
		}
	}
	end()
	return list
}

func (a *assembly) register(name string, width int) int {
	a.names[name] = len(a.widths)
	a.widths = append(a.widths, width)
	return len(a.widths) - 1
}

func (a *assembly) declare(text string) {
	kind, names, _ := strings.Cut(text, " ")
	t := ptxTypeOf(strings.TrimPrefix(kind, "."))
	for _, name := range strings.Split(names, ",") {
		name = strings.TrimSpace(name)
		if base, count, ok := strings.Cut(name, "<"); ok {
			n, err := strconv.Atoi(strings.Trim(count, "> "))
			if err != nil || n < 0 || n > 1<<12 {
				panic(badPTX("the registers %s cannot be read", name))
			}
			for i := range n {
				a.register(base+strconv.Itoa(i), t.bits)
			}
			continue
		}
		a.register(name, t.bits)
	}
}

// ptxType is a type of PTX: u, s, b (bits), f (f16, f32, f64), bf, pred, or one of 8 bits and fewer, with how many of them are in a register.
type ptxType struct {
	kind        string
	bits, lanes int // of the register
}

func ptxTypeOf(s string) ptxType {
	switch s {
	case "pred":
		return ptxType{s, 1, 1}
	case "tf32":
		return ptxType{s, 32, 1}
	case "f16x2", "bf16x2":
		return ptxType{strings.TrimSuffix(s, "16x2"), 32, 2}
	case "e4m3x2", "e5m2x2", "ue8m0x2", "e2m3x2", "e3m2x2":
		return ptxType{strings.TrimSuffix(s, "x2"), 16, 2}
	case "e2m1x2":
		return ptxType{"e2m1", 8, 2}
	}
	for _, kind := range []string{"bf", "u", "s", "b", "f"} {
		if n, err := strconv.Atoi(strings.TrimPrefix(s, kind)); err == nil && strings.HasPrefix(s, kind) && (n == 8 || n == 16 || n == 32 || n == 64 || n == 128) {
			return ptxType{kind, n, 1}
		}
	}
	panic(badPTX("the type .%s of its assembly is not supported", s))
}

func isPTXType(s string) (ok bool) {
	defer func() { ok = recover() == nil }()
	ptxTypeOf(s)
	return true
}

// modifiers are the parts of names of instructions that have a meaning here, or none.
var modifiers = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields("approx full ftz noftz rn rz rm rp rna rni rzi rmi rpi sat satfinite relu lo hi wide NaN xorsign abs and or xor clamp wrap l r " +
		"eq ne lt le gt ge equ neu ltu leu gtu geu num nan ls hs finite infinite number notanumber") {
		m[s] = true
	}
	return m
}()

// instruction is an instruction with its modifiers, types and operands.
type instruction struct {
	a        *assembly
	text     string
	name     string
	has      map[string]bool
	types    []ptxType
	operands []string
}

func (a *assembly) statement(m *machine, text string) {
	if strings.HasPrefix(text, ".reg ") {
		a.declare(strings.TrimPrefix(text, ".reg "))
		return
	}
	guard, negated := -1, false
	if strings.HasPrefix(text, "@") {
		p, rest, _ := strings.Cut(text[1:], " ")
		if negated = strings.HasPrefix(p, "!"); negated {
			p = p[1:]
		}
		guard, text = a.named(p), rest
	}
	code, rest, _ := strings.Cut(text, " ")
	parts := strings.Split(code, ".")
	i := &instruction{a: a, text: text, name: parts[0], has: map[string]bool{}, operands: operandsOf(rest)}
	for _, p := range parts[1:] {
		switch {
		case isPTXType(p):
			i.types = append(i.types, ptxTypeOf(p))
		case modifiers[p] || without[i.name]:
			i.has[p] = true
		default:
			panic(badPTX("the modifier .%s in %q of its assembly is not supported", p, text))
		}
	}
	run := i.compile(m)
	switch {
	case run == nil:
	case guard < 0:
		a.run = append(a.run, run)
	default:
		a.run = append(a.run, func(r []uint64) {
			if r[guard] != 0 != negated {
				run(r)
			}
		})
	}
}

// operandsOf cuts operands at commas that are in no braces.
func operandsOf(text string) (list []string) {
	from, depth := 0, 0
	for i, c := range text {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth == 0:
			list = append(list, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	if s := strings.TrimSpace(text[from:]); s != "" {
		list = append(list, s)
	}
	return list
}

func (a *assembly) named(name string) int {
	if n, ok := a.names[strings.TrimSpace(name)]; ok {
		return n
	}
	panic(badPTX("the register %s of its assembly is not declared", name))
}

func (i *instruction) fail() *badAssembly {
	return badPTX("the instruction %q of its assembly is not supported", i.text)
}

func (i *instruction) typ(n int) ptxType {
	if n < 0 || n >= len(i.types) {
		panic(i.fail())
	}
	return i.types[n]
}

// to is the register of a result.
func (i *instruction) to(n int) int {
	if n >= len(i.operands) {
		panic(i.fail())
	}
	if i.operands[n] == "_" {
		return i.a.register("_", 64)
	}
	return i.a.named(i.operands[n])
}

// source is a register, or one that holds the number that stands in its place.
func (i *instruction) source(n int, t ptxType) int {
	if n >= len(i.operands) {
		panic(i.fail())
	}
	return i.a.value(i.operands[n], t, i)
}

func (a *assembly) value(text string, t ptxType, i *instruction) int {
	if n, ok := a.names[text]; ok {
		return n
	}
	number := strings.TrimSuffix(text, "U")
	var v uint64
	switch {
	case strings.HasPrefix(number, "0f") || strings.HasPrefix(number, "0F"):
		u, err := strconv.ParseUint(number[2:], 16, 32)
		if err != nil {
			panic(i.fail())
		}
		v = u
		if t.kind == "f" && t.bits == 64 {
			v = math.Float64bits(float64(math.Float32frombits(uint32(u))))
		}
	case strings.HasPrefix(number, "0d") || strings.HasPrefix(number, "0D"):
		u, err := strconv.ParseUint(number[2:], 16, 64)
		if err != nil {
			panic(i.fail())
		}
		if v = u; t.kind == "f" && t.bits == 32 {
			v = uint64(math.Float32bits(float32(math.Float64frombits(u))))
		}
	default:
		if n, err := strconv.ParseInt(number, 0, 64); err == nil {
			v = uint64(n)
		} else if u, err := strconv.ParseUint(number, 0, 64); err == nil {
			v = u
		} else if f, err := strconv.ParseFloat(number, 64); err == nil && t.kind == "f" {
			if v = math.Float64bits(f); t.bits == 32 {
				v = uint64(math.Float32bits(float32(f)))
			}
		} else {
			panic(badPTX("the operand %q of its assembly is not known", text))
		}
	}
	n := a.register("", max(t.bits, 32))
	a.constants[n] = v
	return n
}

// masked is a value in so many bits.
func masked(v uint64, bits int) uint64 {
	if bits >= 64 {
		return v
	}
	return v & (1<<bits - 1)
}

func signedOf(v uint64, bits int) int64 {
	if bits >= 64 {
		return int64(v)
	}
	return int64(v<<(64-bits)) >> (64 - bits)
}

// result writes a value with the width of its register.
func (i *instruction) result(f func(r []uint64) uint64) func(r []uint64) {
	to := i.to(0)
	width := i.a.widths[to]
	return func(r []uint64) { r[to] = masked(f(r), width) }
}

// registers returns new registers, with the numbers of the text in theirs.
func (a *assembly) registers() []uint64 {
	r := make([]uint64, len(a.widths))
	for n, v := range a.constants {
		r[n] = v
	}
	return r
}
