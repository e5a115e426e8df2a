package cupti

/*
#include <stdlib.h>
#include "record_sampling.h"
#include "sampling.h"
*/
import "C"

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/goproton/goproton/gpu/cubin"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/figures"
)

// sampler wraps sampling.c and code.c. Methods that a Collector without sampling calls do nothing on nil.
type sampler struct {
	filter   sampleFilter
	synced   atomic.Bool // the GPU was waited for, and samples have not been flushed since
	problems []string    // of startSampler

	names     map[*C.char]name             // by interned string of code.c
	functions map[uint64]record.Function   // by handle: functions whose module is known
	modules   map[uint64]map[string]uint32 // by hash of the image: indices of symbols
	named     map[string][]record.Function // all functions of the first seen modules, by name
	seen      int
	ambiguous map[uint64]bool // handles whose name several modules have
	mode      record.SamplingMode

	kept, filtered uint64 // samples: that passed the filter, that did not
}

type name struct {
	text   string
	wanted bool // the filter matches the name
}

// newSampler knows no code yet.
func (c *Collector) newSampler() *sampler {
	options, _ := c.opts.Sampling.Options.(vendors.CUPTISampling)
	return &sampler{
		filter: sampleFilter{matches: options.Kernels, image: imageOf, called: map[uint64]map[string]bool{}},
		mode:   c.opts.Sampling.Mode,
		names:  map[*C.char]name{}, functions: map[uint64]record.Function{}, modules: map[uint64]map[string]uint32{},
		named: map[string][]record.Function{}, ambiguous: map[uint64]bool{},
	}
}

// startSampler begins to sample. A failure is reported as a problem: kernels are timed all the same.
func (c *Collector) startSampler() {
	options, _ := c.opts.Sampling.Options.(vendors.CUPTISampling)
	s := c.newSampler()
	c.sampler = s
	if missing := C.cupti_sampling_load(); missing != nil {
		s.problem("sample instructions: %s has no %s; set PROTON_CUPTI_PATH to a libcupti of CUDA 11.8 or newer", c.library.Path, C.GoString(missing))
		return
	}
	C.record_wrap_sampling(&C.cupti_sampling)
	if s.mode == record.Serialized && c.version < C.CUPTI_12_4 {
		s.problem("sample instructions of one kernel at a time: %s (%s) does not report the launch of a sample; use a libcupti of CUDA 12.4 or newer, or collection=continuous", c.library.Path, versionText(c.version))
		return
	}
	if rc := C.code_register(); rc != 0 {
		s.problem("%v", c.refused("name modules by their content", uint32(rc), "", 0))
	}
	if rc := C.cupti_listen_code(); rc != 0 {
		s.problem("%v", c.refused("enable callbacks of modules", uint32(rc), "", 0))
	}
	o := C.struct_sampling_options{
		mode: C.SAMPLING_CONTINUOUS, exponent: C.uint32_t(exponent(options.Interval)), version: C.uint32_t(c.version),
		hardware_buffer: C.size_t(options.HardwareBuffer), scratch_buffer: C.size_t(options.ScratchBuffer),
	}
	if s.mode == record.Serialized {
		o.mode = C.SAMPLING_SERIALIZED
	}
	if rc := C.sampling_begin(&o); rc != 0 {
		s.problem("sample instructions: no memory or no thread for it")
	}
}

// endSampler ends sampling. Samples that have not been taken remain.
func (c *Collector) endSampler() {
	if c.sampler != nil {
		C.sampling_end()
	}
}

// exponent returns the exponent of the nearest power of two that CUPTI accepts as a period, 0 for the default.
func exponent(cycles uint64) int {
	if cycles == 0 {
		return 0
	}
	n := bits.Len64(cycles) - 1
	if n < 63 && cycles-1<<n > 1<<(n+1)-cycles {
		n++
	}
	return min(max(n, 5), 31)
}

func (s *sampler) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

func (s *sampler) run(on bool) {
	if s != nil {
		C.sampling_run(boolint(on))
	}
}

// hold keeps the sampling thread from calling CUPTI.
func (s *sampler) hold(on bool) {
	if s != nil {
		C.sampling_hold(boolint(on))
	}
}

// Sample stops sampling, or has it go on, while kernels are recorded.
func (c *Collector) Sample(on bool) {
	c.resting = !on
	if c.kinds != 0 {
		c.sampler.run(on)
	}
}

func (s *sampler) synchronized() {
	if s != nil {
		s.synced.Store(true)
	}
}

// flush waits for the remaining samples if the GPU was waited for. That takes some periods of CUPTI's worker.
func (s *sampler) flush() {
	if s != nil && s.synced.Swap(false) {
		C.sampling_finish()
	}
}

