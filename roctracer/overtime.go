package roctracer

/*
#include <stdlib.h>
#include "overtime.h"
*/
import "C"

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profiler"
)

const energyEvery = 100 * time.Millisecond // AMD's counter moves on about each millisecond

// energyGauges are what is read of AMD SMI.
var energyGauges = record.EnergyGauges("compute")

const simdCycles = "GRBM_COUNT.simds"

// deviceGauges are what is counted of whole GPUs, where the hardware counts it at once with those before it: shares of all cycles of all SIMDs, and bytes.
var deviceGauges = []struct {
	figure *counters.Figure
	record.Gauge
}{
	{share(16, "SQ_BUSY_CU_CYCLES"), record.Gauge{Metric: "gpu_active_time (ns)", Lane: "CU active (%)", Factor: record.PercentOfNanos, OfWork: true}},
	{share(1, "SQ_VALU_MFMA_BUSY_CYCLES"), record.Gauge{Metric: "tensor_active_time (ns)", Lane: "matrix units active (%)", Factor: record.PercentOfNanos, OfWork: true}},
	{counters.Find("dram_read"), record.Gauge{Metric: "dram_read_bytes", Lane: "memory read (B/s)", Factor: 1, OfWork: true}},
	{counters.Find("dram_write"), record.Gauge{Metric: "dram_written_bytes", Lane: "memory written (B/s)", Factor: 1, OfWork: true}},
}

func share(factor float64, counter string) *counters.Figure {
	return &counters.Figure{Unit: counters.Share, Forms: []counters.Form{{Above: []counters.Term{{Metric: counter, Factor: factor}}, Below: []counters.Term{{Metric: simdCycles, Factor: 1}}}}}
}

// reader reads whole GPUs from a goroutine of its own while kernels are recorded. Methods that a Collector without one calls do nothing on nil.
type reader struct {
	request      record.ReadingRequest
	sitePackages []string

	record.Readings // its lock guards what follows
	on              bool
	energies        map[uint32]*energyOf // by device; nil: not readable, or the GPU of another device
	energyRead      time.Time

	grouping *counter
	gpus     **C.struct_sdk_counted_gpu // nil: nothing is counted
	list     []*C.struct_sdk_counted_gpu
	devices  map[*C.struct_sdk_counted_gpu]*countedDevice
	before   []float64 // what all had counted, nil: not known
	at       uint64
}

type energyOf struct {
	gpu    unsafe.Pointer
	joules float64
	at     uint64
}

// countedDevice is which gauges a GPU counts, and of what.
type countedDevice struct {
	gauges  []record.Gauge
	figures []*counters.Figure
}

func newReader(o profiler.SourceOptions, sdk bool) *reader {
	if !o.Readings.Any() {
		return nil
	}
	r := &reader{request: o.Readings, sitePackages: o.SitePackages, energies: map[uint32]*energyOf{}, devices: map[*C.struct_sdk_counted_gpu]*countedDevice{}}
	if o.Replay != "" {
		r.Problem(record.ReplayHasNoReadings)
		r.request = record.ReadingRequest{}
		return r
	}
	if r.request.Counters != 0 && !sdk {
		r.Problem("counters over time are not read: roctracer has none; use the rocprofiler backend")
		r.request.Counters = 0
	}
	return r
}

// counts is whether the library is asked for the counters of whole GPUs.
func (r *reader) counts() bool { return r != nil && r.request.Counters > 0 }

// begin opens what is read. What cannot be read is reported as a problem: kernels are timed all the same.
func (r *reader) begin() {
	if r == nil {
		return
	}
	r.Lock()
	defer r.Unlock()
	if r.request.Energy {
		path := C.CString(smiFile(r.sitePackages))
		defer C.free(unsafe.Pointer(path))
		if why := C.smi_load(path); why != nil {
			r.Problem("energy is not read: %s", C.GoString(why))
			r.request.Energy = false
		}
	}
	if r.counts() && r.gpus == nil {
		r.beginCounting()
	}
}

