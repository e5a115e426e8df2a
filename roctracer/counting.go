package roctracer

/*
#include <stdlib.h>
#include "sdk.h"

static inline double *values_of(struct sdk_counted *c) { return c->values; }
*/
import "C"

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/lookup"
)

// counter passes on what sdk_counting.c counts. It implements profiler.CounterSource.
type counter struct {
	request *record.CounterRequest
	synced  atomic.Bool // the GPU was waited for, and nothing was flushed since

	mu      sync.Mutex // guards what follows
	names   map[*C.struct_sdk_counted_gpu][]string
	chosen  map[uint64]*C.struct_sdk_counted    // launches whose values were not asked for yet, by correlation
	parts   map[C.uint32_t][][]*record.Counters // by place and group: launches that wait for those that count the other groups
	kernels map[C.uint32_t]C.uint32_t           // of places, by their interned names
	dead    map[uint64]bool                     // of chosen: their values did not come in time

	metrics, groups int
	measured        uint64
	whole           map[C.uint32_t]bool // names of kernels of which a launch was measured
	lost            uint64
	problems        []string
}

// counted is the request that threads of the program ask about, once for each kernel at each call path.
var counted atomic.Pointer[record.CounterRequest]

func newCounter(request *record.CounterRequest) *counter {
	return &counter{request: request, names: map[*C.struct_sdk_counted_gpu][]string{}, chosen: map[uint64]*C.struct_sdk_counted{},
		parts: map[C.uint32_t][][]*record.Counters{}, kernels: map[C.uint32_t]C.uint32_t{}, whole: map[C.uint32_t]bool{}, dead: map[uint64]bool{}}
}

//export goprotonSDKCounts
func goprotonSDKCounts(kernel C.uint32_t) C.int {
	request := counted.Load()
	return boolint(request != nil && request.Wants(hotpath.Text(uint32(kernel))))
}

func (s *counter) problem(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.problems, text) {
		s.problems = append(s.problems, text)
	}
}