// Samples passes the samples since the last call to f.
func (c *Collector) Samples(f func(*record.Sample)) {
	s := c.sampler
	if s == nil {
		return
	}
	if c.byLine() {
		c.counter.lines(s, f)
		return
	}
	var out record.Sample // f does not keep it
	for b := C.sampling_take(); b != nil; {
		s.decode(b, &out, f)
		next := b.next
		C.free(unsafe.Pointer(b))
		b = next
	}
}

func (s *sampler) decode(b *C.struct_sampled_batch, out *record.Sample, f func(*record.Sample)) {
	at, end := unsafe.Add(unsafe.Pointer(b), C.sizeof_struct_sampled_batch), uintptr(b.used)
	for done := uintptr(0); done < end; {
		r := (*C.struct_sampled)(unsafe.Add(at, done))
		stalls := unsafe.Slice((*C.struct_sampled_stall)(unsafe.Add(unsafe.Pointer(r), C.sizeof_struct_sampled)), r.stall_count)
		done += (C.sizeof_struct_sampled + uintptr(len(stalls))*C.sizeof_struct_sampled_stall + 7) &^ 7
		n := s.nameAt(r.name)
		if !n.wanted && !s.filter.calledFrom(uint64(r.module), n.text) {
			s.filtered += samplesIn(stalls)
			continue
		}
		s.kept += samplesIn(stalls)
		*out = record.Sample{
			Module: uint64(r.module), Function: n.text, Index: uint32(r.function), Offset: uint64(r.offset),
			Correlation: uint64(r.correlation), Device: out.Device, Stalls: out.Stalls[:0],
		}
		for i := range stalls {
			out.Stalls = append(out.Stalls, record.Stall{
				Reason: uint16(stalls[i].reason), Samples: min(uint64(stalls[i].samples), mostCount), NotIssued: uint32(stalls[i].not_issued),
			})
		}
		f(out)
	}
	runtime.KeepAlive(b)
}

const mostCount = 1 << 53 // a recording may say anything

func samplesIn(stalls []C.struct_sampled_stall) (n uint64) {
	for i := range stalls {
		n += uint64(stalls[i].samples)
	}
	return n
}

func (s *sampler) nameAt(p *C.char) name {
	if n, ok := s.names[p]; ok {
		return n
	}
	n := name{}
	if p != nil {
		n.text = C.GoString(p)
	}
	n.wanted = s.filter.kernel(n.text)
	s.names[p] = n
	return n
}

