package chrometrace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// take puts the event that was read where it belongs.
func (d *reader) take() {
	e := &d.e
	switch e.phase {
	case 'X':
		d.slice(e.duration)
	case 'B':
		if l := d.lanes.at(e.pid, e.tid); len(l.open) < mostOpen {
			l.open = append(l.open, len(d.t.Slices))
			d.slice(0)
		}
	case 'E':
		d.lanes.at(e.pid, e.tid).close(d.t, e.start)
	case 's', 'f', 't':
		d.flow()
	case 'M':
		d.metadata()
	}
}

// mostOpen bounds the slices that are open at once on a lane: what a broken file never closes piles up.
const mostOpen = profile.MaxDepth

// selfNamed are the categories of upstream whose call paths end in the slice itself.
var selfNamed = map[string]bool{"scope": true, scopeWithMetrics: true, "kernel": true}

func (d *reader) slice(duration int64) {
	e := &d.e
	l := d.lanes.at(e.pid, e.tid)
	s := profile.Slice{
		Lane: l.id, Kind: d.kindOf(e.cat, e.name, duration), Name: e.name, Start: e.start, Duration: duration, Path: e.path, ID: e.callID,
	}
	if e.cat == scopeWithMetrics && !d.ours && len(e.path) > 0 {
		s.Name = e.path[len(e.path)-1] // upstream adds the metrics to the name
	}
	if !d.ours && !selfNamed[e.cat] && len(s.Path) > 0 {
		s.Path = d.paths.path(d.paths.child(e.pathID, e.name)) // traces of warps leave the scope itself out
	}
	if e.hasBytes && (s.Kind == profile.CopySlice || s.Kind == profile.FillSlice) {
		s.Metrics = append(s.Metrics, profile.Metric{Name: bytesMetric, Value: profile.IntValue(e.bytes)})
	}
	s.Metrics = append(s.Metrics, e.metrics...)
	if s.Kind == profile.KernelSlice && e.launch.ID != "" {
		e.launch.Kernel = e.name
		s.Launch = d.launches.Of(e.launch)
	}
	switch s.Kind {
	case profile.KernelSlice, profile.CopySlice, profile.FillSlice, profile.GraphSlice:
		l.gpu = true
		if e.sawLaneFact {
			l.laneFacts = e.laneFacts
		}
	}
	l.last = max(l.last, e.start+duration)
	d.t.Slices = append(d.t.Slices, s)
}

// kindOf says what a slice is by its category, and by its name among a vendor's calls, which have one category in Kineto's
// traces. Kineto wrote "Kernel" until 2022 and writes "kernel" since.
func (d *reader) kindOf(cat, name string, duration int64) profile.SliceKind {
	kind, known := kindsByCategory[cat]
	if !known {
		cat = strings.ToLower(cat)
		kind, known = kindsByCategory[cat]
	}
	d.time = plus(d.time, duration)
	switch {
	case known:
		return kind
	case slices.Contains(vendorCalls, cat):
	default:
		if d.unknown == nil {
			d.unknown = map[string]int64{}
		}
		if _, counted := d.unknown[cat]; counted || len(d.unknown) < mostUnknown {
			d.unknown[cat] = plus(d.unknown[cat], duration)
		}
		return profile.ScopeSlice
	}
	switch {
	case strings.Contains(name, "Synchronize"):
		return profile.SyncSlice
	case strings.Contains(name, "Launch"), strings.Contains(name, "Memcpy"), strings.Contains(name, "Memset"):
		return profile.LaunchSlice
	}
	return profile.OtherSlice
}

// kindsByCategory has our categories, and Kineto's. Of what is in none of them, nothing is known but that it is
// named and took time: a scope.
var kindsByCategory = func() map[string]profile.SliceKind {
	kinds := map[string]profile.SliceKind{
		scopeWithMetrics: profile.ScopeSlice,
		"gpu_memcpy":     profile.CopySlice,
		"gpu_memset":     profile.FillSlice,
		"cuda_sync":      profile.OtherSlice, // what the GPU saw of a wait that the call shows
		"overhead":       profile.OtherSlice,
		"trace":          profile.OtherSlice,
	}
	for _, cat := range []string{"", "operator", "cpu_op", "user_annotation", "gpu_user_annotation", "python_function", "cpu_instant_event", "async"} {
		kinds[cat] = profile.ScopeSlice
	}
	for kind, cat := range categories {
		kinds[cat] = profile.SliceKind(kind)
	}
	return kinds
}()

// mostUnknown bounds the categories whose time is counted.
const mostUnknown = 1000

// sayUnknown names a category that holds most of the time of all slices and that means nothing here.
func (d *reader) sayUnknown() {
	for cat, time := range d.unknown {
		if time > d.time/2 {
			d.info[profile.InfoNote] = fmt.Sprintf("most of the time (%.0f%%) is in events of the category %q, which is not one of torch.profiler's or proton's: they are read as scopes of the host",
				100*float64(time)/float64(d.time), cat)
		}
	}
}

var vendorCalls = []string{"cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "privateuse1_runtime", "runtime"}

func (d *reader) metadata() {
	e := &d.e
	switch e.name {
	case "process_name":
		d.lanes.processes[e.pid] = e.shownName
	case "thread_name":
		l := d.lanes.at(e.pid, e.tid)
		l.name = strings.TrimSpace(e.shownName)
		if d.ours {
			l.laneFacts, l.described = e.laneFacts, true
		}
	}
}
