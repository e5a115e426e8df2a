package parse

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
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

func (v *argumentValues) find(shown []byte) *argumentValue {
	const few = 4
	if v.byText != nil {
		return v.byText[string(shown)]
	}
	for _, u := range v.values {
		if bytes.Equal(u.shown, shown) {
			return u
		}
	}
	if len(v.values) > few {
		v.byText = map[string]*argumentValue{}
		for _, u := range v.values {
			v.byText[string(u.shown)] = u
		}
	}
	return nil
}

// merge joins values that differ only in the order of members.
func (v *argumentValues) merge() {
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

func (v *argumentValues) appendJSON(out []byte) []byte {
	out = append(out, `{"unique_count":`...)
	out = strconv.AppendInt(out, int64(len(v.values)), 10)
	out = jsontext.AppendList(append(out, `,"values":`...), v.values, func(out []byte, u *argumentValue) []byte {
		out = append(append(append(out, `{"value":`...), u.shown...), `,"count":`...)
		return append(strconv.AppendInt(out, int64(u.count), 10), '}')
	})
	return append(out, '}')
}

// configArguments are the arguments that one configuration was launched with.
type configArguments struct {
	hash       string
	names      []int            // of the arguments that it has, in the order of first use
	values     []argumentValues // by name
	parameters []byte           // nil if not known

	template *launchtext.Template // of the last launch
	shape    *shapeArguments      // of the template
	at       []int                // the name of each argument of the shape
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

// configsArguments collects the arguments of a session's distinct launches by their configurations. Names of arguments are numbers.
type configsArguments struct {
	byHash  map[string]*configArguments
	configs []*configArguments
	order   []string // the names, in the order of first use
	mixed   bool     // not all launches have the same members
	last    *shapeArguments
	shapes  map[*launchtext.Shape]*shapeArguments
	changed []bool
	text    []byte
	values  []argumentValue // memory for more
}

// reset prepares for another session.
func (a *configsArguments) reset() {
	const most = 256
	if a.shapes == nil || len(a.shapes) > most {
		a.shapes = map[*launchtext.Shape]*shapeArguments{}
	}
	if a.byHash == nil {
		a.byHash = map[string]*configArguments{}
	}
	clear(a.byHash)
	*a = configsArguments{byHash: a.byHash, configs: a.configs[:0], shapes: a.shapes, changed: a.changed, text: a.text, values: a.values}
}

func (a *configsArguments) add(l *launchtext.Launch) {
	if l.Hash == "" {
		return
	}
	c := a.byHash[l.Hash]
	if c == nil {
		c = a.config(l.Hash)
	}
	if c.template != l.Template {
		a.begin(c, l)
	}
	a.changed = append(a.changed[:0], make([]bool, len(c.at))...)
	for i := range l.Changes {
		if n := c.shape.of[l.Changes[i].Leaf]; n >= 0 {
			a.changed[n] = true
		}
	}
	for i, name := range c.at {
		if !a.changed[i] && c.base[i] != nil {
			c.base[i].count++
			continue
		}
		g, v := &c.shape.arguments[i], &c.values[name]
		a.text = g.append(a.text[:0], l)
		u := v.find(a.text)
		if u == nil {
			u = a.value()
			v.values = append(v.values, u)
			if v.byText != nil {
				v.byText[string(u.shown)] = u
			}
			v.tensor = v.tensor || g.kind >= 0 && string(l.At(g.kind)) == `"tensor"`
		}
		u.count++
		if !a.changed[i] {
			c.base[i] = u
		}
	}
}

// config adds a configuration, in the memory of one of the session before.
func (a *configsArguments) config(hash string) *configArguments {
	var c *configArguments
	if n := len(a.configs); n < cap(a.configs) {
		c = a.configs[:n+1][n]
	}
	if c == nil {
		c = &configArguments{}
	}
	for i := range c.values {
		c.values[i] = argumentValues{values: c.values[i].values[:0]}
	}
	*c = configArguments{hash: hash, names: c.names[:0], values: c.values, at: c.at[:0], base: c.base[:0]}
	a.byHash[hash] = c
	a.configs = append(a.configs, c)
	return c
}

// value is a new value of the text.
func (a *configsArguments) value() *argumentValue {
	if len(a.values) == 0 {
		a.values = make([]argumentValue, 64)
	}
	u := &a.values[0]
	a.values = a.values[1:]
	u.shown = bytes.Clone(a.text)
	return u
}

// begin prepares for launches with another template.
func (a *configsArguments) begin(c *configArguments, l *launchtext.Launch) {
	shape := a.shapes[l.Shape]
	if shape == nil {
		shape = newShapeArguments(l.Shape)
		a.shapes[l.Shape] = shape
	}
	a.mixed = a.mixed || a.last != nil && a.last != shape
	a.last = shape
	c.template, c.shape = l.Template, shape
	c.base = append(c.base[:0], make([]*argumentValue, len(shape.arguments))...)
	c.at = c.at[:0]
	for i, g := range shape.arguments {
		name := i
		if i >= len(a.order) || a.order[i] != g.name {
			name = slices.Index(a.order, g.name)
		}
		if name < 0 {
			name = len(a.order)
			a.order = append(a.order, g.name)
		}
		if n := name + 1 - len(c.values); n > 0 {
			c.values = append(c.values, make([]argumentValues, n)...)
		}
		if len(c.values[name].values) == 0 && !slices.Contains(c.names, name) {
			c.names = append(c.names, name)
		}
		c.at = append(c.at, name)
	}
}

// has says whether a configuration has an argument.
func (c *configArguments) has(name int) bool {
	return name < len(c.values) && len(c.values[name].values) > 0
}

// appendSummary writes which values each argument, and each option of the compiler, had in which configurations.
func (a *configsArguments) appendSummary(out []byte, p *parser, hashes []string, sames *store.Object) []byte {
	for _, c := range a.configs {
		for i := range c.values {
			v := &c.values[i]
			if a.mixed {
				v.merge()
			}
			slices.SortStableFunc(v.values, func(a, b *argumentValue) int { return b.count - a.count })
		}
		k := p.kernels[c.hash]
		switch {
		case len(hashes) == 0 && k != nil:
			if c.parameters = k.parameters; string(c.parameters) == "{}" {
				c.parameters = nil
			}
		case slices.Contains(hashes, c.hash):
			c.parameters = k.parameters
		}
	}
	unchanged := sames.Get("extracted_args")
	if unchanged == nil {
		unchanged = &store.Object{}
	}
	out = unchanged.AppendJSON(append(out, `{"summary_version":1,"unchanged_args":`...))
	out = append(out, `,"per_config_args":`...)
	start := len(out)
	for _, c := range a.configs {
		out = ndjson.AppendName(out, start, c.hash)
		start := len(out)
		for _, name := range c.names {
			if a.order[name] != parametersName || c.parameters == nil {
				out = c.values[name].appendJSON(ndjson.AppendName(out, start, a.order[name]))
			}
		}
		if c.parameters != nil {
			out = append(ndjson.AppendName(out, start, parametersName), c.parameters...)
		}
		out = closeObject(out, start)
	}
	out = closeObject(out, start)
	out = ndjson.AppendTexts(append(out, `,"arg_order":`...), a.order)
	same, varies := &store.Object{}, &store.Object{}
	compareParameters(a.configs, same, varies)
	a.compareArguments(same, varies)
	out = same.AppendJSON(append(out, `,"autotune_configs":{"sames":`...))
	out = varies.AppendJSON(append(out, `,"varies":`...))
	return append(out, "}}"...)
}

// parametersName is the member with the compiler's options, among those of the arguments.
const parametersName = "compilation_config_params"

// closeObject ends an object that begins at start with its first member, if it has one.
func closeObject(out []byte, start int) []byte {
	if len(out) == start {
		out = append(out, '{')
	}
	return append(out, '}')
}

// compareParameters separates the compiler's options that are the same in all configurations from the others.
func compareParameters(configs []*configArguments, same, varies *store.Object) {
	names := map[string]bool{}
	get := func(c *configArguments, name string) []byte {
		if v := jsontext.Get(c.parameters, name); v != nil {
			return v
		}
		return ndjson.Null
	}
	for _, c := range configs {
		members, _ := jsontext.Members(c.parameters)
		for _, m := range members {
			names[m.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		baseline, equal := ndjson.Null, true
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
func (a *configsArguments) compareArguments(same, varies *store.Object) {
	names := make([]int, len(a.order))
	for i := range names {
		names[i] = i
	}
	slices.SortFunc(names, func(i, j int) int { return strings.Compare(a.order[i], a.order[j]) })
	for _, name := range names {
		isTensor := func(c *configArguments) bool { return c.has(name) && c.values[name].tensor }
		if a.order[name] == parametersName || slices.ContainsFunc(a.configs, isTensor) {
			continue
		}
		var baseline *argumentValue
		equal := true
		for _, c := range a.configs {
			if !c.has(name) || len(c.values[name].values) != 1 {
				equal = false
				continue
			}
			u := c.values[name].values[0]
			if baseline == nil {
				baseline = u
			}
			equal = equal && (bytes.Equal(u.shown, baseline.shown) || a.mixed && u.text() == baseline.text())
		}
		if equal && baseline != nil {
			same.At(a.order[name]).Text = baseline.shown
			continue
		}
		var out []byte
		for _, c := range a.configs {
			out = ndjson.AppendName(out, 0, c.hash)
			switch {
			case !c.has(name):
				out = append(out, ndjson.Null...)
			case len(c.values[name].values) != 1:
				out = c.values[name].appendJSON(out)
			default:
				out = append(out, c.values[name].values[0].shown...)
			}
		}
		varies.At(a.order[name]).Text = closeObject(out, 0)
	}
}
