package profiler

import (
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/callpath"
	"github.com/goproton/goproton/profiler/record"
)

// setOwnMode reads a mode that only the backend knows.
func (s *session) setOwnMode(b *Backend, mode, options string) (err error) {
	parse, known := b.Modes[mode]
	switch {
	case !known && mode == "pcsampling":
		return &ArgumentError{`mode="pcsampling": this backend cannot sample instructions; leave mode out to time kernels`}
	case !known:
		return b.refusal("unsupported mode: %s", mode)
	case s.trace:
		return &ArgumentError{`mode="pcsampling" adds up samples: use data="tree", or leave mode out for a timeline`}
	}
	if s.sampling, err = parse(options); err != nil {
		return b.refusal("%v", err)
	}
	return nil
}

// beginSampling readies the attribution of samples, for the first session of a source. Call with mu held.
func (m *Manager) beginSampling(mode record.SamplingMode) {
	sampler, ok := m.source.(Sampler)
	if mode == record.NoSampling || !ok {
		return
	}
	m.sampler, m.images = sampler, newImages(sampler)
	m.agg.Sampling = aggregate.NewSampling(mode == record.Serialized)
	m.agg.Sampling.Callers = func(module uint64) (map[string][]string, bool) {
		code := sampler.Module(module)
		if code == nil {
			return nil, false // it may still come
		}
		return code.Callers(), true
	}
	m.resolver.Function = func(handle uint64) uint32 {
		f, ok := sampler.Function(handle)
		if !ok {
			return 0
		}
		return m.agg.Sampling.Number(f)
	}
}

// CodeLoaded reports a GPU function that was loaded before instructions were sampled: the handle by which it is launched,
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
func (m *Manager) launched(correlation uint64) (callpath.Attribution, bool) {
	if at, ok := m.resolver.Launched(correlation); ok {
		return at, true
	}
	hotpath.Drain(m.resolver.Add)
	return m.resolver.Launched(correlation)
}

// freezeSampled is what freeze does while instructions are sampled. Lines are not there yet: see images.describe.
func (m *Manager) freezeSampled(t *aggregate.Tree) (*profile.Profile, []uint32) {
	p, devices := m.agg.FreezeSampled(t, m.backend.DeviceType)
	facts := m.sampler.SamplingFacts()
	s := p.Sampling
	s.Mode, s.Period, s.Reasons = facts.Mode.String(), facts.Period, slices.Clone(facts.Reasons)
	s.Dropped, s.NonUser, s.BufferFull = facts.Dropped, facts.NonUser, facts.BufferFull
	return p, devices
}

// describe adds the lines of what was sampled to a profile that is about to be written, and keeps the modules next to it.
// Call without mu.
func (m *Manager) describe(s *session, p *profile.Profile, path string) error {
	if p.Sampling == nil {
		return nil
	}
	m.mu.Lock()
	images := m.images
	m.mu.Unlock()
	images.describe(p)
	if s.sampling.KeepSources {
		began, _ := strconv.ParseInt(s.info[profile.InfoStart], 10, 64) //nolint:errcheck // written by infoOf
		keepSources(p, began)
	}
	if path == "" || !s.sampling.KeepImages {
		return nil
	}
	return images.keep(s.name, p)
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
