package parse

import (
	"maps"
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/trace/field"
	"github.com/goproton/goproton/internal/trace/launchtext"
	"github.com/goproton/goproton/internal/trace/store"
)

// argumentValues are the values that one argument had in the launches of one configuration.
type argumentValues struct {
	values []*argumentValue // as often as they were seen, then in the order of first use
	byText map[string]*argumentValue
	tensor bool
}

type argumentValue struct {
	text  string // canonical
	shown []byte
	count int
}

func (v *argumentValues) add(shown []byte) {
	text := string(jsontext.Form{}.Append(nil, shown))
	if u := v.byText[text]; u != nil {
		u.count++
		return
	}
	if v.byText == nil {
		v.byText = map[string]*argumentValue{}
	}
	u := &argumentValue{text, shown, 1}
	v.byText[text] = u
	v.values = append(v.values, u)
	v.tensor = v.tensor || jsontext.Text(jsontext.Get(shown, "type")) == "tensor"
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
}

// argumentsSummary says which values each argument, and each option of the compiler, had in which configurations.
func (p *parser) argumentsSummary(u *session, hashes []string, sames *store.Object) []byte {
	configs, order := p.argumentsByConfig(u)
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

// argumentsByConfig collects the arguments of the distinct launches. order has their names in the order of first use.
func (p *parser) argumentsByConfig(u *session) (configs []*configArguments, order []string) {
	byHash := map[string]*configArguments{}
	err := u.groups.each(p.spill, func(l *launchtext.Launch) {
		if l.Hash == "" {
			return
		}
		c := byHash[l.Hash]
		if c == nil {
			c = &configArguments{hash: l.Hash, byName: map[string]*argumentValues{}}
			byHash[l.Hash] = c
			configs = append(configs, c)
		}
		arguments := &store.Object{}
		l.Each(func(p *launchtext.Place, text []byte) {
			if p.IsArg {
				arguments.At(p.Route[1:]...).Text = text
			}
		})
		for _, argument := range arguments.Members {
			name := argument.Name
			order = addNew(order, name)
			v := c.byName[name]
			if v == nil {
				v = &argumentValues{}
				c.byName[name] = v
				c.names = append(c.names, name)
			}
			v.add(argument.AppendJSON(nil))
		}
	})
	if err != nil {
		p.spill.Fail(err)
	}
	for _, c := range configs {
		for _, v := range c.byName {
			slices.SortStableFunc(v.values, func(a, b *argumentValue) int { return b.count - a.count })
		}
	}
	return configs, order
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
				equal = equal && v.values[0].text == baseline.text
			}
		}
		if equal && baseline != nil {
			same.At(name).Text = baseline.shown
		} else {
			varies.At(name).Text = o.AppendJSON(nil)
		}
	}
}
