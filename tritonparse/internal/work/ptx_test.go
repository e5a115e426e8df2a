package work

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
)

// counted is what the threads of a grid execute: an account of a compiled kernel that does not use its TTIR.
type counted struct {
	flops        float64 // of matrix instructions; a multiplication and an addition are two
	scalar       float64 // the same of fma.rn.f32, which stands for a matrix instruction where there is none
	loaded       int64   // bytes of global memory; an address that several threads load with one instruction counts once
	stored       int64
	matrixShapes map[string]int // how often a warp or a warpgroup executes each
}

// ptxKernel is a compiled kernel. Threads are executed one after another: whole numbers are computed, everything else (what is
// loaded, floating-point numbers, shuffles) is unknown. Loops and addresses depend on nothing unknown: an address or a
// branch that does is an error, unless the branch skips nothing that is counted.
type ptxKernel struct {
	code       []ptxInstruction
	labels     map[string]int
	parameters []string
	threads    int
	registers  map[string]int
}

type ptxInstruction struct {
	line     string
	op       string   // mul
	kinds    []string // lo, s32
	guard    int      // register of the predicate, -1 without one
	unless   bool     // @!%p
	to       []int
	from     []ptxOperand
	target   string // of a branch, or the parameter's name
	matrix   float64
	matrixBy string
}

type ptxOperand struct {
	register int // -1: number
	number   int64
	special  string // tid.x
}

// ptxValue is the content of a register.
type ptxValue struct {
	n     int64
	known bool
}

