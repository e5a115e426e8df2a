package parse

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/field"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// argumentValues are the values that one argument had in the launches of one configuration.
type argumentValues struct {
	values []*argumentValue // as often as they were seen, then in the order of first use
	byText map[string]*argumentValue
	tensor bool
}

type argumentValue struct {
	shown []byte
	count int
}

// text is equal for values that differ only in the order of members.
func (v *argumentValue) text() string { return string(jsontext.Form{}.Append(nil, v.shown)) }

func (v *argumentValues) add(shown []byte, tensor bool, count int) *argumentValue {
	u := v.byText[string(shown)]
	if u == nil {
		if v.byText == nil {
			v.byText = map[string]*argumentValue{}
		}
		u = &argumentValue{shown: bytes.Clone(shown)}
		v.byText[string(shown)] = u
		v.values = append(v.values, u)
		v.tensor = v.tensor || tensor
	}
	u.count += count
	return u
}

// merge joins values that differ only in the order of members, and sorts all.
func (v *argumentValues) merge(ordered bool) {
	if !ordered {
		texts := map[string]*argumentValue{}
		v.values = slices.DeleteFunc(v.values, func(u *argumentValue) bool {
			first := texts[u.text()]
			if first == nil {
				texts[u.text()] = u
				return false
			}
			first.count += u.count
			return true
		})
	}
	slices.SortStableFunc(v.values, func(a, b *argumentValue) int { return b.count - a.count })
}

func (v *argumentValues) appendJSON(out []byte) []byte {
	out = append(out, `{"unique_count":`...)
	out = strconv.AppendInt(out, int64(len(v.values)), 10)
	out = append(out, `,"values":[`...)
	for i, u := range v.values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, `{"value":`...), u.shown...)
		out = append(out, `,"count":`...)
		out = append(strconv.AppendInt(out, int64(u.count), 10), '}')
	}
	return append(out, "]}"...)
}

// configArguments are the arguments that one configuration was launched with.
type configArguments struct {
	hash       string
	names      []string
	byName     map[string]*argumentValues
	parameters []byte // nil if not known

	template *launchtext.Template // of the last launch
	shape    *shapeArguments      // of the template
	values   []*argumentValues    // of each argument of the shape
	base     []*argumentValue     // the template's; nil before the first use
}

// shapeArguments are the arguments of launches with the same members.
type shapeArguments struct {
	arguments []shapeArgument
	of        []int32 // the argument of each leaf, -1 for none
}

type shapeArgument struct {
	name   string
	leaves []int
	before [][]byte // what stands before each leaf, if all are members of the argument
	kind   int      // the leaf that says its type, -1 for none
}

func newShapeArguments(s *launchtext.Shape) *shapeArguments {
	a := &shapeArguments{of: make([]int32, len(s.Places))}
	at := map[string]int32{}
	for i, p := range s.Places {
		a.of[i] = -1
		if !p.IsArg {
			continue
		}
		n, ok := at[p.Argument]
		if !ok {
			n = int32(len(a.arguments))
			at[p.Argument] = n
			a.arguments = append(a.arguments, shapeArgument{name: p.Argument, kind: -1})
		}
		a.of[i] = n
		g := &a.arguments[n]
		g.leaves = append(g.leaves, i)
		if len(p.Path) == 1 && p.Path[0] == "type" {
			g.kind = i
		}
		if len(p.Path) == 1 && len(g.before) == len(g.leaves)-1 {
			g.before = append(g.before, append(jsontext.Form{}.AppendText([]byte{"{,"[min(len(g.before), 1)]}, p.Path[0]), ':'))
		}
	}
	return a
}

// append writes an argument of a launch.
func (g *shapeArgument) append(out []byte, l *launchtext.Launch) []byte {
	if len(g.before) == len(g.leaves) {
		for i, leaf := range g.leaves {
			out = append(append(out, g.before[i]...), l.At(leaf)...)
		}
		return append(out, '}')
	}
	o := &store.Object{}
	for _, leaf := range g.leaves {
		o.At(l.Shape.Places[leaf].Path...).Text = l.At(leaf)
	}
	return o.AppendJSON(out)
}

// configsArguments collects the arguments of distinct launches by their configurations.
type configsArguments struct {
	byHash  map[string]*configArguments
	configs []*configArguments
	order   names // of all arguments, in the order of first use
	shapes  map[*launchtext.Shape]*shapeArguments
	changed []bool
	text    []byte
}

func newConfigsArguments() *configsArguments {
	return &configsArguments{byHash: map[string]*configArguments{}, shapes: map[*launchtext.Shape]*shapeArguments{}}
}

func (a *configsArguments) add(l *launchtext.Launch) {
	if l.Hash == "" {
		return
	}
	c := a.byHash[l.Hash]
	if c == nil {
		c = &configArguments{hash: l.Hash, byName: map[string]*argumentValues{}}
		a.byHash[l.Hash] = c
		a.configs = append(a.configs, c)
	}
	if c.template != l.Template {
		a.begin(c, l)
	}
	a.changed = append(a.changed[:0], make([]bool, len(c.values))...)
	for i := range l.Changes {
		if n := c.shape.of[l.Changes[i].Leaf]; n >= 0 {
			a.changed[n] = true
		}
	}
	for i := range c.values {
		if !a.changed[i] && c.base[i] != nil {
			c.base[i].count++
			continue
		}
		g := &c.shape.arguments[i]
		a.text = g.append(a.text[:0], l)
		u := c.values[i].add(a.text, g.kind >= 0 && string(l.At(g.kind)) == `"tensor"`, 1)
		if !a.changed[i] {
			c.base[i] = u
		}
	}
}

