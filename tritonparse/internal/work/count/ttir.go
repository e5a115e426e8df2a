// Package count reads Triton's first representation of a kernel, to count its work: how often loops run, and what is loaded, stored
// and multiplied in them. Package tritonparse uses it to count what a launch moves and computes.
package count

import (
	"regexp"
	"strconv"
	"strings"
)

// Module is the functions of one text.
type Module struct {
	functions map[string]*function
	kernel    *function
	masked    bool // a load or store has a mask
}

// Parameter is a parameter of the compiled kernel: a constant argument has none, and a tensor descriptor several.
type Parameter struct {
	Name    string // in the text, without %
	Label   string // its name in the source; "" if the text does not say
	Integer bool
}

type function struct {
	parameters []Parameter
	body       *block
}

// block is a region. Only operations that do work, or decide how often others run, are kept.
type block struct {
	arguments []string
	ops       []*operation
	ends      []string // the values that it yields
}

// operation is one line of the text.
type operation struct {
	line     int
	name     string
	results  []string
	operands []string
	word     string // behind the name: the predicate of a comparison, the axis of a program id, the called function
	number   int64  // of a constant
	constant bool
	cost     Work   // of one execution
	unsized  string // the type of what is moved, if its size is not known
	regions  []*block
	loop     bounds // of scf.for
	arms     bool   // scf.if
	idle     bool   // it computes a tensor: that work is not counted, and no loop bound depends on it
}

type bounds struct {
	from, to, step string
	names          []string // in the body: of the counter, and of the values that go from turn to turn
}

// Work is what is done: bytes of global memory, and operations on floating-point numbers.
type Work struct {
	Loaded, Stored int64
	Dots           int64 // by tt.dot: a multiplication and an addition are two
	Flops          int64 // by all else
}

var (
	resultNames = regexp.MustCompile(`^(%[\w.$-]+(?::\d+)?(?:, %[\w.$-]+(?::\d+)?)*) = `)
	valueName   = regexp.MustCompile(`%[\w.$-]+(?:#\d+)?`)
	forLoop     = regexp.MustCompile(`scf\.for (?:unsigned )?(%[\w.$-]+) = (%[\w.$#-]+) to (%[\w.$#-]+) step (%[\w.$#-]+)`)
	iterArg     = regexp.MustCompile(`(%[\w.$-]+) = (%[\w.$#-]+)`)
	funcHead    = regexp.MustCompile(`tt\.func\b.*?@("[^"]*"|[\w.$-]+)\(`)
	funcArg     = regexp.MustCompile(`(%[\w.$-]+): (!?[\w.<>!*-]+)`)
	labelled    = regexp.MustCompile(`^[^%]*?loc\((?:"([^"]*)"\(|(#[\w.$-]+)\))`)
	nameOfLoc   = regexp.MustCompile(`^(#[\w.$-]+) = loc\("([^"]*)"\(`)
	blockArg    = regexp.MustCompile(`(%[\w.$-]+): `)
	opName      = regexp.MustCompile(`^"?([a-z_]\w*\.[\w.]+)"?`)
)

// maxDepth bounds how deep regions may be nested.
const maxDepth = 256

// Parse reads a text of TTIR. It never fails: what it cannot read does no work.
func Parse(text string) *Module {
	p := &parser{module: &Module{functions: map[string]*function{}}, labels: map[string]string{}}
	lines := strings.Split(text, "\n")
	for _, l := range lines {
		if m := nameOfLoc.FindStringSubmatch(l); m != nil {
			p.labels[m[1]] = m[2]
		}
	}
	for i, l := range lines {
		p.line(i+1, strings.TrimSpace(l))
	}
	return p.module
}

type parser struct {
	module *Module
	labels map[string]string // name of a location → what it names
	stack  []*frame
}

// frame is a region that is open.
type frame struct {
	op    *operation // nil for the module
	block *block
}

func (p *parser) line(n int, l string) {
	switch {
	case l == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, "//"):
		return
	case strings.HasPrefix(l, "}"):
		p.close(l)
		return
	case strings.HasPrefix(l, "^"):
		if len(p.stack) > 0 {
			b := p.stack[len(p.stack)-1].block
			b.arguments = nil
			for _, m := range blockArg.FindAllStringSubmatch(l, -1) {
				b.arguments = append(b.arguments, m[1])
			}
		}
		return
	}
	if m := funcHead.FindStringSubmatchIndex(l); m != nil {
		p.function(l, m)
		return
	}
	code := withoutLoc(l)
	opens := strings.HasSuffix(code, "{")
	op := readOperation(n, code)
	if len(p.stack) > 0 && op.name != "" && !op.idle {
		b := p.stack[len(p.stack)-1].block
		b.ops = append(b.ops, op)
		if isEnd(op.name) {
			b.ends = op.operands
		}
	}
	p.module.masked = p.module.masked || op.name == "tt.load" && len(op.operands) > 1 || op.name == "tt.store" && len(op.operands) > 2
	if opens {
		p.open(op)
	}
}

// isEnd says whether an operation ends a region with values.
func isEnd(name string) bool {
	return name == "scf.yield" || name == "tt.return" || name == "scf.condition"
}