// begin has the set counted on each GPU. A failure is reported as a problem: kernels are timed all the same.
func (s *counter) begin() {
	if s == nil { // as a session before may have done
		C.sdk_counting_begin(nil, 0, 0, 0)
		return
	}
	if text := refusedCounters(func(rc *C.uint32_t) *C.char { return C.sdk_counting_refused(rc) }); text != "" {
		s.problem("counters: %s; kernels are timed without", text)
		return
	}
	var agents [C.SDK_GPUS]C.uint64_t
	count := int(C.sdk_visible_gpus(&agents[0]))
	list := (**C.struct_sdk_counted_gpu)(C.calloc(C.size_t(count+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	for i, agent := range agents[:count] {
		unsafe.Slice(list, count)[i] = s.group(agent)
	}
	counted.Store(s.request)
	C.sdk_counting_begin(list, C.size_t(count), C.uint32_t(s.request.First), C.uint64_t(s.request.Most))
}

// refusedCounters says why the library counts nothing, "" if it does.
func refusedCounters(by func(*C.uint32_t) *C.char) string {
	var status C.uint32_t
	what := by(&status)
	switch {
	case what == nil:
		return ""
	case status == C.SDK_NOT_IMPLEMENTED:
		return fmt.Sprintf("%s cannot count, which ROCm 7.0 and newer can", libraryName())
	case status == C.SDK_LOCKED:
		return "the first session of this process did not ask for counters, and rocprofiler-sdk takes such a wish once; ask for them in the first session"
	}
	return fmt.Sprintf("%s: %s answers %d (%s)", C.GoString(what), libraryName(), status, C.GoString(C.sdk_status_text(status)))
}

// group divides the metrics of the set into groups that a GPU counts at once, each into the first that has room for it.
func (s *counter) group(agent C.uint64_t) *C.struct_sdk_counted_gpu {
	chip := C.GoString(C.sdk_chip(agent))
	metrics, err := counters.Set(s.request.Set, chip)
	if err != nil {
		s.problem("counters: %v; kernels are timed without", err)
	}
	known := s.known(agent)
	if len(known) == 0 {
		s.problem("counters: %s lists no counters of a %s; kernels are timed without", libraryName(), cmp.Or(chip, "GPU of unknown kind"))
		metrics = nil
	}
	g := (*C.struct_sdk_counted_gpu)(C.calloc(1, C.sizeof_struct_sdk_counted_gpu+C.size_t(len(metrics))*C.sizeof_struct_sdk_counted_metric))
	g.agent = agent
	var groups [][]C.uint64_t
	for _, metric := range metrics {
		if metric == counters.Time {
			continue
		}
		name, simds := counters.Counter(metric)
		id, has := known[name]
		if !has {
			s.unknown(name, chip, known)
			continue
		}
		at := place(g, &groups, id)
		if at < 0 {
			s.problem("counters: %s does not count %s on a %s, and counts the others", libraryName(), name, chip)
			continue
		}
		m := C.metric_of(g, g.count)
		m.counter, m.group = id, C.uint32_t(at)
		if simds {
			m.simds = C.sdk_simds(agent)
		}
		g.count++
		s.names[g] = append(s.names[g], metric)
	}
	g.groups = C.size_t(len(groups))
	s.metrics, s.groups = max(s.metrics, int(g.count)+1), max(s.groups, len(groups))
	return g
}

// place finds a group for a counter, and returns its number, -1 for none.
func place(g *C.struct_sdk_counted_gpu, groups *[][]C.uint64_t, id C.uint64_t) int {
	for i := 0; i < C.SDK_GROUPS; i++ {
		var ids []C.uint64_t
		if i < len(*groups) {
			ids = slices.Clone((*groups)[i])
		}
		if slices.Contains(ids, id) {
			return i
		}
		ids = append(ids, id)
		var config C.uint64_t
		if C.sdk_counting_config(g.agent, &ids[0], C.size_t(len(ids)), &config) == 0 {
			if i == len(*groups) {
				*groups = append(*groups, nil)
			}
			(*groups)[i], g.configs[i] = ids, config
			return i
		}
		if i == len(*groups) {
			break
		}
	}
	return -1
}

// known are a GPU's counters by their names.
func (s *counter) known(agent C.uint64_t) map[string]C.uint64_t {
	list := make([]C.struct_sdk_counter, 4096)
	n := min(int(C.sdk_counters_of(agent, &list[0], C.size_t(len(list)))), len(list))
	known := map[string]C.uint64_t{}
	for _, c := range list[:n] {
		known[C.GoString(c.name)] = c.id
	}
	return known
}

func (s *counter) unknown(name, chip string, known map[string]C.uint64_t) {
	names := slices.Sorted(maps.Keys(known))
	text := fmt.Sprintf("counters: this library knows no %s of a %s, and counts the others", name, chip)
	if similar := lookup.Nearest(name, names, 3); len(similar) > 0 {
		text += "; did you mean " + lookup.Or(similar) + "?"
	}
	s.problem("%s", text)
}

// Counted is described with profiler.CounterSource.
func (c *Collector) Counted(correlation uint64) (*record.Counters, bool) {
	s := c.counter
	if s == nil {
		return nil, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take()
	l := s.chosen[correlation]
	switch {
	case l == nil:
		return nil, true
	case C.sdk_counted_done(l) == 0 && !s.dead[correlation]:
		return nil, false
	}
	delete(s.chosen, correlation)
	if s.dead[correlation] { // the library may still write to it
		delete(s.dead, correlation)
		s.lost++
		return nil, true
	}
	defer C.free(unsafe.Pointer(l))
	return s.sum(l), true
}

func (s *counter) take() {
	for l := C.sdk_counted_take(); l != nil; l = l.next {
		s.chosen[uint64(l.correlation)] = l
		s.kernels[l.place] = l.name
	}
}

// wait waits for values, and gives up those of launches that still have none.
func (s *counter) wait() {
	s.mu.Lock()
	s.take()
	before := slices.Collect(maps.Keys(s.chosen))
	s.mu.Unlock()
	C.sdk_counting_wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, correlation := range before {
		if l := s.chosen[correlation]; l != nil && C.sdk_counted_done(l) == 0 {
			s.dead[correlation] = true
		}
	}
}

// sum is the sum of a launch and those before it that counted the other groups; nil as long as one is missing.
func (s *counter) sum(l *C.struct_sdk_counted) *record.Counters {
	waiting := s.parts[l.place]
	if waiting == nil {
		waiting = make([][]*record.Counters, l.gpu.groups)
		s.parts[l.place] = waiting
	}
	waiting[l.group] = append(waiting[l.group], s.part(l))
	if slices.ContainsFunc(waiting, func(g []*record.Counters) bool { return len(g) == 0 }) {
		return nil
	}
	out := &record.Counters{Names: []string{counters.Time}, Values: []float64{float64(l.nanos)}}
	for i, g := range waiting {
		out.Names, out.Values = append(out.Names, g[0].Names...), append(out.Values, g[0].Values...)
		waiting[i] = g[1:]
	}
	s.measured++
	s.whole[l.name] = true
	return out
}

// part is what one launch counted of its group.
func (s *counter) part(l *C.struct_sdk_counted) *record.Counters {
	out := &record.Counters{}
	for i, v := range unsafe.Slice(C.values_of(l), l.gpu.count) {
		if !math.IsNaN(float64(v)) {
			out.Names, out.Values = append(out.Names, s.names[l.gpu][i]), append(out.Values, float64(v))
		}
	}
	return out
}

// CounterFacts describes all measured launches so far.
func (c *Collector) CounterFacts() (facts record.CounterFacts) {
	s := c.counter
	if s == nil {
		return facts
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	facts = record.CounterFacts{Set: s.request.Set, Metrics: s.metrics, Passes: s.groups, Measured: s.measured, Kernels: uint64(len(s.whole)),
		Problems: slices.Clone(s.problems)}
	for at, groups := range s.parts {
		waiting := uint64(0)
		for _, g := range groups {
			waiting += uint64(len(g))
		}
		if name := s.kernels[at]; waiting > 0 {
			why := fmt.Sprintf("the set takes %s of a kernel at a call path", figures.Count(s.groups, "launch"))
			facts.LeftOut = append(facts.LeftOut, record.LeftOut{Kernel: hotpath.Text(uint32(name)), Why: why, Launches: waiting})
		}
	}
	if s.lost > 0 {
		facts.Problems = append(facts.Problems, fmt.Sprintf("counters: %s reported no values of %s", libraryName(), figures.Count(s.lost, "launch")))
	}
	if C.sdk_counting_full() != 0 {
		facts.Problems = append(facts.Problems, "counters: the program has more kernels and call paths than are kept apart; launches of some were not measured: name kernels with kernels=")
	}
	return facts
}
