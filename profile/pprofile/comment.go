package pprofile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/profile"
)

// commentPrefix begins the comment that holds the facts. pprof leaves comments that begin with # out of its headers.
const commentPrefix = "#goproton "

// facts is everything about a profile that its samples do not say.
type facts struct {
	Version int                                  `json:"version"`
	Root    string                               `json:"root"`
	Kinds   map[string]string                    `json:"kinds,omitempty"`
	Samples map[string]sampleFacts               `json:"samples,omitempty"` // by sample type
	Labels  map[string]labelFacts                `json:"labels,omitempty"`
	Origins bool                                 `json:"origins,omitempty"` // whether labels rank and source stand for parts of a merged profile
	Own     bool                                 `json:"own,omitempty"`     // whether cycles of scopes inside of kernels are without those of inner scopes
	Spans   bool                                 `json:"spans,omitempty"`   // whether the CPU time of scopes is without that of inner scopes
	Devices map[string]map[string]profile.Device `json:"devices,omitempty"` // by type and ordinal
	Info    map[string]string                    `json:"info,omitempty"`
}

type sampleFacts struct {
	Metric string  `json:"metric"`
	Float  bool    `json:"float,omitempty"`
	Scale  float64 `json:"scale,omitempty"` // what the metric was multiplied with; 0 for 1
}

func (c *column) facts() sampleFacts {
	f := sampleFacts{Metric: c.metric, Float: c.float}
	if c.scale != 1 {
		f.Scale = c.scale
	}
	return f
}

// value is what a sample's value means.
func (f sampleFacts) value(v int64) profile.Value {
	switch {
	case f.Scale == 0 || f.Scale == 1:
		if f.Float {
			return profile.FloatValue(float64(v))
		}
		return profile.IntValue(v)
	case f.Float:
		return profile.FloatValue(float64(v) / f.Scale)
	}
	whole := math.RoundToEven(float64(v) / f.Scale)
	if math.Abs(whole) >= math.MaxInt64 {
		return profile.FloatValue(whole)
	}
	return profile.IntValue(int64(whole))
}

type labelFacts struct {
	Metric string    `json:"metric"`
	Kind   labelKind `json:"type"`
}

const factsVersion = 1

func newFacts(p *profile.Profile) *facts {
	f := &facts{
		Version: factsVersion, Root: p.Root.Name, Info: p.Info,
		Kinds: map[string]string{}, Samples: map[string]sampleFacts{}, Labels: map[string]labelFacts{}, Devices: map[string]map[string]profile.Device{},
	}
	for name, kind := range p.Kinds {
		f.Kinds[name] = kind.String()
	}
	for _, d := range p.Devices {
		if f.Devices[d.Type] == nil {
			f.Devices[d.Type] = map[string]profile.Device{}
		}
		f.Devices[d.Type][d.ID] = d
	}
	return f
}

// label notes what a label was.
func (f *facts) label(key, metric string, kind labelKind) {
	f.Labels[key] = labelFacts{metric, kind}
}

func (f *facts) comment() (string, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("encode pprof profile: %w", err)
	}
	return commentPrefix + string(text), nil
}

// readFacts finds the facts in a profile; nil in one of another tool. A profile that pprof merged has several
// comments: what they agree on is kept, and all devices.
func readFacts(pp *pprof.Profile) (*facts, error) {
	var all *facts
	for _, c := range pp.Comments {
		text, ours := strings.CutPrefix(c, commentPrefix)
		if !ours {
			continue
		}
		f := &facts{}
		if err := json.Unmarshal([]byte(text), f); err != nil {
			return nil, fmt.Errorf("decode pprof profile: comment %q: %w", commentPrefix, err)
		}
		if f.Version > factsVersion {
			return nil, fmt.Errorf("decode pprof profile: it was written by a newer GoProton (version %d of the comment, this one knows %d); update", f.Version, factsVersion)
		}
		if all == nil {
			all = f
			continue
		}
		all.merge(f)
	}
	return all, nil
}

func (f *facts) merge(o *facts) {
	for key := range f.Info {
		if o.Info[key] != f.Info[key] {
			delete(f.Info, key)
		}
	}
	f.Origins, f.Own, f.Spans = f.Origins && o.Origins, f.Own || o.Own, f.Spans || o.Spans
	f.Kinds = joined(f.Kinds, o.Kinds)
	f.Samples = joined(f.Samples, o.Samples)
	f.Labels = joined(f.Labels, o.Labels)
	for typ, devices := range o.Devices {
		if f.Devices == nil {
			f.Devices = map[string]map[string]profile.Device{}
		}
		f.Devices[typ] = joined(f.Devices[typ], devices)
	}
}

// joined adds the entries to a that only b has.
func joined[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(b)
	if all == nil {
		return a
	}
	maps.Copy(all, a)
	return all
}

func (f *facts) kinds() profile.Kinds {
	kinds := profile.Kinds{}
	for name, text := range f.Kinds {
		if kind, ok := profile.ParseKind(text); ok {
			kinds[name] = kind
		}
	}
	return kinds
}

func (f *facts) devices() []profile.Device {
	var list []profile.Device
	for _, typ := range slices.Sorted(maps.Keys(f.Devices)) {
		for _, id := range slices.Sorted(maps.Keys(f.Devices[typ])) {
			d := f.Devices[typ][id]
			d.Type, d.ID = typ, id
			list = append(list, d)
		}
	}
	return list
}
