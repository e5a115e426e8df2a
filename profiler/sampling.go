package profiler

import (
	"slices"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/callpath"
	"github.com/goproton/goproton/profiler/record"
)

// sampleInstructions reads the options of mode "pcsampling".
func (s *session) sampleInstructions(options string) (err error) {
	if s.trace {
		return &ArgumentError{`mode="pcsampling" adds up samples: use data="tree", or leave mode out for a timeline`}
	}
	if s.sampling, s.keepImages, err = record.ParseSampling(options); err != nil {
		return &ArgumentError{"CuptiProfiler: " + err.Error()}
	}
	return nil
}

// beginSampling readies the attribution of samples, for the first session of a source. Call with mu held.
func (m *Manager) beginSampling(o record.SamplingOptions) error {
	if o.Mode == record.NoSampling {
		return nil
	}
	sampler, ok := m.source.(Sampler)
	if !ok {
		return &ArgumentError{`mode="pcsampling": this backend cannot sample instructions; leave mode out to time kernels`}
	}
	m.sampler, m.images = sampler, newImages(sampler.Image)
	m.agg.Sampling = aggregate.NewSampling(o.Mode == record.Serialized)
	m.agg.Sampling.Callers = func(module uint64) (map[string][]string, bool) {
		image := sampler.Image(module)
		if image == nil {
			return nil, false // it may still come
		}
		callers, _ := cubin.Callers(image) // a module that cannot be read says nothing, every time
		return callers, true
	}
	m.resolver.Function = func(handle uint64) uint32 {
		f, ok := sampler.Function(handle)
		if !ok {
			return 0
		}
		return m.agg.Sampling.Number(f)
	}
	return nil
}

// CodeLoaded tells of a GPU function that was loaded before instructions were sampled: the handle by which it is launched,
// the name that the linker knows it by, and the binary that it was loaded from. Without sampling it does nothing.
func (m *Manager) CodeLoaded(handle uint64, name string, image []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sampler != nil {
		m.sampler.Loaded(handle, name, image)
	}
}

// drainSamples takes what the sampler has collected. Call with mu held.
func (m *Manager) drainSamples() {
	if m.sampler == nil || !m.attached {
		return
	}
	m.sampler.Samples(m.takeSample)
}

func (m *Manager) takeSample(s *record.Sample) { m.agg.AddSample(s, m.lastSet, m.launched) }

// launched finds the launch of a serialized sample. It was recorded before it, but maybe after the rings were drained.
func (m *Manager) launched(correlation uint32) (callpath.Answer, bool) {
	if at, ok := m.resolver.Launched(correlation); ok {
		return at, true
	}
	hotpath.Drain(m.resolver.Add)
	return m.resolver.Launched(correlation)
}

// freezeSampled is what freeze does while instructions are sampled. Lines are not there yet: see images.describe.
func (m *Manager) freezeSampled(t *aggregate.Tree) (*profile.Profile, []uint32) {
	p, devices := m.agg.FreezeSampled(t, m.source.DeviceType())
	facts := m.sampler.SamplingFacts()
	s := p.Sampling
	s.Mode, s.Period, s.Reasons = facts.Mode.String(), facts.Period, slices.Clone(facts.Reasons)
	s.Dropped, s.NonUser, s.BufferFull = facts.Dropped, facts.NonUser, facts.BufferFull
	return p, devices
}

// describe adds the lines of what was sampled to a profile that is about to be written, and keeps the modules beside it.
// Call without mu.
func (m *Manager) describe(s *session, p *profile.Profile, path string) error {
	if p.Sampling == nil {
		return nil
	}
	m.mu.Lock()
	images := m.images
	m.mu.Unlock()
	images.describe(p)
	if path == "" || !s.keepImages {
		return nil
	}
	return images.keep(s.name+cubinsSuffix, p)
}

// SamplingStatus is what is known of instruction samples so far, over all sessions.
type SamplingStatus struct {
	Mode        string // "continuous", "serialized"; "" while nothing is sampled
	Period      uint64 // cycles between two samples of one multiprocessor
	Samples     uint64 // handed over by the sampler
	Apportioned uint64 // shared out by kernel time, as several call paths launched the function
	Unlaunched  uint64 // of functions that were not seen launching
	Dropped     uint64 // lost by the hardware
	NonUser     uint64 // in functions of the driver's own
	BufferFull  bool   // an unknown number is missing
}

// samplingStatus returns it and why there is less than asked for. Call with mu held.
func (m *Manager) samplingStatus() (s SamplingStatus, problems []string) {
	if m.sampler == nil {
		return s, nil
	}
	facts, counts := m.sampler.SamplingFacts(), m.agg.Sampling
	return SamplingStatus{
		Mode: facts.Mode.String(), Period: facts.Period,
		Samples: counts.Taken, Apportioned: counts.Apportioned, Unlaunched: counts.Unlaunched,
		Dropped: facts.Dropped, NonUser: facts.NonUser, BufferFull: facts.BufferFull,
	}, facts.Problems
}
