package parse

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// This file has tritonparse's way to tell the keys of a site apart, which looks at the distinct launches once all are read. An argument,
// or a member of one, belongs to the configurations if each compilation was launched with one value of it, and not all with the same.
// Launches that are equal in the others form a session.

// log notes a launch for split.
func (at *site) log(spill *store.Spill, l *launchtext.Launch, id int, timed bool) {
	out := binary.AppendUvarint(at.launches.Buffer, uint64(id-at.lastID))
	out = append(out, figures.OneIf[byte](timed))
	at.launches.Buffer = append(out, l.Group[:]...)
	at.launches.Lighten(spill, store.LogBytes)
	at.lastID = id
}

// split makes the sessions of each site of its only one.
func (s *sites) split(kernels map[string]*kernel) error {
	r, err := s.sorter.Read()
	if err != nil {
		return err
	}
	byNumber := slices.SortedFunc(slices.Values(s.order), func(a, b *site) int { return a.sessions[0].number - b.sessions[0].number })
	for _, at := range byNumber {
		u := at.sessions[0]
		u.id = at.id
		if err := u.groups.end(u, math.MaxInt, r, s.spill); err != nil {
			return err
		}
		if err := s.splitSite(at, kernels); err != nil {
			return err
		}
	}
	return nil
}

func (s *sites) splitSite(at *site, kernels map[string]*kernel) error {
	all := at.sessions[0]
	members := configMembers{universe: map[string]bool{}, paths: map[string]map[string]bool{}, values: map[[2]string]map[string]oneValue{}}
	noted := map[launchtext.Group]bool{}
	err := all.groups.each(s.spill, &logReader{}, func(l *launchtext.Launch) {
		if l.Shape.Captured {
			noted[l.Group] = true
		} else {
			members.add(l)
		}
	})
	if err != nil {
		return err
	}
	keys := map[launchtext.Group]keyed{}
	different := map[string]bool{}
	if len(noted) < len(all.groups.all) {
		all.groups.all = slices.DeleteFunc(all.groups.all, func(g tunedLast) bool { return noted[g.group] })
		config := members.find()
		err = all.groups.each(s.spill, &logReader{}, func(l *launchtext.Launch) {
			key := config.key(l)
			keys[l.Group] = keyed{key, l.Hash}
			different[key] = true
		})
	}
	if err == nil && len(different) > 1 {
		if err = s.splitLaunches(at, keys); err == nil {
			err = s.matchResults(at, kernels)
		}
	} else if n := len(at.results); n > 0 {
		all.result = at.results[n-1]
	}
	return err
}

// keyed is a launch's key, and its kernel's hash.
type keyed struct{ key, hash string }

// splitLaunches makes a session for each key.
func (s *sites) splitLaunches(at *site, keys map[launchtext.Group]keyed) error {
	all := at.sessions[0]
	at.sessions = nil
	byKey := map[string]*session{}
	id := 0
	err := at.launches.Each(s.spill, func(log []byte) error {
		for c := (store.Cursor{In: log}); len(c.In) > 0; {
			id += c.Uvarint()
			timed := c.Flag()
			var g launchtext.Group
			copy(g[:], c.Skip(len(g)))
			if c.Damaged {
				return store.ErrDamaged
			}
			k, ok := keys[g]
			if !ok {
				continue // captured
			}
			u := byKey[k.key]
			if u == nil {
				u = &session{site: at, number: all.number, id: at.id + ":" + k.key}
				u.groups = tunedGroups{shapes: all.groups.shapes, log: all.groups.log}
				byKey[k.key] = u
				at.sessions = append(at.sessions, u)
			}
			if timed {
				u.timed(s.spill, k.hash, id)
			} else {
				u.chosen(s.spill, launchID{g, k.hash}, id)
			}
		}
		return nil
	})
	for _, g := range all.groups.all {
		u := byKey[keys[g.group].key]
		u.groups.all = append(u.groups.all, g)
	}
	return err
}

// configMembers are the values of a site's arguments, by argument and path, and by the hash of the compilation.
type configMembers struct {
	universe map[string]bool            // of hashes
	paths    map[string]map[string]bool // of each argument
	values   map[[2]string]map[string]oneValue
}

// oneValue is the first value, and whether there is another.
type oneValue struct {
	text string
	more bool
}

func (m *configMembers) add(l *launchtext.Launch) {
	if l.Hash == "" {
		return
	}
	m.universe[l.Hash] = true
	l.Each(func(p *launchtext.LeafPath, text []byte) {
		if !p.IsArg || slices.Contains(p.Path, "data_ptr") || isTensor(l, p) {
			return
		}
		path := strings.Join(p.Path, "\x00")
		if m.paths[p.Argument] == nil {
			m.paths[p.Argument] = map[string]bool{}
		}
		m.paths[p.Argument][path] = true
		at := [2]string{p.Argument, path}
		if m.values[at] == nil {
			m.values[at] = map[string]oneValue{}
		}
		v, ok := m.values[at][l.Hash]
		if !ok {
			v.text = string(text)
		}
		v.more = v.more || v.text != string(text)
		m.values[at][l.Hash] = v
	})
}

// isTensor says whether an argument is described as a tensor.
func isTensor(l *launchtext.Launch, p *launchtext.LeafPath) bool {
	return string(l.Value(p.Member, p.Argument, "type")) == `"tensor"`
}

// config is what belongs to the configurations: paths in each argument, or the whole argument.
type config map[string]map[string]bool

