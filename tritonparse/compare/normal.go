package compare

import (
	"hash/maphash"
	"regexp"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/tritonparse/backend"
)

// line is a line of a representation, ready to be compared: names, numbers and locations without a meaning are removed.
type line struct {
	own   int      // in the text, from 1
	text  string   // as it is shown
	key   string   // equal for lines that may stand for each other: a placeholder replaces names of values
	names []string // of the values in the line, in order; nil if names mean nothing (registers of machine code)
	defs  int      // how many of the first names the line defines
	op    string   // the operation, for counts; "" for braces and labels
}

func (l *line) hash() uint64 { return maphash.String(hashSeed, l.key) }

var hashSeed = maphash.MakeSeed()

// language is how lines of one representation are read.
type language struct {
	code   func(line string) string // removes what has no meaning, before clean; nil for none
	clean  []rewrite                // parts that are removed or replaced by one placeholder, in this order
	skip   *regexp.Regexp           // lines that are not code: debug information, comments, definitions of metadata
	until  *regexp.Regexp           // from here on nothing is code
	value  *regexp.Regexp           // names of values
	named  bool                     // a value has one name throughout, so that a renamed value can be distinguished from another operand
	define *regexp.Regexp           // the beginning of a line that names values
	op     *regexp.Regexp           // group 1 is what a line does
}

type rewrite struct {
	from *regexp.Regexp
	to   string
}

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }

var mlirText = &language{
	code:  mlir.Code,
	skip:  re(`^\s*(#loc|//|$)`),
	value: re(`%[\w$.-]+(?:#\d+)?|\^bb\d+`), named: true,
	define: re(`^\s*%[^=]*=`),
	op:     re(`^\s*(?:%[^=]*= )?"?([a-z_]\w*\.[\w.]+|return|module|call)\b`),
}

var llvm = &language{
	clean:  []rewrite{{re(`, ![a-z.]+ ![0-9]+`), ""}, {re(`![0-9]+`), "!"}, {re(`\s*;.*$`), ""}, {re(`#[0-9]+`), "#"}, {re(`^[0-9]+:`), ":"}},
	skip:   re(`^\s*(![\w.]+ =|;|source_filename|target |attributes |declare |#dbg_|$)`),
	value:  re(`%[\w$.-]+|%"[^"]*"`),
	named:  true,
	define: re(`^\s*%[^=]*=`),
	op:     re(`^\s*(?:%[^=]*= )?(?:tail |musttail |notail )?([a-z]\w*)`),
}

var ptx = &language{
	clean:  []rewrite{{re(`\s*//.*$`), ""}, {re(`\$L__?\w+`), "$$L"}, {re(`<\d+>`), "<>"}},
	skip:   re(`^\s*(\.loc|\.file|//|\.reg|\.version|\.target|\.address_size|\$L__tmp\d+:|\$L__func_\w+:|$)`),
	until:  re(`^\s*\.section\s+\.debug`),
	value:  re(`%(?:r|rd|p|f|fd|rs|rb|b|h|rl|rq)\d+\b`),
	named:  true,
	define: re(`^\s*(?:@!?%p\d+ )?(?:ld|mov|add|sub|mul|mad|fma|cvt|setp|selp|and|or|xor|not|shl|shr|shf|bfe|bfi|min|max|neg|abs|div|rem|ex2|lg2|rcp|sqrt|rsqrt|sin|cos|tanh|prmt|shfl|cvta|dp4a|popc|clz|lop3|mma|wgmma|ldmatrix|activemask|vote|atom|elect|mapa)\b`),
	op:     re(`^\s*(?:@!?%p\d+ )?([a-z]\w*(?:\.[a-z]\w*)?)`),
}

var amdgcn = &language{
	clean: []rewrite{{re(`\s*;.*$`), ""}, {re(`\.L\w+`), ".L"}, {re(`\b(s|v|a)\[\d+:\d+\]`), "$1[]"}},
	skip:  re(`^\s*([;.]|\S+:(\s|$)|$)`), // labels are names of functions, too: kernels.helper__fp32:
	value: re(`\b[sva]\d+\b`),
	op:    re(`^\s*([a-z]\w+)`),
}

var sass = &language{
	clean: []rewrite{{re(`/\*[0-9a-f]+\*/`), ""}, {re(`\.L_x_\d+`), ".L"}, {re(`\b0x[0-9a-f]{4,}\b`), "0x"}},
	skip:  re(`^\s*(//|\.|Function:|$)`),
	value: re(`\b(?:UR|UP|R|P|B|SB)\d+\b`),
	op:    re(`^\s*(?:@!?U?P[T\d]+ )?([A-Z]\w*(?:\.[A-Z]\w*)?)`),
}