func (p *parser) open(op *operation) {
	b := &block{}
	if op.name == "scf.for" {
		b.arguments = op.loop.names
	}
	op.regions = append(op.regions, b)
	if len(p.stack) < maxDepth {
		p.stack = append(p.stack, &frame{op, b})
		return
	}
	p.stack = append(p.stack, &frame{op, &block{}}) // too deep to mean anything
}

func (p *parser) close(l string) {
	if len(p.stack) == 0 {
		return
	}
	top := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	code := withoutLoc(l)
	if strings.HasSuffix(code, "{") && top.op != nil { // } else {, } do {
		p.open(top.op)
		return
	}
	// A reduction's types stand behind its region.
	if types, ok := strings.CutPrefix(code, "}) : "); ok && top.op != nil && isFold(top.op.name) {
		top.op.cost.Flops = foldWork(top.op, types)
	}
}

func (p *parser) function(l string, m []int) {
	f := &function{body: &block{}}
	name := strings.Trim(l[m[2]:m[3]], `"`)
	rest := l[m[1]:]
	arguments := funcArg.FindAllStringSubmatchIndex(rest, -1)
	for i, a := range arguments {
		end := len(rest)
		if i+1 < len(arguments) {
			end = arguments[i+1][0]
		}
		kind := rest[a[4]:a[5]]
		q := Parameter{Name: rest[a[2]+1 : a[3]], Integer: kind == "i1" || kind == "i8" || kind == "i16" || kind == "i32" || kind == "i64"}
		if at := labelled.FindStringSubmatch(rest[a[5]:end]); at != nil {
			if q.Label = at[1]; at[2] != "" {
				q.Label = p.labels[at[2]]
			}
		}
		f.parameters = append(f.parameters, q)
		f.body.arguments = append(f.body.arguments, rest[a[2]:a[3]])
	}
	p.module.functions[name] = f
	if strings.Contains(l[:m[2]], "public") || p.module.kernel == nil {
		p.module.kernel = f
	}
	if strings.HasSuffix(withoutLoc(l), "{") {
		p.stack = append(p.stack, &frame{nil, f.body})
	}
}

func (m *Module) Parameters() []Parameter {
	if m.kernel == nil {
		return nil
	}
	return m.kernel.parameters
}

// withoutLoc cuts the location that ends a line.
func withoutLoc(l string) string {
	if !strings.HasSuffix(l, ")") {
		return strings.TrimSpace(l)
	}
	if i := strings.LastIndex(l, " loc("); i >= 0 {
		l = l[:i]
	}
	return strings.TrimSpace(l)
}

func readOperation(n int, code string) *operation {
	op := &operation{line: n}
	if m := resultNames.FindStringSubmatch(code); m != nil {
		for _, r := range strings.Split(m[1], ", ") {
			name, count, several := strings.Cut(r, ":")
			if k, err := strconv.Atoi(count); several && err == nil && k <= 1<<10 {
				for i := range k {
					op.results = append(op.results, name+"#"+strconv.Itoa(i))
				}
				continue
			}
			op.results = append(op.results, name)
		}
		code = code[len(m[0]):]
	}
	m := opName.FindStringSubmatch(code)
	if m == nil {
		return op
	}
	op.name = m[1]
	code = strings.TrimSpace(code[len(m[0]):])
	operands, types := code, ""
	if i := strings.LastIndex(code, " : "); i >= 0 {
		operands, types = code[:i], code[i+3:]
	} else if strings.HasPrefix(code, ": ") {
		operands, types = "", code[2:]
	}
	op.word, _, _ = strings.Cut(strings.TrimSuffix(operands, ","), " ")
	op.word = strings.TrimSuffix(op.word, ",")
	switch op.name {
	case "scf.for":
		op.readFor("scf.for " + code)
		return op
	case "arith.constant":
		op.readConstant(op.word)
		return op
	case "scf.if":
		op.arms = true
	case "tt.call":
		callee, _, _ := strings.Cut(operands, "(")
		op.word = strings.Trim(strings.TrimPrefix(callee, "@"), `"`)
	}
	op.operands = valueName.FindAllString(operands, -1)
	op.measure(operands, types)
	op.idle = op.cost == (Work{}) && op.unsized == "" && !strings.HasSuffix(code, "{") && strings.HasPrefix(resultType(types), "tensor<") && !isEnd(op.name)
	return op
}

func (op *operation) readFor(code string) {
	m := forLoop.FindStringSubmatch(code)
	if m == nil {
		return
	}
	op.loop = bounds{m[2], m[3], m[4], []string{m[1]}}
	if _, args, ok := strings.Cut(code, "iter_args("); ok {
		args, _, _ = strings.Cut(args, ")")
		for _, a := range iterArg.FindAllStringSubmatch(args, -1) {
			op.loop.names = append(op.loop.names, a[1])
			op.operands = append(op.operands, a[2])
		}
	}
}

func (op *operation) readConstant(word string) {
	switch word {
	case "true":
		op.number, op.constant = 1, true
	case "false":
		op.number, op.constant = 0, true
	default:
		n, err := strconv.ParseInt(word, 10, 64)
		op.number, op.constant = n, err == nil
	}
}