// Loaded adds a function that was loaded before CUPTI was subscribed to.
func (c *Collector) Loaded(handle uint64, name string, image []byte) {
	if c.sampler == nil || len(image) == 0 {
		return
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	C.code_known(C.uint64_t(handle), text, unsafe.Pointer(unsafe.SliceData(image)), C.size_t(len(image)))
}

// Function returns the function of a handle, as it is in launches.
func (c *Collector) Function(handle uint64) (record.Function, bool) {
	s := c.sampler
	if s == nil {
		return record.Function{}, false
	}
	is := C.code_function(C.uint64_t(handle))
	if is.name == nil {
		return record.Function{}, false
	}
	f := record.Function{Module: uint64(is.module), Name: s.nameAt(is.name).text}
	if known, ok := s.functions[handle]; ok && known.Name == f.Name && (f.Module == 0 || known.Module == f.Module) {
		return known, true
	}
	f, ok := s.find(handle, f)
	if ok {
		s.functions[handle] = f
	}
	return f, ok
}

// find completes a function: by its module, or else by its name if only one module has it.
func (s *sampler) find(handle uint64, f record.Function) (record.Function, bool) {
	s.learnModules()
	if f.Module != 0 {
		index, ok := s.modules[f.Module][f.Name]
		f.Index = index
		return f, ok
	}
	switch all := s.named[f.Name]; len(all) {
	case 0:
		return f, false
	case 1:
		return all[0], true
	}
	s.ambiguous[handle] = true
	return f, false
}

// learnModules reads the symbols of the modules that were loaded since the last call.
func (s *sampler) learnModules() {
	var hashes [64]C.uint64_t
	for {
		n := int(C.code_modules(C.size_t(s.seen), &hashes[0], C.size_t(len(hashes))))
		for _, hash := range hashes[:n] {
			s.learnModule(uint64(hash))
		}
		s.seen += n
		if n < len(hashes) {
			return
		}
	}
}

func (s *sampler) learnModule(hash uint64) {
	symbols, err := cubin.Symbols(imageOf(hash))
	if err != nil { // its samples still have names
		return
	}
	s.modules[hash] = symbols
	for name, index := range symbols {
		s.named[name] = append(s.named[name], record.Function{Module: hash, Index: index, Name: name})
	}
}

// consequence describes what a refusal to sample means for the profile. After HARDWARE_BUSY CUPTI may not return kernel records
// either.
func consequence(rc uint32) string {
	if rc == C.RC_HARDWARE_BUSY {
		return "kernel times may be missing too: run again when the GPU is free, or without mode=pcsampling"
	}
	return "kernels are timed without samples"
}

// hashInC is code_hash, for a test.
func hashInC(image []byte) uint64 {
	return uint64(C.code_hash(unsafe.Pointer(unsafe.SliceData(image)), C.size_t(len(image))))
}

// imageOf returns an image in C's memory, which is never freed, nil if it is not known.
func imageOf(hash uint64) []byte {
	var size C.size_t
	p := C.code_image(C.uint64_t(hash), &size)
	return unsafe.Slice((*byte)(p), int(size))
}

// Image returns the binary that a module was loaded from, nil if it was not seen or not kept.
func (c *Collector) Image(module uint64) []byte {
	if c.sampler == nil {
		return nil
	}
	return imageOf(module)
}

// SamplingFacts describes all samples so far.
func (c *Collector) SamplingFacts() record.SamplingFacts {
	s := c.sampler
	if s == nil {
		return record.SamplingFacts{}
	}
	if s.mode == record.ByLine {
		return record.SamplingFacts{Mode: s.mode, Reasons: lineMetrics(), Problems: s.problems, Ambiguous: uint64(len(s.ambiguous))}
	}
	var f C.struct_sampling_facts
	C.sampling_facts(&f)
	facts := record.SamplingFacts{
		Mode: s.mode, Total: uint64(f.total), Dropped: uint64(f.dropped), NonUser: uint64(f.non_user), BufferFull: f.buffer_full != 0,
		Waited: time.Duration(f.waited_ns), Switching: time.Duration(f.switching_ns), Thread: time.Duration(f.thread_ns),
		Ambiguous: uint64(len(s.ambiguous)), Problems: append(slices.Clone(s.problems), c.samplingProblems(&f)...),
	}
	if f.exponent > 0 {
		facts.Period = 1 << f.exponent
	}
	for _, reason := range f.reasons[:f.reason_count] {
		facts.Reasons = append(facts.Reasons, C.GoString(reason))
	}
	return facts
}

// samplingProblems says which samples are missing or incomplete, and why.
func (c *Collector) samplingProblems(f *C.struct_sampling_facts) (problems []string) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if f.refused != 0 {
		add("%v; %s", c.refused(C.GoString(f.refused_doing), uint32(f.refused), "", 0), consequence(uint32(f.refused)))
	}
	if f.claimed != 0 {
		add("sample instructions: another process that is profiled samples this GPU, and only one can at a time; " +
			"kernels are timed without samples")
	}
	if f.late > 0 {
		add("sampling was begun or ended seconds late, %s: it is switched while no thread launches, and one was in a launch all the time",
			figures.Count(uint64(f.late), "time"))
	}
	if f.waiting > 0 {
		add("%s not sampled: of the contexts of one GPU CUPTI samples one at a time, "+
			"and the first to launch was; their kernels have times, and samples only as far as the first ran the same code", figures.Plural(uint64(f.waiting), "context was", "contexts were"))
	}
	switch {
	case c.sampler.filtered > 0 && c.sampler.kept == 0:
		add("kernels= matches no sampled kernel: the %s; "+
			"give names of kernels, such as 'matmul_*'", figures.Plural(uint64(c.sampler.filtered), "sample taken is of another", "samples taken are of others"))
	case f.unseen > 0 && c.opts.Replay != "":
		add("%s fell in modules that the capture does not hold: their source lines are not known", figures.Count(uint64(f.unseen), "sample"))
	case f.unseen > 0:
		add("%s fell in code that was loaded before sampling began and not compiled by Triton: "+
			"its source lines are not known; begin before the first launch, as `proton run --mode pcsampling` does", figures.Count(uint64(f.unseen), "sample"))
	}
	if f.same_crc > 0 {
		add("%s fell in code that was loaded before sampling began, and several modules "+
			"have the checksum that CUPTI reports for it; begin before the first launch, as `proton run --mode pcsampling` does", figures.Plural(uint64(f.same_crc), "sample is unattributed: it", "samples are unattributed: they"))
	}
	if f.lost > 0 {
		add("%s not read in time", figures.Plural(uint64(f.lost), "sample was lost: it was", "samples were lost: they were"))
	}
	if n := C.code_not_kept(); n > 0 {
		add("the code of %s was not kept: more than 512 MiB were loaded", figures.Count(uint64(n), "module"))
	}
	return problems
}