// begin prepares for launches with another template.
func (a *configsArguments) begin(c *configArguments, l *launchtext.Launch) {
	shape := a.shapes[l.Shape]
	if shape == nil {
		shape = newShapeArguments(l.Shape)
		a.shapes[l.Shape] = shape
	}
	c.template, c.shape = l.Template, shape
	c.base = append(c.base[:0], make([]*argumentValue, len(shape.arguments))...)
	c.values = c.values[:0]
	for _, g := range shape.arguments {
		a.order.add(g.name)
		v := c.byName[g.name]
		if v == nil {
			v = &argumentValues{}
			c.byName[g.name] = v
			c.names = append(c.names, g.name)
		}
		c.values = append(c.values, v)
	}
}

// argumentsSummary says which values each argument, and each option of the compiler, had in which configurations.
func (p *parser) argumentsSummary(a *configsArguments, hashes []string, sames *store.Object) []byte {
	configs, order := a.configs, a.order.list
	for _, c := range configs {
		for _, v := range c.byName {
			v.merge(len(a.shapes) == 1)
		}
	}
	chosenFrom := map[string]bool{}
	for _, h := range hashes {
		chosenFrom[h] = true
	}
	for _, c := range configs {
		k := p.kernels[c.hash]
		switch {
		case len(hashes) == 0 && k != nil:
			if c.parameters = k.parameters; string(c.parameters) == "{}" {
				c.parameters = nil
			}
		case chosenFrom[c.hash]:
			c.parameters = k.parameters
		}
	}
	each := &store.Object{}
	for _, c := range configs {
		o := each.At(c.hash)
		for _, name := range c.names {
			o.At(name).Text = c.byName[name].appendJSON(nil)
		}
		if c.parameters != nil {
			o.At("compilation_config_params").Text = c.parameters
		}
	}
	same, varies := &store.Object{}, &store.Object{}
	compareParameters(configs, same, varies)
	compareArguments(configs, same, varies)
	unchanged := sames.Get("extracted_args")
	if unchanged == nil {
		unchanged = &store.Object{}
	}
	out := field.AppendMember(nil, "summary_version", []byte("1"))
	out = field.AppendMember(out, "unchanged_args", unchanged.AppendJSON(nil))
	out = field.AppendMember(out, "per_config_args", each.AppendJSON(nil))
	out = field.AppendMember(out, "arg_order", field.AppendTexts(nil, order))
	both := field.AppendMember(nil, "sames", same.AppendJSON(nil))
	both = append(field.AppendMember(both, "varies", varies.AppendJSON(nil)), '}')
	return append(field.AppendMember(out, "autotune_configs", both), '}')
}

// compareParameters separates the compiler's options that are the same in all configurations from the others.
func compareParameters(configs []*configArguments, same, varies *store.Object) {
	names := map[string]bool{}
	get := func(c *configArguments, name string) []byte {
		if v := jsontext.Get(c.parameters, name); v != nil {
			return v
		}
		return field.Null
	}
	for _, c := range configs {
		members, _ := jsontext.Members(c.parameters)
		for _, m := range members {
			names[m.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		baseline, equal := field.Null, true
		for _, c := range configs {
			v := get(c, name)
			if string(baseline) == "null" {
				baseline = v
			}
			equal = equal && string(v) == string(baseline)
		}
		if equal {
			same.At(name).Text = baseline
			continue
		}
		o := &store.Object{}
		for _, c := range configs {
			o.At(c.hash).Text = get(c, name)
		}
		varies.At(name).Text = o.AppendJSON(nil)
	}
}

// compareArguments does the same with arguments, except for tensors.
func compareArguments(configs []*configArguments, same, varies *store.Object) {
	names := map[string]bool{}
	for _, c := range configs {
		for _, name := range c.names {
			names[name] = name != "compilation_config_params"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		isTensor := func(c *configArguments) bool { v := c.byName[name]; return v != nil && v.tensor }
		if !names[name] || slices.ContainsFunc(configs, isTensor) {
			continue
		}
		var baseline *argumentValue
		equal := true
		o := &store.Object{}
		for _, c := range configs {
			v := c.byName[name]
			switch {
			case v == nil:
				o.At(c.hash).Text = field.Null
				equal = false
			case len(v.values) != 1:
				o.At(c.hash).Text = v.appendJSON(nil)
				equal = false
			default:
				o.At(c.hash).Text = v.values[0].shown
				if baseline == nil {
					baseline = v.values[0]
				}
				equal = equal && (v.values[0] == baseline || v.values[0].text() == baseline.text())
			}
		}
		if equal && baseline != nil {
			same.At(name).Text = baseline.shown
		} else {
			varies.At(name).Text = o.AppendJSON(nil)
		}
	}
}
