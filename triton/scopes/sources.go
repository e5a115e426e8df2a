package scopes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
)

// passing are the operations whose result points to what their first operand points to.
var passing = setOf(`tt.addptr tt.splat tt.broadcast tt.expand_dims tt.reshape tt.bitcast tt.trans tt.unsplat tt.make_tensor_descriptor tt.make_tensor_ptr
	tt.advance ttg.convert_layout ttg.memdesc_index ttg.memdesc_subslice ttg.memdesc_trans ttg.memdesc_reinterpret ttg.memdesc_reshape
	ttng.reinterpret_tensor_descriptor ttng.tmem_subslice amdg.update_tensor_descriptor`)

// maxSteps bounds the values between an operand and an argument; more are not followed.
const maxSteps = 100

// base is what a value points to.
type base struct {
	name string // of the argument or variable, "" if it has none
	key  any    // distinguishes variables of the same name
}

// same is the base of a value that a loop carries, while it is being found.
var same = &base{}

// origin is where a value comes from: an argument of the kernel, an operation, or a value outside of the region.
type origin struct {
	argument string
	within   *values      // in which the references of the origin are to be read
	op       *mlir.Op     // the operation whose result it is
	given    string       // for the argument of a region, what it has at first
	again    *mlir.Region // for what a loop carries, the region at whose end is what it has then
	position int          // of that among the operands of the region's last operation
}

// values are what the operations of a region can name: its own values, and those of the regions around it.
type values struct {
	outer   *values
	made    map[string]*origin
	carried []*origin // arguments of a loop
}

func (v *values) find(name string) *origin {
	for ; v != nil; v = v.outer {
		if o := v.made[name]; o != nil {
			return o
		}
	}
	return nil
}

// sources are the origins of all values of a kernel: what its operations read and write, by the names that its source gives them.
type sources struct {
	file    *mlir.File
	regions map[*mlir.Region]*values
	order   []*mlir.Region // those of regions, outer ones first
}

func sourcesOf(file *mlir.File, kernel *mlir.Op) *sources {
	s := &sources{file: file, regions: map[*mlir.Region]*values{}}
	s.enter(&values{}, kernel)
	return s
}

func (s *sources) enter(outer *values, op *mlir.Op) {
	for r := range op.Regions {
		region := &op.Regions[r]
		v := &values{outer: outer, made: map[string]*origin{}}
		s.regions[region], s.order = v, append(s.order, region)
		s.arguments(op, r, outer, v)
		for inner := range inRegion(region) {
			for _, result := range references(inner.Results) {
				v.made[result.name] = &origin{within: v, op: inner}
			}
		}
		for inner := range inRegion(region) {
			if uniform[inner.Name] {
				s.enter(v, inner)
			}
		}
	}
}

// arguments notes where the arguments of a region come from.
func (s *sources) arguments(op *mlir.Op, r int, outer, v *values) {
	region := &op.Regions[r]
	switch {
	case op.Name == "tt.func":
		for _, argument := range arguments(op.Head) {
			v.made[argument] = &origin{within: v, argument: argument}
		}
	case op.Name == "scf.for" || op.Name == "scf.while" && r == 0:
		from := "iter_args("
		if op.Name == "scf.while" {
			from = "("
		}
		_, list, _ := strings.Cut(op.Head, from)
		list, _, _ = strings.Cut(list, ")")
		for position, part := range strings.Split(list, ", ") {
			argument, initial, found := strings.Cut(strings.TrimPrefix(part, "%"), " = ")
			if !found {
				break
			}
			o := &origin{within: outer, given: initial, again: &op.Regions[len(op.Regions)-1], position: position}
			v.made[argument], v.carried = o, append(v.carried, o)
		}
	case op.Name == "scf.while":
		passed := lastOperands(&op.Regions[0])
		for i, argument := range labelled(region) {
			if i+1 < len(passed) { // after the condition
				v.made[argument] = &origin{within: s.regions[&op.Regions[0]], given: passed[i+1].text}
			}
		}
	case op.Name == "ttg.warp_specialize" && r > 0:
		captured := references(op.Head)
		for i, argument := range arguments(region.Head) {
			if i < len(captured) {
				v.made[argument] = &origin{within: outer, given: captured[i].text}
			}
		}
	}
}

