package profiler

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profiler/aggregate"
)

// Finalize flushes, writes and ends a session, or all of them, and returns the files written. An unknown
// id does nothing. When a file can't be written the session stays, so that a retry can succeed.
func (m *Manager) Finalize(id *int, format string) (files []string, err error) {
	m.control.Lock()
	defer m.control.Unlock()
	if err := checkFormat(format); err != nil {
		return nil, err
	}
	m.mu.Lock()
	sessions, err := m.selected(id)
	m.mu.Unlock()
	if err != nil || len(sessions) == 0 {
		return nil, nil
	}
	m.flush()
	for _, s := range sessions {
		written, err := m.write(s)
		files = append(files, written...)
		if err != nil {
			return files, err
		}
		m.end(s)
	}
	m.endIfLast()
	return files, nil
}

// endIfLast stops everything once no session is left.
func (m *Manager) endIfLast() {
	m.mu.Lock()
	last := len(m.sessions) == 0
	m.mu.Unlock()
	if last {
		m.stopDrainer()
		m.detach()
	}
}

// checkFormat accepts what a tree can be written as.
func checkFormat(format string) error {
	switch strings.ToLower(format) {
	case "", "hatchet":
		return nil
	case "hatchet_msgpack":
		return &NotImplementedError{`output_format="hatchet_msgpack" is not there yet; use "hatchet"`}
	case "chrome_trace":
		return &ArgumentError{"Output format not supported"}
	}
	return &ArgumentError{"Unknown output format: " + format}
}

// end removes a session whose profile is written.
func (m *Manager) end(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions = slices.DeleteFunc(m.sessions, func(x *session) bool { return x == s })
	for _, t := range s.trees {
		m.agg.Sets.Drop(t)
	}
	m.agg.Sets.End(s.id)
	if err := m.publish(); err != nil {
		m.problem(err)
	}
}

// SourceGone tells that the vendor library may have been torn down already, as at the end of a process: it is
// not called any more. What was drained is still written.
func (m *Manager) SourceGone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attached, m.waiting = false, false
}

// detach leaves the source. Call with control held, without mu and without a drainer: should the vendor
// library hang in there, an exit must still be able to write what there is.
func (m *Manager) detach() {
	m.mu.Lock()
	attached := m.attached
	m.attached, m.waiting, m.checkpoint = false, false, nil
	m.mu.Unlock()
	if attached {
		m.source.Detach()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.discard()
}

// write freezes and writes every phase of a session that was not cleared.
func (m *Manager) write(s *session) (files []string, err error) {
	for _, phase := range m.phases(s) {
		p, path := m.freezePhase(s, phase)
		if p == nil {
			continue // cleared since
		}
		if path == "" {
			if err := hatchet.Write(os.Stdout, p); err != nil {
				return files, fmt.Errorf("write the profile to standard output: %w", err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return files, fmt.Errorf("make the folder of %s: %w; give a name in a folder that can be written", path, err)
		}
		if err := hatchet.WriteFile(path, p); err != nil {
			return files, err
		}
		files = append(files, path)
	}
	return files, nil
}

// freezePhase freezes one phase and says where it goes; nil when the phase has been cleared.
func (m *Manager) freezePhase(s *session, phase int) (p *profile.Profile, path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := s.trees[phase]
	if t == nil {
		return nil, ""
	}
	return m.freeze(t), s.path(phase)
}

func (m *Manager) phases(s *session) []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	var phases []int
	for n := range s.trees {
		phases = append(phases, n)
	}
	sort.Ints(phases)
	return phases
}

// path is where a phase goes: the plain name unless the session ever advanced. "" is standard output.
func (s *session) path(phase int) string {
	if s.name == "" || s.name == "-" {
		return ""
	}
	if s.phase == 0 {
		return s.name + ".hatchet"
	}
	return fmt.Sprintf("%s.part_%d.hatchet", s.name, phase)
}

// freeze copies a tree into a profile, with its devices and what was lost.
func (m *Manager) freeze(t *aggregate.Tree) *profile.Profile {
	deviceType := "CUDA"
	if m.source != nil {
		deviceType = m.source.DeviceType()
	}
	p, devices := t.Freeze(deviceType)
	for _, d := range devices {
		p.Devices = append(p.Devices, m.source.Device(d))
	}
	m.addLoss(p)
	return p
}

// addLoss writes what was lost onto the <unattributed> frame: readers of the format ignore what they don't
// know, and a person looking at the tree sees it.
func (m *Manager) addLoss(p *profile.Profile) {
	l := m.lossNow()
	if l.Records+l.Buffers == 0 {
		return
	}
	n := p.Root.Child(aggregate.UnattributedFrame)
	if n == nil {
		n = &profile.Node{Name: aggregate.UnattributedFrame}
		p.Root.Children = append(p.Root.Children, n)
	}
	n.Set("lost_records", profile.IntValue(int64(l.Records)))
	n.Set("dropped_activities", profile.IntValue(int64(l.Buffers)))
	p.Kinds["lost_records"], p.Kinds["dropped_activities"] = profile.Exclusive, profile.Exclusive
}

func (m *Manager) lossNow() Loss {
	l := m.loss
	l.Records = hotpath.Lost() - m.base.records
	l.Buffers += hotpath.BuffersRefused() - m.base.refused
	l.Unattributed, l.Untimed = m.agg.Unattributed, m.agg.Untimed
	return l
}
