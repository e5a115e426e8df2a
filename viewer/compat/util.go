package compat

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/profile"
)

// roofline computes utilisation from the recorded amounts of work and the peaks of each device. The metric is exclusive: only
// frames with a device of their own (kernels) have a value.
type roofline struct {
	widths  []width
	bytes   int // column; -1 when none was recorded
	elapsed func(r *row) float64
	devices map[deviceKey]*devicePeaks
	find    func(key deviceKey) *devicePeaks
}

type width struct {
	bits   int
	column int
}

type deviceKey struct{ typ, id string }

// devicePeaks are the peak rates of one device, in flop/s by operand width and in byte/s; NaN where a figure is unknown.
type devicePeaks struct {
	known     bool // at least one figure is known
	flops     map[int]float64
	bandwidth float64
}

// util is the larger of the arithmetic and the memory time at peak rates, divided by the measured time. A profile with only
// bytes or only flops has a roofline of that one part.
func (t *table) util(warn func(string)) (metric, error) {
	roof := &roofline{bytes: -1, devices: map[deviceKey]*devicePeaks{}}
	for _, bits := range profile.OperandWidths {
		if at, ok := t.index["flops"+strconv.Itoa(bits)]; ok {
			roof.widths = append(roof.widths, width{bits, at})
		}
	}
	if at, ok := t.index["bytes"]; ok {
		roof.bytes = at
	}
	if len(roof.widths) == 0 && roof.bytes < 0 {
		return metric{}, errors.New("derive util: the profile has neither bytes nor flops8, flops16, flops32 or flops64; give kernels a launch_metadata function and profile with the triton launch hook")
	}
	if !t.have("device_id") {
		return metric{}, errors.New("derive util: no frame of the profile names its device; profile GPU kernels, not CPU scopes alone")
	}
	var err error
	if roof.elapsed, err = t.inSeconds("time"); err != nil {
		return metric{}, err
	}
	warned := map[string]bool{}
	roof.find = func(key deviceKey) *devicePeaks {
		return t.peaks(key, roof.widths, func(note string) {
			if !warned[note] {
				warned[note] = true
				warn(note)
			}
		})
	}
	return metric{label: "util", value: roof.util}, nil
}

func (f *roofline) util(r *row) float64 {
	id := r.property("device_id")
	if id == "" {
		return missing
	}
	key := deviceKey{r.property("device_type"), id}
	p := f.devices[key]
	if p == nil {
		p = f.find(key)
		f.devices[key] = p
	}
	if !p.known {
		return missing
	}
	arithmetic := 0.0
	for _, w := range f.widths {
		if flops := r.own[w.column]; !math.IsNaN(flops) && flops != 0 {
			arithmetic += flops / p.flops[w.bits]
		}
	}
	memory := 0.0
	if f.bytes >= 0 && !math.IsNaN(r.own[f.bytes]) {
		memory = r.own[f.bytes] / p.bandwidth
	}
	return math.Max(arithmetic, memory) / f.elapsed(r)
}

// peaks looks up the peak rates of a device. Unknown figures are NaN, with one note each.
func (t *table) peaks(key deviceKey, widths []width, note func(string)) *devicePeaks {
	p := &devicePeaks{flops: map[int]float64{}, bandwidth: missing}
	for _, w := range widths {
		p.flops[w.bits] = missing
	}
	d := peaks.Device(t.profile, key.typ, key.id)
	if d == nil {
		note(fmt.Sprintf("util is nan on device %s: the profile does not describe it; profile again with proton run", key.id))
		return p
	}
	for _, w := range widths {
		if peak, err := peaks.ProtonFlops(*d, w.bits); err == nil {
			p.flops[w.bits], p.known = peak, true
		} else {
			note(unknownPeak(key.id, err))
		}
	}
	if peak, err := peaks.ProtonBandwidth(*d); err == nil {
		p.bandwidth, p.known = peak, true
	} else {
		note(unknownPeak(key.id, err))
	}
	return p
}

func unknownPeak(id string, err error) string {
	return fmt.Sprintf("util is nan on device %s: %v; use tflop/s and gbyte/s instead", id, err)
}
