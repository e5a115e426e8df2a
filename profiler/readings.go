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
	if source := d.reads(); source != nil {
		source.Readings(func(r *record.Reading) { d.agg.Read(r, d.sets.newest) })
	}
}

func (d *drainer) readingProblems() []string {
	source := d.reads()
	switch {
	case source != nil:
		return source.ReadingProblems()
	case d.source != nil && d.options.Readings.Any():
		return []string{fmt.Sprintf("energy and counters over time are not read: the source of backend %q has neither", d.backend.name())}
	}
	return nil
}

// reads is the source if it is to read whole GPUs and can, else nil.
func (d *drainer) reads() ReadingSource {
	if source, can := d.source.(ReadingSource); can && d.options.Readings.Any() {
		return source
	}
	return nil
}
