package profiler

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/lookup"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/callpath"
)

// setOwnMode reads a mode that only the backend knows.
func (s *session) setOwnMode(b *Backend, mode, options string) (err error) {
	parse, known := b.Modes[mode]
	switch {
	case !known && mode == "pcsampling":
		return &ArgumentError{`mode="pcsampling": this backend cannot sample instructions; leave mode out to time kernels`}
	case !known && mode == "counters":
		return &ArgumentError{vendors.NoCounters(b.name()).Error()}
	case !known:
		return b.refusal("unsupported mode: %s; use %s", mode, lookup.Or(append(slices.Sorted(maps.Keys(b.Modes)), "periodic_flushing")))
	case s.timeline:
		return &ArgumentError{fmt.Sprintf(`mode=%q adds up what it measures: use data="tree", or leave mode out for a timeline`, mode)}
	}
	if s.sampling, err = parse(options); err != nil {
		return b.refusal("%v", err)
	}
	return nil
}

// beginSampling readies the attribution of samples, for the first session of a source.
func (d *drainer) beginSampling(request record.SamplingRequest) {
	if request.Mode == record.NoSampling {
		return
	}
	sampler, ok := d.source.(Sampler)
	if !ok {
		d.problem(fmt.Sprintf("instructions are not sampled: the source of backend %q has no sampler; kernels are timed", d.backend.name()))
		return
	}
	d.sampler, d.images = sampler, newImages(sampler)
	d.agg.Sampling = aggregate.NewSampling(request.OfLaunches)
	d.agg.Sampling.ByLine = request.Mode == record.ByLine
	d.agg.Sampling.Callers = func(module uint64) (map[string][]string, bool) {
		code := sampler.Module(module)
		if code == nil {
			return nil, false // it may still come
		}
		return code.Callers(), true
	}
	d.resolver.Function = func(handle uint64) uint32 {
		f, ok := sampler.Function(handle)
		if !ok {
			return 0
		}
		return d.agg.Sampling.Number(f)
	}
}

// drainSamples takes what the sampler has collected.
func (d *drainer) drainSamples() {
	if d.sampler == nil || !d.attached {
		return
	}
	d.sampler.Samples(d.takeSample)
}

func (d *drainer) takeSample(s *record.Sample) {
	d.resolver.Watch.Sample(s)
	d.agg.AddSample(s, d.sets.newest, d.launched)
}

// launched finds the launch of a sample that names its launch. The launch was recorded before the sample, but may have come
// after the rings were drained last.
func (d *drainer) launched(correlation uint64) (callpath.Attribution, bool) {
	if at, ok := d.resolver.Launched(correlation); ok {
		return at, true
	}
	hotpath.Drain(d.resolver.Add)
	return d.resolver.Launched(correlation)
}

// addFacts adds what the sampler knows. Lines are not there yet: see images.describe.
func (d *drainer) addFacts(s *profile.Sampling) {
	facts := d.sampler.SamplingFacts()
	s.Mode, s.Period, s.Reasons = facts.Mode.String(), facts.Period, slices.Clone(facts.Reasons)
	s.Dropped, s.NonUser, s.BufferFull = facts.Dropped, facts.NonUser, facts.BufferFull
	if facts.Mode == record.ByLine { // they are counts
		s.Total, s.Apportioned = 0, 0
	}
}

// describe adds the lines of what was sampled to a profile that is about to be written, and keeps the modules next to it. That
// takes long, and is not for the drainer.
func (m *Manager) describe(s *session, p *profile.Profile, w Window) error {
	if p.Sampling == nil {
		return nil
	}
	images := ask(m.drainer, func(d *drainer) *images { return d.images })
	images.describe(p)
	if !s.sampling.Some && p.Sampling.Period > 0 { // the sampler has begun, and it leaves no kernel out
		p.AddZeros(p.Sampling.Mode == record.Continuous.String())
	}
	if s.sampling.KeepSources {
		began, _ := strconv.ParseInt(s.info[profile.InfoStart], 10, 64) //nolint:errcheck // written by infoOf
		keepSources(p, began)
	}
	if w.path == "" || !s.sampling.KeepImages {
		return nil
	}
	return images.keep(w.Name, p)
}

// samplingStatus is what is known of instruction samples so far, over all sessions, and the sentence that says why there are fewer than
// were asked for.
func (d *drainer) samplingStatus() (s runinfo.Sampling, problems []string) {
	if d.sampler == nil {
		return s, nil
	}
	facts, counts := d.sampler.SamplingFacts(), d.agg.Sampling
	return runinfo.Sampling{
		Period: int64(facts.Period), Samples: int64(counts.Taken), Apportioned: int64(counts.Apportioned), Unlaunched: int64(counts.Unlaunched),
		Dropped: int64(facts.Dropped), NonUser: int64(facts.NonUser), BufferFull: facts.BufferFull,
	}, facts.Problems
}
