package ttir

import (
	"slices"
	"strings"
)

// format is how an operation is written. Its parts, separated by spaces:
//
//	a           an operand              ,a?     a comma and an operand, which may be left out    scale=a? the word scale and an operand, likewise
//	a..         a list of operands      [a..]   the same in brackets                             a@, :a@  a list with its types, or nothing
//	'p          a keyword p, 'p? that may be left out     "p  a string p      @p  a symbol p      p!  the word p, if there is the attribute
//	,k=p?       a comma, k, = and a keyword p, which may be left out; k=p? without the comma
//	attrs       the attributes that are left             flags  overflow<…>, fastmath<…>
//	<a>         the type of a           ,<a>    a comma and the type of a, if a is there         !<a>     the type without its dialect: <f32>
//	<>          the types of the results                  !<>    without its dialect             fn       the types of operands and results
//
// Anything else is a mark or a word as it is.
type format struct {
	parts   []part
	results rule
	names   []string // of the operands, in order
	lists   []bool   // which of them are lists; these come last
}

type part struct {
	kind     partKind
	name     string // of the operand or the attribute
	word     string // before it
	comma    bool   // before the word
	optional bool
}

type partKind uint8

const (
	markPart partKind = iota
	operandPart
	listPart    // without brackets
	bracketPart // in brackets
	typedPart   // a list with its types, or nothing
	keywordPart
	stringPart
	symbolPart
	unitPart
	attributesPart
	flagsPart
	typePart
	shortPart // a type without its dialect
	functionPart
)

// rule is where an operation's results have their types from, if its text does not say.
type rule uint8

const (
	written  rule = iota // in the text
	asFirst              // that of the first operand
	pointed              // what the first operand points to
	compared             // i1, in the shape of the first operand
)

// formats of operations, by name.
var formats = allFormats()

// formatOf reads the text of a format.
func formatOf(text string, results rule) *format {
	f := &format{results: results}
	for _, s := range strings.Fields(text) {
		p := partOf(s)
		list := p.kind == listPart || p.kind == bracketPart || p.kind == typedPart
		if list || p.kind == operandPart {
			f.names = append(f.names, p.name)
			f.lists = append(f.lists, list || p.optional && slices.Contains(f.lists, true))
		}
		f.parts = append(f.parts, p)
	}
	return f
}

// order gives the operands another order than they are written in.
func (f *format) order(names ...string) {
	lists := make([]bool, len(names))
	for i, n := range names {
		lists[i] = f.lists[f.place(n)]
	}
	f.names, f.lists = names, lists
}

// place is the place of an operand by its name.
func (f *format) place(name string) int { return slices.Index(f.names, name) }

func partOf(s string) (p part) {
	if len(s) > 1 {
		p.comma = s[0] == ','
		s = strings.TrimPrefix(s, ",")
	}
	s, p.optional = strings.CutSuffix(s, "?")
	if word, name, ok := strings.Cut(s, "="); ok && word != "" {
		p.word, s = word, name
		if p.kind, p.name = keywordPart, s; s == "" || s[0] != '\'' {
			p.kind = operandPart
		}
		p.name = strings.TrimPrefix(s, "'")
		return p
	}
	switch {
	case s == "attrs":
		p.kind = attributesPart
	case s == "flags":
		p.kind = flagsPart
	case s == "fn":
		p.kind = functionPart
	case strings.HasPrefix(s, "<"):
		p.kind, p.name = typePart, strings.Trim(s, "<>")
	case strings.HasPrefix(s, "!<"):
		p.kind, p.name = shortPart, strings.Trim(s, "!<>")
	case strings.HasPrefix(s, "'"):
		p.kind, p.name = keywordPart, s[1:]
	case strings.HasPrefix(s, `"`):
		p.kind, p.name = stringPart, s[1:]
	case strings.HasPrefix(s, "@"):
		p.kind, p.name = symbolPart, s[1:]
	case strings.HasSuffix(s, "!"):
		p.kind, p.name = unitPart, strings.TrimSuffix(s, "!")
	case strings.HasSuffix(s, "@"):
		p.kind, p.name = typedPart, strings.Trim(s, ":@")
		if s[0] == ':' {
			p.word = ":"
		}
	case strings.HasPrefix(s, "[") && s != "[":
		p.kind, p.name = bracketPart, strings.Trim(s, "[].")
	case strings.HasSuffix(s, ".."):
		p.kind, p.name = listPart, strings.Trim(s, ".")
	case s == "to" || s == "lhs" || s == "rhs" || s == "propagateNan" || s == "meta" || strings.Trim(s, ":->*()[],=") == "":
		p.word = s
	default:
		p.kind, p.name = operandPart, s
	}
	return p
}