var (
	ptxParameter = regexp.MustCompile(`\.param \S+ .*?(\w+_param_\d+)`)
	ptxThreads   = regexp.MustCompile(`\.reqntid (\d+)`)
	ptxShape     = regexp.MustCompile(`\.m(\d+)n(\d+)k(\d+)\.`)
	ptxToken     = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*`)
	ptxWord      = regexp.MustCompile(`-?%?[\w.$]+`)
)

func readPTX(text string) (*ptxKernel, error) {
	k := &ptxKernel{labels: map[string]int{}, registers: map[string]int{}}
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		if m := ptxParameter.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "ld.") {
			k.parameters = append(k.parameters, m[1])
			continue
		}
		if m := ptxThreads.FindStringSubmatch(line); m != nil {
			k.threads, _ = strconv.Atoi(m[1])
			continue
		}
		if label, ok := strings.CutSuffix(line, ":"); ok {
			k.labels[label] = len(k.code)
			continue
		}
		for _, text := range strings.Split(line, ";") {
			if text = strings.TrimSpace(text); text == "" || strings.HasPrefix(text, ".") || !strings.ContainsAny(text[:1], "@abcdefghijklmnopqrstuvwxyz") {
				continue
			}
			i, err := k.instruction(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
			k.code = append(k.code, i)
		}
	}
	if k.threads == 0 || len(k.code) == 0 {
		return nil, fmt.Errorf("%d threads, %d instructions", k.threads, len(k.code))
	}
	return k, nil
}

func (k *ptxKernel) register(name string) int {
	at, ok := k.registers[name]
	if !ok {
		at = len(k.registers)
		k.registers[name] = at
	}
	return at
}

func (k *ptxKernel) instruction(text string) (i ptxInstruction, err error) {
	i.line, i.guard = text, -1
	if guard, rest, ok := strings.Cut(text, " "); ok && strings.HasPrefix(guard, "@") {
		guard, i.unless = strings.CutPrefix(guard[1:], "!")
		i.guard, text = k.register(guard), strings.TrimSpace(rest)
	}
	name, rest, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
	parts := strings.Split(name, ".")
	i.op, i.kinds = parts[0], parts[1:]
	operands := ptxToken.FindAllString(rest, -1)
	if m := ptxShape.FindStringSubmatch(name); m != nil && (i.op == "mma" || i.op == "wgmma") {
		i.matrix, i.matrixBy = 2, i.op+" "+strings.Trim(m[0], ".")
		for _, size := range m[1:] {
			n, _ := strconv.Atoi(size)
			i.matrix *= float64(n)
		}
		i.matrix /= map[string]float64{"mma": 32, "wgmma": 128}[i.op] // threads that execute it together
	}
	switch {
	case i.op == "bra":
		i.target = operands[0]
		return i, nil
	case i.op == "ld" && i.kinds[0] == "param":
		i.to, i.target = []int{k.register(operands[0])}, strings.Trim(operands[1], "[] ")
		return i, nil
	case i.op == "st" || i.op == "cp" || i.op == "bar" || i.op == "ret" || i.op == "fence":
	case len(operands) > 0:
		for _, part := range strings.Split(operands[0], "|") {
			for _, word := range ptxWord.FindAllString(part, -1) {
				i.to = append(i.to, k.register(word))
			}
		}
		operands = operands[1:]
	}
	for _, o := range operands {
		words := ptxWord.FindAllString(o, -1)
		for _, word := range words {
			v, err := k.operand(word)
			if err != nil {
				return i, err
			}
			i.from = append(i.from, v)
		}
		if strings.HasPrefix(o, "[") && len(words) == 1 {
			i.from = append(i.from, ptxOperand{register: -1})
		}
	}
	return i, nil
}

func (k *ptxKernel) operand(word string) (ptxOperand, error) {
	switch {
	case strings.HasPrefix(word, "%tid."), strings.HasPrefix(word, "%ctaid."), strings.HasPrefix(word, "%nctaid."), strings.HasPrefix(word, "%ntid."):
		return ptxOperand{register: -1, special: word[1:]}, nil
	case strings.HasPrefix(word, "%"):
		return ptxOperand{register: k.register(word)}, nil
	case word == "global_smem":
		return ptxOperand{register: -1}, nil
	case strings.HasPrefix(word, "0f") || strings.HasPrefix(word, "0d"):
		return ptxOperand{register: -1, special: "float"}, nil
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(word, "U"), 0, 64)
	if err != nil {
		return ptxOperand{}, err
	}
	return ptxOperand{register: -1, number: n}, nil
}

// ptxGrid executes all threads of a grid.
type ptxGrid struct {
	kernel  *ptxKernel
	values  map[string]int64 // of parameters
	grid    [3]int64
	block   [3]int64
	thread  int64
	r       []ptxValue
	touched map[[2]int][]ptxAccess // by instruction and how often the thread had executed it
	times   []int
	count   counted
}

type ptxAccess struct {
	at, bytes int64
	stores    bool
}

const maxPTXSteps = 1 << 20 // of one thread

// run executes a grid whose parameters have these values, in order; what is left out is 0.
func (k *ptxKernel) run(grid [3]int64, values ...int64) (counted, error) {
	g := &ptxGrid{kernel: k, values: map[string]int64{}, grid: grid, count: counted{matrixShapes: map[string]int{}}}
	for i, name := range k.parameters {
		if i < len(values) {
			g.values[name] = values[i]
		} else {
			g.values[name] = 0
		}
	}
	for n := range grid[0] * grid[1] * grid[2] {
		g.block = [3]int64{n % grid[0], n / grid[0] % grid[1], n / grid[0] / grid[1]}
		g.touched = map[[2]int][]ptxAccess{}
		for g.thread = range int64(k.threads) {
			if err := g.execute(); err != nil {
				return counted{}, fmt.Errorf("block %v, thread %d: %w", g.block, g.thread, err)
			}
		}
		for _, list := range g.touched {
			slices.SortFunc(list, func(a, b ptxAccess) int { return cmp.Compare(a.at, b.at) })
			for _, a := range slices.Compact(list) {
				if a.stores {
					g.count.stored += a.bytes
				} else {
					g.count.loaded += a.bytes
				}
			}
		}
	}
	return g.count, nil
}

func (g *ptxGrid) execute() error {
	g.r = make([]ptxValue, len(g.kernel.registers))
	g.times = make([]int, len(g.kernel.code))
	steps := 0
	for at := 0; at < len(g.kernel.code); {
		i := &g.kernel.code[at]
		if steps++; steps > maxPTXSteps {
			return fmt.Errorf("more than %d instructions", maxPTXSteps)
		}
		taken := true
		if i.guard >= 0 {
			p := g.r[i.guard]
			if !p.known && !g.kernel.countsNothingUntil(at) {
				return fmt.Errorf("%s: its predicate is not known", i.line)
			}
			taken = p.known && (p.n != 0) != i.unless
		}
		switch {
		case i.op == "ret" && taken:
			return nil
		case i.op == "bra" && taken:
			to, ok := g.kernel.labels[i.target]
			if !ok {
				return fmt.Errorf("%s: no such label", i.line)
			}
			at = to
			continue
		}
		if err := g.step(at, i, taken); err != nil {
			return fmt.Errorf("%s: %w", i.line, err)
		}
		at++
	}
	return nil
}

// countsNothingUntil says whether a branch skips nothing that is counted, as the special cases of a logarithm.
func (k *ptxKernel) countsNothingUntil(at int) bool {
	to, ok := k.labels[k.code[at].target]
	return ok && to > at && !slices.ContainsFunc(k.code[at+1:to], func(i ptxInstruction) bool {
		return i.matrix > 0 || i.op == "bra" || slices.Contains(i.kinds, "global")
	})
}

// step executes what is not a branch.
func (g *ptxGrid) step(at int, i *ptxInstruction, taken bool) error {
	if access, err := g.access(i, taken); err != nil {
		return err
	} else if access.bytes > 0 {
		key := [2]int{at, g.times[at]}
		g.touched[key] = append(g.touched[key], access)
	}
	g.times[at]++
	if !taken {
		return nil
	}
	if i.matrix > 0 {
		g.count.flops += i.matrix
		if g.thread == 0 {
			g.count.matrixShapes[i.matrixBy]++
		}
	}
	if i.op == "fma" && i.kinds[len(i.kinds)-1] == "f32" {
		g.count.scalar += 2
	}
	var result ptxValue
	if i.op == "ld" && i.kinds[0] == "param" {
		v, ok := g.values[i.target]
		if !ok {
			return fmt.Errorf("no parameter %s", i.target)
		}
		result = ptxValue{v, true}
	} else if len(i.to) == 1 && i.op != "ld" {
		result = g.compute(i)
	}
	for _, r := range i.to {
		g.r[r] = result
	}
	return nil
}

// access is what a thread moves between global memory and the multiprocessor.
func (g *ptxGrid) access(i *ptxInstruction, taken bool) (a ptxAccess, err error) {
	global := slices.Contains(i.kinds, "global")
	copies := i.op == "cp" && global // cp.async [shared], [global], bytes, bytes that are not filled with zeros
	if !global || i.op != "ld" && i.op != "st" && !copies || !taken {
		return a, nil
	}
	address := i.from[:2]
	if copies {
		address = i.from[2:4]
		bytes := g.value(i.from[len(i.from)-1])
		if !bytes.known {
			return a, fmt.Errorf("how many bytes it copies is not known")
		}
		a.bytes = bytes.n
	} else {
		kind := i.kinds[len(i.kinds)-1]
		bits, _ := strconv.Atoi(strings.TrimLeft(kind, "bfsu"))
		a.bytes, a.stores = int64(bits/8), i.op == "st"
		for _, k := range i.kinds {
			if k == "v2" || k == "v4" {
				a.bytes *= int64(k[1] - '0')
			}
		}
	}
	base, offset := g.value(address[0]), g.value(address[1])
	if !base.known || !offset.known {
		return a, fmt.Errorf("its address is not known")
	}
	a.at = base.n + offset.n
	return a, nil
}

func (g *ptxGrid) value(o ptxOperand) ptxValue {
	switch {
	case o.register >= 0:
		return g.r[o.register]
	case o.special == "float":
		return ptxValue{}
	case o.special != "":
		name, axis, _ := strings.Cut(o.special, ".")
		n := axisOf(axis)
		switch name {
		case "tid":
			return ptxValue{[3]int64{g.thread, 0, 0}[n], true}
		case "ntid":
			return ptxValue{[3]int64{int64(g.kernel.threads), 1, 1}[n], true}
		case "ctaid":
			return ptxValue{g.block[n], true}
		}
		return ptxValue{g.grid[n], true}
	}
	return ptxValue{o.number, true}
}

// compute is the result of an operation on whole numbers; unknown for all others.
func (g *ptxGrid) compute(i *ptxInstruction) ptxValue {
	v := make([]int64, 0, 4)
	kind := ""
	if len(i.kinds) > 0 {
		kind = i.kinds[len(i.kinds)-1]
	}
	for _, o := range i.from {
		x := g.value(o)
		if !x.known {
			return ptxValue{}
		}
		v = append(v, x.n)
	}
	if strings.HasPrefix(kind, "f") || slices.ContainsFunc(i.kinds, func(k string) bool { return strings.HasPrefix(k, "f16") || k == "f32" || k == "f64" || k == "tf32" }) {
		return ptxValue{}
	}
	wide := i.op == "mul" && i.kinds[0] == "wide" || i.op == "mad" && i.kinds[0] == "wide"
	for n := range v { // as the type of the operands has it
		if !(wide && n == 2) && i.op != "selp" && i.op != "bfe" && !(i.op == "setp" && n > 1) {
			v[n] = narrow(v[n], kind)
		}
	}
	n, ok := ptxCompute(i, kind, v)
	if !ok {
		return ptxValue{}
	}
	if i.op == "cvt" {
		kind = i.kinds[0]
	}
	if !wide && i.op != "setp" {
		n = narrow(n, kind)
	}
	return ptxValue{n, true}
}

// narrow is a number as a register of a type has it: with its sign, or, of a type without one, without it.
func narrow(n int64, kind string) int64 {
	switch kind {
	case "s16":
		return int64(int16(n))
	case "u16":
		return int64(uint16(n))
	case "b16":
		return int64(int16(n))
	case "s32", "b32":
		return int64(int32(n))
	case "u32":
		return int64(uint32(n))
	case "pred":
		return n & 1
	}
	return n
}

func ptxCompute(i *ptxInstruction, kind string, v []int64) (int64, bool) {
	unsigned := strings.HasPrefix(kind, "u")
	switch i.op {
	case "mov", "cvt", "cvta":
		return v[0], len(v) == 1
	case "add":
		return v[0] + v[1], true
	case "sub":
		return v[0] - v[1], true
	case "mul":
		return v[0] * v[1], i.kinds[0] != "hi"
	case "mad":
		return v[0]*v[1] + v[2], i.kinds[0] != "hi"
	case "neg":
		return -v[0], true
	case "not":
		return ^v[0], true
	case "and":
		return v[0] & v[1], true
	case "or":
		return v[0] | v[1], true
	case "xor":
		return v[0] ^ v[1], true
	case "shl":
		return v[0] << uint(v[1]), v[1] >= 0
	case "shr":
		return v[0] >> uint(v[1]), v[1] >= 0
	case "min":
		return min(v[0], v[1]), true
	case "max":
		return max(v[0], v[1]), true
	case "div", "rem":
		if v[1] == 0 {
			return 0, false
		}
		if i.op == "rem" {
			return v[0] % v[1], true
		}
		return v[0] / v[1], true
	case "bfe": // bits from v[1] on, v[2] of them
		n := v[0] << uint(64-v[1]-v[2])
		if unsigned {
			return int64(uint64(n) >> uint(64-v[2])), true
		}
		return n >> uint(64-v[2]), true
	case "selp":
		if v[2] != 0 {
			return v[0], true
		}
		return v[1], true
	case "setp":
		if len(v) != 2 {
			return 0, false
		}
		return ptxCompare(i.kinds[0], v[0], v[1])
	}
	return 0, false
}

func ptxCompare(how string, a, b int64) (int64, bool) {
	is, ok := map[string]bool{"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[how]
	return figures.OneIf[int64](is), ok
}
