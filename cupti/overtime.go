package cupti

/*
#include <stdlib.h>
#include "overtime.h"

static uint32_t device_count(int *n) { return cuda.cuDeviceGetCount(n); }
*/
import "C"

import (
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/figures"
)

// NVML's energy counter moves on ten times a second, and reading it takes some ms. So it is read shortly before it is expected to move,
// and then again and again until it has: the time of a value is known to energyStep.
const (
	energyRest = 90 * time.Millisecond
	energyStep = 5 * time.Millisecond
	pmEvery    = 250 * time.Millisecond // between readings of samples of 1 ms or more, see pm.c
	pmOften    = 100 * time.Millisecond // between those of shorter samples
	joule      = 1000                   // in the counter's millijoules
)

// energyGauges are what is read of NVML.
var energyGauges = record.EnergyGauges("SM")

// pmGauges are the metrics that are sampled over time, where the GPU has them.
var pmGauges = []struct {
	vendor string
	share  bool // the value is a percentage
	record.Gauge
}{
	{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", true, record.Gauge{Metric: "gpu_active_time (ns)", Lane: "SM active (%)", Factor: record.PercentOfNanos, OfWork: true}},
	{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", true, record.Gauge{Metric: "tensor_active_time (ns)", Lane: "tensor cores active (%)", Factor: record.PercentOfNanos, OfWork: true}},
	{"dram__read_throughput.avg.pct_of_peak_sustained_elapsed", true, record.Gauge{Metric: "dram_reading_time (ns)", Lane: "DRAM read (%)", Factor: record.PercentOfNanos, OfWork: true}},
	{"dram__write_throughput.avg.pct_of_peak_sustained_elapsed", true, record.Gauge{Metric: "dram_writing_time (ns)", Lane: "DRAM written (%)", Factor: record.PercentOfNanos, OfWork: true}},
	{"pcie__read_bytes.sum", false, record.Gauge{Metric: "pcie_read_bytes", Lane: "PCIe read (B/s)", Factor: 1, OfWork: true}},
	{"pcie__write_bytes.sum", false, record.Gauge{Metric: "pcie_written_bytes", Lane: "PCIe written (B/s)", Factor: 1, OfWork: true}},
	{"nvlrx__bytes.sum", false, record.Gauge{Metric: "nvlink_received_bytes", Lane: "NVLink received (B/s)", Factor: 1, OfWork: true}},
	{"nvltx__bytes.sum", false, record.Gauge{Metric: "nvlink_sent_bytes", Lane: "NVLink sent (B/s)", Factor: 1, OfWork: true}},
}

// reader reads whole GPUs from a goroutine of its own while kernels are recorded. Methods that a Collector without one calls do nothing on nil.
type reader struct {
	collector *Collector
	request   record.ReadingRequest

	record.Readings // its lock guards what follows
	devices         map[int]*readGPU
	samplesRead     time.Time
}

// readGPU is the state of one GPU.
type readGPU struct {
	ordinal uint32
	nvml    unsafe.Pointer // nil: not readable
	counter uint64         // of energy, mJ, as read last
	at      uint64         // when it moved, or when the last reading ended
	ahead   float64        // J that a reading had before the counter moved
	moved   bool           // the counter has moved since it was found: before, it is not known since when it stands
	pm      *C.struct_pm   // nil: not sampled
	gauges  []record.Gauge // of pm
	shares  []bool
	end     uint64 // of the last sample; 0: none was seen yet, and the first begins before sampling did
	sampled uint64 // ns of all samples but the first
	lost    uint64 // ns between samples
}

// startReader readies it. What cannot be read is reported as a problem: kernels are timed all the same.
func (c *Collector) startReader() {
	if c.reader = nil; !c.opts.Readings.Any() {
		return
	}
	r := &reader{collector: c, request: c.opts.Readings, devices: map[int]*readGPU{}}
	c.reader, r.Losses = r, r.lossTexts
	if c.opts.Replay != "" {
		r.Problem(record.ReplayHasNoReadings)
		r.request = record.ReadingRequest{}
		return
	}
	if why := C.nvml_load(); r.request.Energy && why != nil {
		r.Problem("energy is not read: %s", C.GoString(why))
		r.request.Energy = false
	}
	if r.request.Counters == 0 {
		return
	}
	if missing := c.loadPM(); missing != "" {
		r.Problem("counters over time are not read: %s (%s) has no %s; set PROTON_CUPTI_PATH to a libcupti of CUDA 12.8 or newer", c.library.Path, versionText(c.version), missing)
		r.request.Counters = 0
	}
}

func (c *Collector) loadPM() (missing string) {
	host := C.CString(c.hostLibrary())
	defer C.free(unsafe.Pointer(host))
	if name := C.cupti_counters_load(host); name != nil {
		return C.GoString(name)
	}
	if name := C.cupti_pm_load(); name != nil {
		return C.GoString(name)
	}
	return ""
}

// run begins to read, or ends it after a last reading.
func (r *reader) run(on bool) {
	switch {
	case r == nil || !r.request.Any() || on == r.Started():
	case on:
		r.pause(false)
		r.samplesRead = time.Now()
		r.Start(r.read)
	default:
		r.Stop()
		r.flush()
		r.pause(true)
	}
}

// pause has the GPUs that are known not be read, or be read again from now on.
func (r *reader) pause(rest bool) {
	r.Lock()
	defer r.Unlock()
	for _, g := range r.devices {
		if g.pm != nil {
			C.pm_pause(g.pm, boolint(rest))
			g.end = 0
		}
		if !rest && g.nvml != nil {
			r.findEnergy(g)
		}
	}
}

// read reads what is due, and returns when there is more.
func (r *reader) read() (pause time.Duration) {
	every := pmEvery
	if r.request.Counters < time.Millisecond {
		every = pmOften
	}
	r.find()
	pause = every
	if r.request.Energy {
		if pause = energyStep; r.energy() {
			pause = energyRest
		}
	}
	if time.Since(r.samplesRead) >= every {
		r.samplesRead = time.Now()
		r.samples()
	}
	return pause
}

// find begins to read the GPUs that the program uses: those with an active primary context.
func (r *reader) find() {
	for ordinal := range deviceCount() {
		if r.devices[ordinal] != nil || C.gpu_in_use(C.int(ordinal)) == 0 {
			continue
		}
		g := &readGPU{ordinal: uint32(ordinal), at: hotpath.Now()}
		r.devices[ordinal] = g
		if r.request.Energy {
			r.findEnergy(g)
		}
		if r.request.Counters > 0 {
			r.beginPM(g)
		}
	}
}

func (r *reader) findEnergy(g *readGPU) {
	var energy C.uint64_t
	if g.nvml = C.nvml_device(C.int(g.ordinal)); g.nvml == nil {
		r.Problem("the energy of GPU %d is not read: NVML does not know it", g.ordinal)
	} else if rc := C.nvml_energy(g.nvml, &energy); rc != 0 {
		r.Problem("the energy of GPU %d is not read: NVML answers %d, and GPUs older than Volta have no counter of energy", g.ordinal, rc)
		g.nvml = nil
	}
	g.counter, g.at, g.ahead, g.moved = uint64(energy), hotpath.Now(), 0, false
}

// energy reads the counters of all GPUs, and returns whether all have moved since the last reading.
func (r *reader) energy() (moved bool) {
	moved = true
	for _, g := range r.devices {
		var now C.uint64_t
		if g.nvml == nil || C.nvml_energy(g.nvml, &now) != 0 {
			continue
		}
		if uint64(now) == g.counter {
			moved = moved && hotpath.Now()-g.at > uint64(2*energyRest) // a counter that stands still is not waited for
			continue
		}
		joules := float64(uint64(now)-g.counter)/joule - g.ahead
		if !g.moved {
			joules = g.byPower() - g.ahead
		}
		g.counter, g.ahead, g.moved = uint64(now), 0, true
		r.spent(g, joules)
	}
	return moved
}

// byPower is what was spent since the last reading if the power was all the time what it is now; 0 if that is not known.
func (g *readGPU) byPower() float64 {
	var milliwatts C.uint32_t
	if g.nvml == nil || C.nvml_power(g.nvml, &milliwatts) != 0 {
		return 0
	}
	return float64(milliwatts) / joule * float64(hotpath.Now()-g.at) / 1e9
}

// spent adds a reading from the last one to now.
func (r *reader) spent(g *readGPU, joules float64) {
	now := hotpath.Now()
	var sm, memory C.uint32_t
	C.nvml_clocks(g.nvml, &sm, &memory)
	r.AddEnergy(g.ordinal, energyGauges, g.at, now, joules, uint32(sm), uint32(memory))
	g.at = now
}

// flush reads what there is now. Since its last move the counter does not say what was spent, but the power does.
func (r *reader) flush() {
	if r == nil {
		return
	}
	r.Lock()
	defer r.Unlock()
	if r.request.Energy {
		r.energy()
	}
	for _, g := range r.devices {
		if joules := g.byPower(); joules > 0 {
			g.ahead += joules
			r.spent(g, joules)
		}
	}
	r.samples()
}

// end ends reading; the GPUs are looked for again when it begins the next time.
func (r *reader) end() {
	if r == nil {
		return
	}
	r.Lock()
	defer r.Unlock()
	for _, text := range r.lossTexts() {
		r.Problem("%s", text)
	}
	for _, g := range r.devices {
		if g.pm != nil {
			C.pm_end(g.pm)
			C.free(unsafe.Pointer(g.pm))
		}
	}
	clear(r.devices)
}

// ---- counters over time ----

func (r *reader) beginPM(g *readGPU) {
	names := (*[C.PM_METRICS_MOST]*C.char)(C.calloc(C.PM_METRICS_MOST, C.size_t(unsafe.Sizeof((*C.char)(nil)))))
	for i := range pmGauges {
		names[i] = C.CString(pmGauges[i].vendor) // a few dozen bytes for each GPU: the library may keep them
	}
	pm := (*C.struct_pm)(C.calloc(1, C.sizeof_struct_pm))
	if C.pm_begin(pm, C.uint32_t(g.ordinal), &names[0], C.size_t(len(pmGauges)), C.uint64_t(r.request.Counters.Nanoseconds())) == 0 {
		r.refusedPM(g, pm)
		C.free(unsafe.Pointer(pm))
		return
	}
	g.pm = pm
	for i := range int(pm.count) {
		for j := range pmGauges {
			if names[j] == pm.names[i] {
				g.gauges, g.shares = append(g.gauges, pmGauges[j].Gauge), append(g.shares, pmGauges[j].share)
			}
		}
	}
}

// samples takes what was sampled since.
func (r *reader) samples() {
	for _, g := range r.devices {
		if g.pm == nil {
			continue
		}
		var start, end C.uint64_t
		var values [C.PM_METRICS_MOST]C.double
		for C.pm_next(g.pm, &start, &end, &values[0]) != 0 {
			from, counts := g.follows(uint64(start), uint64(end))
			if !counts {
				continue
			}
			whole := float64(uint64(end)-from) / float64(end-start)
			amounts := make([]float64, len(g.gauges))
			for i := range amounts {
				amounts[i] = amount(float64(values[i]), g.shares[i], float64(end-start)) * whole
			}
			r.Add(record.Reading{Device: g.ordinal, Gauges: g.gauges, Start: from, End: uint64(end), Amounts: amounts})
		}
		if g.pm.refused != 0 {
			r.refusedPM(g, g.pm)
		}
	}
}

// While CUPTI reads samples, none are taken: on an H200 for 10 to 50 ms each time. The sample after such a gap stands for it.
const longestGap = 100 * time.Millisecond

// follows takes the time of a sample, and returns since when the sample stands, and whether it counts.
func (g *readGPU) follows(start, end uint64) (from uint64, counts bool) {
	first, from := g.end == 0, start
	if counts = !first && end > start; counts {
		g.sampled += end - start
		if start > g.end {
			g.lost += start - g.end
			if start-g.end <= uint64(longestGap) {
				from = g.end
			}
		}
	}
	g.end = max(g.end, end)
	return from, counts
}

// lossText says how much was not sampled, "" if that is little.
func (g *readGPU) lossText() string {
	whole := g.sampled + g.lost
	if g.lost <= whole/10 {
		return ""
	}
	return fmt.Sprintf("counters over time were not sampled for %s of the time of GPU %d, for which the samples after it stand; give --pm a longer time", figures.Share(float64(g.lost)/float64(whole)), g.ordinal)
}

// amount is what a value stands for over an interval; a link that the GPU does not have has no value.
func amount(value float64, share bool, nanos float64) float64 {
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return 0
	case share:
		return value / 100 * nanos
	}
	return value
}

func (r *reader) refusedPM(g *readGPU, pm *C.struct_pm) {
	r.Problem("%v; GPU %d has no counters over time", r.collector.counterError(C.GoString(pm.doing), uint32(pm.refused)), g.ordinal)
}

func deviceCount() int {
	var n C.int
	if C.device_count(&n) != 0 {
		return 0
	}
	return int(n)
}

// Readings is described with profiler.ReadingSource.
func (c *Collector) Readings() *record.Readings {
	if c.reader == nil {
		return nil
	}
	return &c.reader.Readings
}

// lossTexts are those of all GPUs.
func (r *reader) lossTexts() (losses []string) {
	for _, g := range r.devices {
		if text := g.lossText(); text != "" {
			losses = append(losses, text)
		}
	}
	return losses
}