// labelled are the arguments of a region's first block.
func labelled(region *mlir.Region) []string {
	if len(region.Blocks) == 0 {
		return nil
	}
	return arguments(region.Blocks[0].Arguments)
}

// lastOperands are the operands of a region's last operation.
func lastOperands(region *mlir.Region) []reference {
	if len(region.Blocks) == 0 {
		return nil
	}
	ops := region.Blocks[len(region.Blocks)-1].Ops
	if len(ops) == 0 {
		return nil
	}
	return references(ops[len(ops)-1].Head)
}

// base is what a value points to, in a region; nil if it is not known, or could be one of several.
func (s *sources) base(region *mlir.Region, value string) *base {
	if found := s.follow(s.regions[region], value, nil, 0); found != same {
		return found
	}
	return nil
}

// follow is like base. open are the values of loops whose base is being found: theirs is same.
func (s *sources) follow(within *values, value string, open []*origin, steps int) *base {
	for ; steps < maxSteps; steps++ {
		name, number := split(value)
		o := within.find(name)
		switch {
		case o == nil:
			return nil
		case o.argument != "":
			return &base{o.argument, o.argument}
		case o.again != nil:
			return s.carried(o, open, steps+1)
		case o.given != "":
			within, value = o.within, o.given
			continue
		}
		op := o.op
		operands := references(op.Head)
		switch {
		case op.Name == "ttg.local_alloc" || op.Name == "ttng.tmem_alloc":
			return &base{s.file.Variable(op.Location), op}
		case passing[op.Name] && len(operands) > 0:
			within, value = o.within, operands[0].text
		case (op.Name == "scf.for" || op.Name == "scf.if" || op.Name == "scf.while") && len(op.Regions) > 0:
			return s.result(op, number, open, steps+1)
		default:
			return nil
		}
	}
	return nil
}

// carried is the base of what a loop carries, if each iteration passes the same one on.
func (s *sources) carried(o *origin, open []*origin, steps int) *base {
	if slices.Contains(open, o) {
		return same
	}
	first := s.follow(o.within, o.given, open, steps)
	again := s.end(o.again, o.position, append(slices.Clip(open), o), steps)
	if again == same || first != nil && first != same && again != nil && first.key == again.key {
		return first
	}
	return nil
}

// result is the base of a result of a loop or a condition, if all its regions end with the same one.
func (s *sources) result(op *mlir.Op, number int, open []*origin, steps int) (found *base) {
	switch op.Name {
	case "scf.while":
		return s.end(&op.Regions[0], number+1, open, steps) // after the condition
	case "scf.for":
		if carried := s.regions[&op.Regions[0]].carried; number < len(carried) {
			return s.carried(carried[number], open, steps)
		}
		return nil
	}
	for r := range op.Regions {
		end := s.end(&op.Regions[r], number, open, steps)
		if end == nil || end == same || found != nil && end.key != found.key {
			return nil
		}
		if found == nil {
			found = end
		}
	}
	return found
}

// end is the base of an operand of a region's last operation.
func (s *sources) end(region *mlir.Region, position int, open []*origin, steps int) *base {
	passed := lastOperands(region)
	if position >= len(passed) {
		return nil
	}
	return s.follow(s.regions[region], passed[position].text, open, steps)
}

// reference is a value in a text.
type reference struct {
	text    string // %name or %name#1
	name    string // without % and #1
	indexed bool   // a bracket follows
	defined bool   // a colon follows: it is an argument with its type
}

// references are all values in a text, outside of strings.
func references(text string) (list []reference) {
	l := mlir.NewLexer(text)
	for t := l.Next(); t.Kind != mlir.TokenEnd; t = l.Next() {
		if name, _, _ := strings.Cut(t.Text, "#"); t.Kind == mlir.TokenValue && len(name) > 1 {
			list = append(list, reference{t.Text, name[1:], strings.HasPrefix(l.Rest(), "["), strings.HasPrefix(l.Rest(), ":")})
		}
	}
	return list
}

// arguments are the names of the values in a text that have their types behind them.
func arguments(text string) (names []string) {
	for _, r := range references(text) {
		if r.defined {
			names = append(names, r.name)
		}
	}
	return names
}

// split takes %name#1 apart.
func split(value string) (name string, number int) {
	name, digits, _ := strings.Cut(strings.TrimPrefix(value, "%"), "#")
	number, _ = strconv.Atoi(digits)
	return name, number
}