// find finds it. A member that an argument does not have in each compilation has another value there.
func (m *configMembers) find() config {
	c := config{}
	for at, byHash := range m.values {
		if at[1] != "" && len(byHash) < len(m.universe) {
			byHash = maps.Clone(byHash)
			for h := range m.universe {
				if _, ok := byHash[h]; !ok {
					byHash[h] = oneValue{}
				}
			}
		}
		texts := map[string]bool{}
		for _, v := range byHash {
			texts[v.text] = true
			if v.more {
				clear(texts)
				break
			}
		}
		if len(texts) > 1 {
			if c[at[0]] == nil {
				c[at[0]] = map[string]bool{}
			}
			c[at[0]][at[1]] = true
		}
	}
	for argument, paths := range c {
		if len(paths) == len(m.paths[argument]) {
			c[argument] = nil
		}
	}
	return c
}

// key is the hash of what the launch has in common with the others of its session.
func (c config) key(l *launchtext.Launch) string {
	o := &store.Object{}
	l.Each(func(p *launchtext.LeafPath, text []byte) {
		masked, ok := c[p.Argument]
		if !p.IsArg || ok && (masked == nil || len(p.Path) == 0) {
			return
		}
		if len(p.Path) == 0 {
			o.At(p.Argument).Text = text
			return
		}
		in := o.At(p.Route[1 : len(p.Route)-1]...)
		name := p.Path[len(p.Path)-1]
		if isTensor(l, p) && !ok {
			if len(p.Path) > 1 || !slices.Contains([]string{"dtype", "shape", "stride", "strides", "numel"}, name) {
				return
			}
		} else if slices.Contains(p.Path, "data_ptr") || masked[strings.Join(p.Path, "\x00")] {
			return
		}
		in.At(name).Text = text
	})
	sum := sha256.Sum256(jsontext.Form{Orjson: true}.Append(nil, o.AppendJSON(nil)))
	return hex.EncodeToString(sum[:8])
}

// matchResults gives each session the first result that is left whose best configuration is that of the session's last choice.
func (s *sites) matchResults(at *site, kernels map[string]*kernel) error {
	left := slices.Clone(at.results)
	for _, u := range at.sessions {
		if len(left) == 0 {
			return nil
		}
		err := u.groups.each(s.spill, &logReader{}, func(l *launchtext.Launch) {
			if u.selected.hash == "" || l.Group != u.selected.group {
				return
			}
			var warps []byte
			if k := kernels[l.Hash]; k != nil && slices.Contains(at.compiled.list, l.Hash) {
				warps = k.baseWarps
			}
			if i := slices.IndexFunc(left, func(r *tuneResult) bool { return r.chose(l, warps) }); i >= 0 {
				u.result = left[i]
				left = slices.Delete(left, i, i+1)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pairName begins a pair of a configuration's text: BLOCK: 16, num_warps: 4.
var pairName = regexp.MustCompile(`(?:^|,\s*)([A-Za-z_]\w*)\s*:\s*`)

// chose says whether the best configuration agrees with a launch in all that the launch says of it, and in something. warps is
// num_warps without those that a specialised kernel adds; nil if that is the launch's.
func (r *tuneResult) chose(l *launchtext.Launch, warps []byte) bool {
	best := jsontext.Text(r.best)
	names := pairName.FindAllStringSubmatchIndex(best, -1)
	compared := 0
	for i, at := range names {
		end := len(best)
		if i+1 < len(names) {
			end = names[i+1][0]
		}
		actual := configValue(l, best[at[2]:at[3]], warps)
		if actual == nil {
			continue
		}
		if compared++; !sameValue(strings.TrimSpace(best[at[1]:end]), actual) {
			return false
		}
	}
	return compared > 0
}

// configValue is what a launch says of an option or an argument, nil for nothing.
func configValue(l *launchtext.Launch, name string, warps []byte) []byte {
	if name == "num_warps" && warps != nil {
		return warps
	}
	kind := jsontext.Text(l.Value("extracted_args", name, "type"))
	if !(kind == "tensor" || kind == "TensorDescriptor" || strings.HasPrefix(kind, "triton_kernels.tensor.")) {
		for _, v := range [][]byte{l.Value("extracted_args", name, "value"), l.Value("extracted_args", name, "repr"), l.Value("extracted_args", name)} {
			if v != nil {
				return v
			}
		}
	}
	return l.Value("compilation_metadata", name)
}

// sameValue compares Python's text of a value with JSON.
func sameValue(text string, actual []byte) bool {
	switch c := actual[0]; {
	case c == 'n':
		return text == "None" || text == "null" || text == ""
	case c == 't':
		return slices.Contains([]string{"1", "true"}, strings.ToLower(text))
	case c == 'f':
		return slices.Contains([]string{"0", "false"}, strings.ToLower(text))
	case c == '[':
		list := strings.NewReplacer("(", "[", ")", "]", ",)", "]", "'", `"`, "True", "true", "False", "false", "None", "null").Replace(text)
		if jsontext.Valid([]byte(list)) != nil {
			return false
		}
		return bytes.Equal(jsontext.Form{}.Append(nil, []byte(list)), actual)
	case c == '"':
		a, errA := strconv.ParseFloat(text, 64)
		b, errB := strconv.ParseFloat(jsontext.Text(actual), 64)
		return errA == nil && errB == nil && a == b || text == jsontext.Text(actual)
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		if m, err := strconv.ParseInt(string(actual), 10, 64); err == nil {
			return n == m
		}
	}
	a, errA := strconv.ParseFloat(text, 64)
	b, errB := strconv.ParseFloat(string(actual), 64)
	return errA == nil && errB == nil && a == b
}