// languages by the parser of a stage, see backend.Stage.
var languages = map[string]*language{"mlir": mlirText, "llvm_dbg": llvm, "ptx": ptx, "amdgcn": amdgcn, "sass": sass}

// languageOf is the language of a stage, nil for those that are not compared, such as json.
func languageOf(stage string) *language {
	for _, s := range backend.MappedStages() {
		if s.Name == stage {
			return languages[s.Parser]
		}
	}
	return nil
}

// read takes a text apart into lines that are code. The kernel's own name, which is also in those of its parameters, does
// not count.
func (g *language) read(text, kernel string) []line {
	name := kernelName(kernel)
	var lines []line
	for i, l := range strings.Split(text, "\n") {
		if g.until != nil && len(lines) > 0 && g.until.MatchString(l) {
			break
		}
		if g.skip.MatchString(l) {
			continue
		}
		if g.code != nil {
			l = l[:len(l)-len(strings.TrimLeft(l, " \t"))] + g.code(l) // its indentation is shown
		}
		for _, r := range g.clean {
			l = r.from.ReplaceAllString(l, r.to)
		}
		l = strings.TrimRight(l, " \t\r")
		trimmed := strings.TrimSpace(l)
		if trimmed == "" || trimmed == ";" {
			continue
		}
		n := g.line(i+1, l, trimmed)
		n.key = name.ReplaceAllString(n.key, "@$1$2")
		lines = append(lines, n)
	}
	return lines
}

// kernelName finds the name where only a function's can be: a kernel may be called add.
func kernelName(kernel string) *regexp.Regexp {
	k := regexp.QuoteMeta(kernel)
	return re(`@` + k + `\b|@"` + k + `"|\b` + k + `(_param_\d+)|(\.(?:entry|globl|amdhsa_kernel)\s+)` + k + `\b`)
}

func (g *language) line(own int, l, trimmed string) line {
	n := line{own: own, text: l, key: strings.Join(strings.Fields(g.value.ReplaceAllString(trimmed, "%")), " ")}
	if m := g.op.FindStringSubmatch(l); m != nil {
		n.op = m[1]
	}
	if !g.named {
		return n
	}
	n.names = g.value.FindAllString(trimmed, -1)
	if g.define == nil {
		return n
	}
	if head := g.define.FindString(trimmed); strings.Contains(head, "=") {
		n.defs = len(g.value.FindAllString(head, -1))
	} else if head != "" && len(n.names) > 0 {
		n.defs = g.destinations(trimmed)
	}
	return n
}

// destinations of an assembly instruction come first: one, or those in braces. A predicate before it is none, and is
// counted among the names, so that only its place distinguishes it.
func (g *language) destinations(trimmed string) int {
	if strings.HasPrefix(trimmed, "@") {
		return 0
	}
	_, operands, _ := strings.Cut(trimmed, " ")
	operands = strings.TrimSpace(operands)
	if inside, ok := strings.CutPrefix(operands, "{"); ok {
		inside, _, _ = strings.Cut(inside, "}")
		return len(g.value.FindAllString(inside, -1))
	}
	first, _, _ := strings.Cut(operands, ",")
	return len(g.value.FindAllString(first, -1))
}

// renaming is which value of one side stands for which of the other.
type renaming struct{ there, back map[string]string }

func newRenaming() *renaming { return &renaming{map[string]string{}, map[string]string{}} }

// match says whether two lines with the same key have the same operands, and binds what they define.
func (r *renaming) match(a, b *line) bool {
	if len(a.names) != len(b.names) {
		return len(a.names) == 0 || len(b.names) == 0
	}
	ok := true
	for i := a.defs; i < len(a.names); i++ {
		x, y := a.names[i], b.names[i]
		was, known := r.there[x]
		other, taken := r.back[y]
		switch {
		case !known && !taken:
			r.bind(x, y)
		case was != y || other != x:
			ok = false
		}
	}
	for i := range min(a.defs, b.defs) {
		r.bind(a.names[i], b.names[i])
	}
	return ok
}

func (r *renaming) bind(x, y string) {
	delete(r.back, r.there[x])
	delete(r.there, r.back[y])
	r.there[x], r.back[y] = y, x
}