// smiFile is AMD SMI in the folders of ROCm, otherwise its name.
func smiFile(sitePackages []string) string {
	search := vendors.ROCmSearch{Env: hotpath.Getenv, SitePackages: sitePackages, HIP: filepath.Dir(C.GoString(C.hip_path()))}
	return cmp.Or(search.File(vendors.SMI), vendors.SMI.Names[0])
}

func (r *reader) beginCounting() {
	if text := refusedCounters(func(rc *C.uint32_t) *C.char { return C.sdk_devices_refused(rc) }); text != "" {
		r.Problem("counters over time are not read: %s", text)
		r.request.Counters = 0
		return
	}
	words := []string{simdCycles, "SQ_BUSY_CU_CYCLES", "SQ_VALU_MFMA_BUSY_CYCLES", "dram_read", "dram_write"}
	r.grouping = newCounter(&record.CounterRequest{Set: strings.Join(words, "+")})
	var agents [C.SDK_GPUS]C.uint64_t
	n := int(C.sdk_visible_gpus(&agents[0]))
	r.gpus = (**C.struct_sdk_counted_gpu)(C.calloc(C.size_t(n+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	for i, agent := range agents[:n] {
		g := r.grouping.group(agent)
		unsafe.Slice(r.gpus, n)[i] = g
		r.list, r.devices[g] = append(r.list, g), r.gaugesOf(g)
	}
	for _, text := range r.grouping.problems {
		r.Problem("%s", strings.Replace(text, "kernels are timed without", "they are not read over time", 1))
	}
}

// gaugesOf are the gauges whose counters are all in the group that is counted.
func (r *reader) gaugesOf(g *C.struct_sdk_counted_gpu) *countedDevice {
	d := &countedDevice{}
	for _, gauge := range deviceGauges {
		if _, _, ok := gauge.figure.Parts(func(m string) (float64, bool) { return 1, r.place(g, m) >= 0 }); ok {
			d.gauges, d.figures = append(d.gauges, gauge.Gauge), append(d.figures, gauge.figure)
		} else {
			r.Problem("%q over time is not read: the GPU does not count it together with the others", gauge.Lane)
		}
	}
	return d
}

// place is the position of a metric among those that a GPU counts, -1 if it does not.
func (r *reader) place(g *C.struct_sdk_counted_gpu, metric string) int {
	at := slices.Index(r.grouping.names[g], metric)
	if at < 0 || C.metric_of(g, C.size_t(at)).group != 0 {
		return -1
	}
	return at
}

// run begins to read, or ends it after a last reading.
func (r *reader) run(on bool) {
	switch {
	case r == nil || !r.request.Any() || on == r.Started():
	case on:
		r.Lock()
		r.on, r.before, r.energyRead = true, nil, time.Time{}
		clear(r.energies) // no session gets what was spent meanwhile
		r.Unlock()
		r.Start(r.read)
	default:
		r.Stop()
		r.flush()
		r.Lock()
		r.on = false
		r.Unlock()
	}
}

// read reads what is due, and returns when there is more.
func (r *reader) read() (pause time.Duration) {
	if now := time.Now(); now.Sub(r.energyRead) >= energyEvery {
		r.energyRead = now
		r.energy()
	}
	r.counters()
	if r.counts() {
		return min(energyEvery, r.request.Counters)
	}
	return energyEvery
}

// flush reads what there is now.
func (r *reader) flush() {
	if r == nil {
		return
	}
	r.Lock()
	defer r.Unlock()
	if r.on {
		r.energy()
		r.counters()
	}
}

// end ends counting; a later session begins again.
func (r *reader) end() {
	if r != nil && r.gpus != nil {
		r.Lock()
		defer r.Unlock()
		C.sdk_devices_stop()
		r.before = nil
	}
}

// energy reads the energy of the GPUs that the program uses.
func (r *reader) energy() {
	if !r.request.Energy {
		return
	}
	for _, context := range hotpath.Contexts() {
		device := uint32(uintptr(context)) - 1
		e, known := r.energies[device]
		if !known {
			e = r.findEnergy(device)
			r.energies[device] = e
			continue
		}
		var joules C.double
		if e == nil || C.smi_energy(e.gpu, &joules) != 0 {
			continue
		}
		now := hotpath.Now()
		var compute, memory C.uint32_t
		C.smi_clocks(e.gpu, &compute, &memory)
		r.AddEnergy(device, energyGauges, e.at, now, max(float64(joules)-e.joules, 0), uint32(compute), uint32(memory))
		e.joules, e.at = float64(joules), now
	}
}

// findEnergy begins with a device; nil if its energy cannot be read, or is that of another device: parts of one GPU share a counter.
func (r *reader) findEnergy(device uint32) *energyOf {
	gpu := unsafe.Pointer(C.smi_gpu(C.int(device)))
	for _, other := range r.energies {
		if other != nil && other.gpu == gpu {
			return nil
		}
	}
	var joules C.double
	if gpu == nil {
		r.Problem("the energy of GPU %d is not read: AMD SMI does not know it", device)
		return nil
	} else if rc := C.smi_energy(gpu, &joules); rc != 0 {
		r.Problem("the energy of GPU %d is not read: AMD SMI answers %d", device, rc)
		return nil
	}
	return &energyOf{gpu: gpu, joules: float64(joules), at: hotpath.Now()}
}

// counters reads what all GPUs have counted.
func (r *reader) counters() {
	if !r.counts() || r.gpus == nil {
		return
	}
	switch rc := C.sdk_devices_start(r.gpus, C.size_t(len(r.list))); {
	case rc == C.SDK_NOT_LOADED:
		return // HIP has not started
	case rc != 0:
		r.refuse("rocprofiler_start_context", uint32(rc))
		return
	}
	total := 0
	for _, g := range r.list {
		total += int(g.count)
	}
	now := make([]float64, total+1)
	if rc := C.sdk_devices_read((*C.double)(&now[0])); rc != 0 {
		r.refuse("rocprofiler_sample_device_counting_service", uint32(rc))
		return
	}
	at := hotpath.Now()
	if r.before != nil && at > r.at {
		first := 0
		for _, g := range r.list {
			r.counted(g, now[first:], r.before[first:], at)
			first += int(g.count)
		}
	}
	r.before, r.at = now, at
}

// counted adds a reading of one GPU, if the program uses it.
func (r *reader) counted(g *C.struct_sdk_counted_gpu, now, before []float64, at uint64) {
	device, d := uint32(C.sdk_ordinal(g.agent)), r.devices[g]
	if len(d.gauges) == 0 || !slices.ContainsFunc(hotpath.Contexts(), func(c unsafe.Pointer) bool { return uint32(uintptr(c)) == device+1 }) {
		return
	}
	amounts := make([]float64, len(d.gauges))
	for i, f := range d.figures {
		above, below, _ := f.Parts(func(m string) (float64, bool) {
			p := r.place(g, m)
			if p < 0 {
				return 0, false
			}
			return now[p] - before[p], true
		})
		switch {
		case !(above > 0) || !(below > 0):
		case f.Unit == counters.Share:
			amounts[i] = min(above/below, 1) * float64(at-r.at)
		default:
			amounts[i] = above
		}
	}
	r.Add(record.Reading{Device: device, Gauges: d.gauges, Start: r.at, End: at, Amounts: amounts})
}

func (r *reader) refuse(what string, rc uint32) {
	r.Problem("counters over time are not read: %s: %s answers %d (%s)", what, libraryName(), rc, C.GoString(C.sdk_status_text(C.uint32_t(rc))))
	r.request.Counters = 0
}

// Readings is described with profiler.ReadingSource.
func (c *Collector) Readings() *record.Readings {
	if c.reader == nil {
		return nil
	}
	return &c.reader.Readings
}
