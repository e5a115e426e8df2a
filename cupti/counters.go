package cupti

/*
#include <stdlib.h>
#include "counters.h"
#include "record_counters.h"
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/lookup"
)

// counter wraps counters.c. Methods that a Collector without counters calls do nothing on nil.
type counter struct {
	request *record.CounterRequest
	chosen  map[uint64]*C.struct_counted // launches whose values were not asked for yet, by correlation id
	names   map[unsafe.Pointer][]string  // of metrics, by the array that launches point at

	byLine  bool
	waiting []*C.struct_counted // launches whose instructions are being counted
	// Launches that were counted in code that is not known, and the last one that was not.
	unplaced, placed uint64

	problems []string // of startCounters
}

// asked is what the program's threads ask about: they enter Go once for each function and once for each kind of GPU.
var asked struct {
	sync.Mutex
	request  *record.CounterRequest
	words    map[string]*C.char // never freed: launches point at them
	memory   bool               // metrics of the GPU's memory are in the set
	ran      []string           // functions that were not wanted, where kernels have no records
	unknown  []unknownMetric
	problems []string
}

// unknownMetric is a metric that this library does not know, and the sentence that says so.
type unknownMetric struct{ name, says string }

// hostLibrary is what libcupti describes counters with. It lies next to libcupti.
func (c *Collector) hostLibrary() string {
	return filepath.Join(filepath.Dir(c.library.Path), "libnvperf_host.so")
}

// startCounters begins to measure. A failure is reported as a problem: kernels are timed all the same.
func (c *Collector) startCounters() {
	s := &counter{request: c.opts.Sampling.Counters, chosen: map[uint64]*C.struct_counted{}, names: map[unsafe.Pointer][]string{}}
	c.counter = s
	if s.request.Set == counters.LinesSet {
		c.startLines()
		return
	}
	host := C.CString(c.hostLibrary())
	defer C.free(unsafe.Pointer(host))
	if missing := C.cupti_counters_load(host); missing != nil {
		s.problems = append(s.problems, fmt.Sprintf("measure counters: %s (%s) has no %s; set PROTON_CUPTI_PATH to a libcupti of CUDA 12.6 or newer; kernels are timed without counters",
			c.library.Path, versionText(c.version), C.GoString(missing)))
		c.counter.request = nil
		return
	}
	C.record_wrap_counters(&C.cupti_counters)
	s.ask()
	if rc := C.cupti_listen_counted(); rc != 0 {
		s.problems = append(s.problems, c.refused("enable callbacks of contexts", uint32(rc), "", 0).Error())
	}
	C.cupti_keep_shapes(1)
	c.beginCounters(&C.counters_of_ranges)
}

// ask has threads of the program asked for what the request wants.
func (s *counter) ask() {
	asked.Lock()
	defer asked.Unlock()
	asked.request, asked.ran, asked.unknown, asked.problems, asked.memory = s.request, nil, nil, nil, false
}

func (c *Collector) beginCounters(way *C.struct_counters_way) {
	r := c.counter.request
	C.counters_begin(vendorAPI(), &C.struct_counters_request{first: C.uint32_t(r.First), most: C.uint64_t(r.Most), version: C.uint32_t(c.version), way: way})
}

// endCounters ends measuring. Launches that have not been asked for remain.
func (c *Collector) endCounters() {
	if c.counter != nil {
		C.counters_end()
		C.cupti_listen_work(0, 0)
		C.cupti_counted_by_line(0)
		C.cupti_keep_shapes(0)
	}
}

func (s *counter) run(on bool) {
	if s != nil && s.request != nil {
		C.counters_run(boolint(on))
	}
}

// Counted is described with profiler.CounterSource.
func (c *Collector) Counted(correlation uint64) (*record.Counters, bool) {
	s := c.counter
	if s == nil {
		return nil, true
	}
	for l := C.counters_take(); l != nil; l = l.next {
		s.chosen[uint64(l.correlation)] = l
	}
	l := s.chosen[correlation]
	if l == nil {
		return nil, true
	}
	state := C.counters_state(l)
	if state == C.COUNTED_PENDING {
		return nil, false
	}
	delete(s.chosen, correlation)
	defer C.free(unsafe.Pointer(l))
	if state != C.COUNTED_DONE {
		return nil, true
	}
	return s.values(l), true
}

const longestNanos = 1e15 // a recording may say anything

// values are the metrics of a launch.
func (s *counter) values(l *C.struct_counted) *record.Counters {
	out := &record.Counters{Names: s.namesAt(l)}
	for i, v := range unsafe.Slice((*C.double)(unsafe.Add(unsafe.Pointer(l), C.sizeof_struct_counted)), l.count) {
		out.Values = append(out.Values, float64(v))
		if out.Names[i] == counters.Time && v > 0 && v < longestNanos { // the activity record of a kernel that ran several times has none
			out.Nanos = uint64(v)
		}
	}
	if asked := C.cupti_shape_of(C.uint32_t(l.correlation)); asked != nil {
		out.Values = append(out.Values, float64(asked.registers), float64(asked.threads), float64(asked.static_shared), float64(asked.dynamic_shared))
	}
	out.Names = out.Names[:len(out.Values)]
	return out
}

func (s *counter) namesAt(l *C.struct_counted) []string {
	at := unsafe.Pointer(l.names)
	if names, known := s.names[at]; known {
		return names
	}
	var names []string
	for _, name := range unsafe.Slice(l.names, l.count) {
		names = append(names, C.GoString(name))
	}
	names = append(names, counters.Registers, counters.Threads, counters.StaticShared, counters.DynamicShared)
	s.names[at] = names
	return names
}

// whyLeft says in a few words what an enum counters_left means.
var whyLeft = map[C.uint32_t]string{
	C.LEFT_COOPERATIVE:  "cooperative",
	C.LEFT_COMMUNICATES: "waits for other GPUs",
	C.LEFT_MEMORY:       "more memory is allocated than is free, and the set takes several passes",
	C.LEFT_OTHERS:       "other threads launched or captured meanwhile",
	C.LEFT_REFUSED:      "CUPTI did not measure it",
}

// CounterFacts describes all measured launches so far.
func (c *Collector) CounterFacts() (facts record.CounterFacts) {
	s := c.counter
	if s == nil {
		return facts
	}
	facts.Problems = append(facts.Problems, s.problems...)
	facts.Set = c.opts.Sampling.Counters.Set
	if s.request == nil {
		return facts
	}
	var f C.struct_counters_facts
	C.counters_facts(&f)
	facts.Metrics, facts.Passes, facts.Measured, facts.Kernels = int(f.metrics), int(f.passes), uint64(f.measured), uint64(f.kernels)
	facts.Took = time.Duration(f.nanos)
	facts.LeftOut = leftOut()
	if c.opts.Replay != "" { // passes are those of another set
		facts.Passes = 0
		for i := range facts.LeftOut {
			if facts.LeftOut[i].Why == whyLeft[C.LEFT_REFUSED] {
				facts.LeftOut[i].Why = "not measured in the recording"
			}
		}
	}
	asked.Lock()
	facts.Copies = f.measured > 0 && f.passes > 1 && asked.memory && c.version < C.CUPTI_13_4
	facts.Ran = slices.Clone(asked.ran)
	facts.Problems = append(facts.Problems, asked.problems...)
	facts.Problems = append(facts.Problems, sayUnknown(asked.unknown, c.opts.Replay != "")...)
	asked.Unlock()
	if f.refused != 0 {
		refusal := c.counterError(C.GoString(f.refused_doing), uint32(f.refused)).Error()
		if s.byLine {
			refusal += "; nothing more is counted, and kernels are not timed: run without set=lines"
		} else {
			refusal += "; kernels are timed without counters"
		}
		facts.Problems = append(facts.Problems, refusal)
	}
	if s.unplaced > 0 {
		facts.Problems = append(facts.Problems, fmt.Sprintf("counters: the lines of %s are not known: the code was loaded before counting began, or CUPTI's checksum of it is that of several modules; begin before the first launch, as `proton run` does",
			figures.Plural(s.unplaced, "launch that was counted", "launches that were counted")))
	}
	if f.graphs != 0 && s.byLine {
		facts.Problems = append(facts.Problems, fmt.Sprintf("counters: the kernels of %s were not counted by line: CUPTI counts launches of single kernels; run without graphs", figures.Plural(uint64(f.graphs), "launch of a graph", "launches of graphs")))
	}
	if f.full != 0 {
		facts.Problems = append(facts.Problems, "counters: the program has more kernels and call paths than are kept apart; launches of some were not measured: name kernels with kernels=")
	}
	return facts
}

func leftOut() (list []record.LeftOut) {
	var some [32]C.struct_counters_function
	for {
		n := int(C.counters_left(C.size_t(len(list)), &some[0], C.size_t(len(some))))
		for _, f := range some[:n] {
			list = append(list, record.LeftOut{Kernel: C.GoString(f.name), Why: whyLeft[f.reason], Launches: uint64(f.launches)})
		}
		if n < len(some) {
			return list
		}
	}
}

const mostRan = 1 << 12

// communicating are parts of the names of kernels whose blocks wait for kernels on other GPUs.
var communicating = []string{"ncclDevKernel", "ncclKernel", "nvshmem", "one_shot_all_reduce", "two_shot_all_reduce", "multimem_", "cross_device_reduce"}

//export goprotonCountersKernel
func goprotonCountersKernel(name *C.char) C.int {
	kernel := C.GoString(name)
	asked.Lock()
	defer asked.Unlock()
	request := asked.request
	if request == nil {
		return -1
	}
	if !request.Wants(kernel) {
		if request.Set == counters.LinesSet && len(asked.ran) < mostRan {
			asked.ran = append(asked.ran, kernel)
		}
		return -1
	}
	for _, part := range communicating {
		if strings.Contains(kernel, part) {
			return C.LEFT_COMMUNICATES
		}
	}
	return C.LEFT_NOT
}

//export goprotonCountersMetrics
func goprotonCountersMetrics(chip *C.char, names ***C.char) C.size_t {
	asked.Lock()
	defer asked.Unlock()
	list, err := counters.Set(asked.request.Set, C.GoString(chip))
	if err != nil {
		asked.problems = append(asked.problems, fmt.Sprintf("counters: %v; kernels are timed without", err))
		return 0
	}
	array := (**C.char)(C.malloc(C.size_t(len(list)+1) * C.size_t(unsafe.Sizeof(uintptr(0)))))
	for i, name := range list {
		unsafe.Slice(array, len(list))[i] = word(name)
		asked.memory = asked.memory || strings.HasPrefix(name, "dram__")
	}
	*names = array
	return C.size_t(len(list))
}

func word(text string) *C.char {
	if asked.words == nil {
		asked.words = map[string]*C.char{}
	}
	if asked.words[text] == nil {
		asked.words[text] = C.CString(text)
	}
	return asked.words[text]
}

//export goprotonCountersUnknown
func goprotonCountersUnknown(chip, metric *C.char, known **C.char, count C.size_t) {
	asked.Lock()
	defer asked.Unlock()
	name, _, _ := strings.Cut(C.GoString(metric), ".")
	var names []string
	for _, k := range unsafe.Slice(known, count) {
		names = append(names, C.GoString(k))
	}
	text := fmt.Sprintf("counters: this library knows no %s of a %s, and measures the others", C.GoString(metric), C.GoString(chip))
	if similar := lookup.Nearest(name, names, 3); len(similar) > 0 {
		text += "; did you mean " + lookup.Or(similar) + "?"
	}
	asked.unknown = append(asked.unknown, unknownMetric{C.GoString(metric), text})
}

// sayUnknown says which metrics are left out: each by a sentence, but those of a replay, which were not recorded, by one.
func sayUnknown(unknown []unknownMetric, replay bool) (says []string) {
	for _, u := range unknown {
		says = append(says, u.says)
	}
	if !replay || says == nil {
		return says
	}
	text := "counters: the recording lacks " + unknown[0].name
	if more := len(unknown) - 1; more > 0 {
		text += " and " + figures.Count(more, "other metric") + " of this set"
	}
	return []string{text + ": replay it with the -m of the recorded run"}
}