func allFormats() map[string]*format {
	formats := map[string]*format{}
	define := func(text string, results rule, names ...string) *format {
		f := formatOf(text, results)
		for _, n := range names {
			formats[n] = f
		}
		return f
	}
	all := func(dialect, names string) []string {
		list := strings.Fields(names)
		for i := range list {
			list[i] = dialect + "." + list[i]
		}
		return list
	}
	// arith, math
	define("a , b flags attrs : <>", written, all("arith", "addi subi muli divsi divui remsi remui andi ori xori shli shrsi shrui maxsi minsi maxui minui ceildivsi ceildivui floordivsi "+
		"addf subf mulf divf remf maxnumf minnumf maximumf minimumf")...)
	define("a flags attrs : <>", written, append(all("math", "exp exp2 expm1 log log2 log10 log1p cos sin tan cosh sinh tanh acos asin atan acosh asinh atanh sqrt rsqrt cbrt erf erfc floor ceil absf absi trunc round roundeven ctlz cttz ctpop "+
		"isfinite isinf isnan isnormal"), "arith.negf")...)
	define("a , b flags attrs : <>", written, all("math", "powf ipowi copysign atan2")...)
	define("a , b flags attrs : <> , <b>", written, "math.fpowi")
	define("a , b , c flags attrs : <>", written, "math.fma", "math.clampf")
	define("a flags attrs : <a> to <>", written, all("arith", "extsi extui trunci extf sitofp uitofp fptosi fptoui bitcast index_cast index_castui")...)
	define("a 'roundingmode? flags attrs : <a> to <>", written, "arith.truncf")
	define("'predicate , a , b flags attrs : <a>", compared, "arith.cmpi", "arith.cmpf")
	define("a , b attrs : <>", written, "arith.addui_extended")
	define("a , b attrs : <a>", asFirst, "arith.mulsi_extended", "arith.mului_extended")
	// tt
	define("a attrs : <a> -> <>", written, all("tt", "int_to_ptr ptr_to_int bitcast splat unsplat expand_dims broadcast trans split")...)
	define("a , b attrs : <a> -> <>", written, "tt.cat", "tt.join")
	define("a allow_reorder! efficient_layout! attrs : <a> -> <>", written, "tt.reshape")
	define("a attrs ,rounding='rounding? : <a> -> <>", written, "tt.fp_to_fp")
	define("a , b , c , propagateNan = 'propagateNan attrs : <>", written, "tt.clampf")
	define("a attrs : <>", written, "tt.precise_sqrt")
	define("a , b attrs : <>", written, "tt.precise_divf", "tt.approx_divf", "tt.mulhiui")
	define("a , b attrs : <> , <b>", written, "tt.addptr")
	define("a ,mask? ,other? cacheModifier='cache? evictionPolicy='evict? attrs : <a>", pointed, "tt.load")
	define("a , b ,mask? cacheModifier='cache? evictionPolicy='evict? attrs : <a>", written, "tt.store")
	define("'atomic_rmw_op , 'sem , 'scope , a , b ,mask? attrs : fn", written, "tt.atomic_rmw")
	define("'sem , 'scope , a , b , c attrs : fn", written, "tt.atomic_cas")
	define("'sem , 'scope , a ,mask? attrs : fn", written, "tt.atomic_load")
	define("'sem , 'scope , a , b ,mask? attrs : <a>", written, "tt.atomic_store")
	define("'sem , 'scope , a , b timeout=t? attrs : <a> , <b> -> <>", written, "tt.atomic_poll")
	define("'axis? attrs : <>", written, "tt.get_program_id", "tt.get_num_programs")
	define("attrs : <>", written, "tt.make_range", "ub.poison")
	define("a , b , c ,inputPrecision='inputPrecision? attrs : <a> * <b> -> <>", written, "tt.dot")
	define("a scale=as? , b scale=bs? , c lhs = 'a_elem_type rhs = 'b_elem_type attrs : <a> ,<as> * <b> ,<bs> -> <>", written, "tt.dot_scaled").order("a", "b", "c", "as", "bs")
	define("a.. attrs : fn", written, "tt.extern_elementwise")
	define("\"asm_string attrs a@ -> <>", written, "tt.elementwise_inline_asm")
	define("a , b , c , m attrs : <a> , meta <m> * <b> -> <>", written, "tt.sparse_dot", "triton_gpu.sparse_dot", "ttg.sparse_dot")
	define("a ,mask? attrs : <a> -> <>", written, "tt.histogram")
	define("a [ b ] attrs : fn", written, "tt.gather")
	define("\"prefix attrs :a@", written, "tt.print")
	define("a , \"message attrs : <a>", written, "tt.assert")
	define("a attrs : <a>", written, "llvm.intr.assume")
	define("p , [a..] , [b..] , [c..] attrs : !<>", written, "tt.make_tensor_ptr")
	define("p , [a..] attrs : !<>", written, "tt.advance")
	define("p , [a..] , [b..] ,descPtr=d? attrs : !<p> , !<>", written, "tt.make_tensor_descriptor")
	define("d [a..] cacheModifier='cache? evictionPolicy='evict? attrs : <d> -> <>", written, "tt.descriptor_load", "tt.experimental_descriptor_load")
	define("d [a..] , b attrs : <d> , <b>", written, "tt.descriptor_store", "tt.experimental_descriptor_store").order("d", "b", "a")
	define("'kind , d [a..] , b attrs : <d> , <b>", written, "tt.descriptor_reduce").order("d", "b", "a")
	define("a [ b , c ] attrs : fn", written, "tt.descriptor_gather")
	define("a [ b , c ] , d attrs : <a> , <b> , <c> , <d>", written, "tt.descriptor_scatter")
	define("@callee ( a.. ) attrs : fn", written, "tt.call")
	define("attrs a@", written, "tt.return", "scf.yield", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return")
	define("( c ) attrs a@", written, "scf.condition")
	define("attrs", written, "gpu.barrier", "tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents")
	return formats
}

// enums are the words of enumerated attributes, by operation and name or by name alone; "" is a number without a word.
var enums = map[string][]string{
	"cache":          {"", "none", "ca", "cg", "wb", "cs", "wt", "cv"},
	"evict":          {"", "normal", "evict_first", "evict_last"},
	"padding":        {"", "zero", "nan"},
	"atomic_rmw_op":  {"", "and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "exch"},
	"sem":            {"", "relaxed", "acquire", "release", "acq_rel"},
	"scope":          {"", "gpu", "cta", "sys"},
	"rounding":       {"rtz", "rtne", "rs"},
	"inputPrecision": {"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"},
	"a_elem_type":    {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "bf16", "fp16"},
	"b_elem_type":    {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "bf16", "fp16"},
	"kind":           {"", "add", "min", "max", "inc", "dec", "and", "or", "xor"},
	"axis":           {"x", "y", "z"},
	"roundingmode":   {"to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away"},

	"arith.cmpi predicate": {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"},
	"arith.cmpf predicate": {"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"},
}

// usual are the values that Triton does not write.
var usual = map[string]string{"cache": "none", "evict": "normal", "inputPrecision": "ieee"}

// keywordOf is the word of an attribute's number; "" if it has none.
func keywordOf(op, name string, n int64) string {
	if name == "propagateNan" { // a mask: all bits are all NaN
		if n == 0 {
			return "none"
		}
		return "all"
	}
	words := enums[op+" "+name]
	if words == nil {
		words = enums[name]
	}
	if n < 0 || n >= int64(len(words)) {
		return ""
	}
	return words[n]
}
