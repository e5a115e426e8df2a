package tritonparse

import (
	"maps"
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
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
	text := string(diffForm.Append(nil, shown))
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

// argumentsSummary says of each argument, and of each option of the compiler, in which configurations it had which values.
func (p *parser) argumentsSummary(u *session, hashes []string, sames *object) []byte {
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
	each := &object{}
	for _, c := range configs {
		o := each.at(c.hash)
		for _, name := range c.names {
			o.at(name).text = c.byName[name].appendJSON(nil)
		}
		if c.parameters != nil {
			o.at("compilation_config_params").text = c.parameters
		}
	}
	same, varies := &object{}, &object{}
	compareParameters(configs, same, varies)
	compareArguments(configs, same, varies)
	unchanged := sames.get("extracted_args")
	if unchanged == nil {
		unchanged = &object{}
	}
	out := appendMember(nil, "summary_version", []byte("1"))
	out = appendMember(out, "unchanged_args", unchanged.appendJSON(nil))
	out = appendMember(out, "per_config_args", each.appendJSON(nil))
	out = appendMember(out, "arg_order", appendTexts(nil, order))
	both := appendMember(nil, "sames", same.appendJSON(nil))
	both = append(appendMember(both, "varies", varies.appendJSON(nil)), '}')
	return append(appendMember(out, "autotune_configs", both), '}')
}

// argumentsByConfig goes through the distinct launches; order is that of the arguments' first use.
func (p *parser) argumentsByConfig(u *session) (configs []*configArguments, order []string) {
	byHash := map[string]*configArguments{}
	err := u.groups.each(p.spill, func(l *launch) {
		if l.hash == "" {
			return
		}
		c := byHash[l.hash]
		if c == nil {
			c = &configArguments{hash: l.hash, byName: map[string]*argumentValues{}}
			byHash[l.hash] = c
			configs = append(configs, c)
		}
		arguments := &object{}
		l.each(func(p *place, text []byte) {
			if p.isArg {
				arguments.at(p.route[1:]...).text = text
			}
		})
		for _, argument := range arguments.members {
			name := argument.name
			order = addNew(order, name)
			v := c.byName[name]
			if v == nil {
				v = &argumentValues{}
				c.byName[name] = v
				c.names = append(c.names, name)
			}
			v.add(argument.appendJSON(nil))
		}
	})
	if err != nil {
		p.spill.fail(err)
	}
	for _, c := range configs {
		for _, v := range c.byName {
			slices.SortStableFunc(v.values, func(a, b *argumentValue) int { return b.count - a.count })
		}
	}
	return configs, order
}

// compareParameters sorts the compiler's options into those that all configurations share and the others.
func compareParameters(configs []*configArguments, same, varies *object) {
	names := map[string]bool{}
	get := func(c *configArguments, name string) []byte {
		if v := jsontext.Get(c.parameters, name); v != nil {
			return v
		}
		return null
	}
	for _, c := range configs {
		members, _ := jsontext.Members(c.parameters)
		for _, m := range members {
			names[m.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		baseline, equal := null, true
		for _, c := range configs {
			v := get(c, name)
			if string(baseline) == "null" {
				baseline = v
			}
			equal = equal && string(v) == string(baseline)
		}
		if equal {
			same.at(name).text = baseline
			continue
		}
		o := &object{}
		for _, c := range configs {
			o.at(c.hash).text = get(c, name)
		}
		varies.at(name).text = o.appendJSON(nil)
	}
}

// compareArguments does the same with arguments; tensors are left out.
func compareArguments(configs []*configArguments, same, varies *object) {
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
		o := &object{}
		for _, c := range configs {
			v := c.byName[name]
			switch {
			case v == nil:
				o.at(c.hash).text = null
				equal = false
			case len(v.values) != 1:
				o.at(c.hash).text = v.appendJSON(nil)
				equal = false
			default:
				o.at(c.hash).text = v.values[0].shown
				if baseline == nil {
					baseline = v.values[0]
				}
				equal = equal && v.values[0].text == baseline.text
			}
		}
		if equal && baseline != nil {
			same.at(name).text = baseline.shown
		} else {
			varies.at(name).text = o.appendJSON(nil)
		}
	}
}
