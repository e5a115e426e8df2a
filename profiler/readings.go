package profiler

import (
	"fmt"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/internal/runinfo"
)

// readings reads what a session asks to be read of whole GPUs.
func (o *StartOptions) readings() (r record.ReadingRequest, err error) {
	if r.Energy = o.Energy; o.PM == "" {
		return r, nil
	}
	if r.Counters, err = runinfo.ParsePM(o.PM); err != nil {
		return r, &ArgumentError{err.Error()}
	}
	return r, nil
}

// checkReadings refuses what the sessions before have not asked for.
func (d *drainer) checkReadings(r record.ReadingRequest) error {
	if len(d.list) > 0 && (r.Energy && !d.options.Readings.Energy || r.Counters != 0 && r.Counters != d.options.Readings.Counters) {
		return &ArgumentError{"energy and pm: the first session of those that run at the same time decides what is read of whole GPUs; let it ask for the same"}
	}
	return nil
}

// drainReadings shares out what was read since, among the sessions that record, or that did so last.
func (d *drainer) drainReadings() {
	if readings, _ := d.reads(); readings != nil {
		readings.Take(func(r *record.Reading) { d.agg.Read(r, d.sets.newest) })
	}
}

func (d *drainer) readingProblems() []string {
	readings, can := d.reads()
	switch {
	case readings != nil:
		return readings.Problems()
	case !can && d.source != nil && d.options.Readings.Any():
		return []string{fmt.Sprintf("energy and counters over time are not read: the source of backend %q has neither", d.backend.name())}
	}
	return nil
}

// reads is what the source reads of whole GPUs, nil as long as there is nothing, and whether it can.
func (d *drainer) reads() (readings *record.Readings, can bool) {
	source, can := d.source.(ReadingSource)
	if !can || !d.options.Readings.Any() {
		return nil, can
	}
	return source.Readings(), true
}
