package sourcemap

import "slices"

// Stages are the names of the stages that have a map, in the order of the compiler.
func (m *Map) Stages() []string {
	var names []string
	for _, s := range m.stages {
		names = append(names, s.Name)
	}
	return names
}

// At is the entry of a line of a stage, counted from 1; nil if nothing is known of it.
func (m *Map) At(stage string, line int) *Entry {
	entries := m.Entries(stage)
	if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Own == line }); i >= 0 {
		return &entries[i]
	}
	return nil
}

// Lines are the lines of another stage that came from the same place, ascending.
func (e *Entry) Lines(stage string) []int {
	for _, o := range e.others {
		if o.stage == stage {
			return o.lines
		}
	}
	return nil
}

// PythonLines are the lines of the kernel's own Python file that became code, ascending in the correct reading.
func (m *Map) PythonLines() []int {
	lines := make([]int, 0, len(m.python))
	for _, p := range m.python {
		lines = append(lines, p.line)
	}
	return lines
}

// FromPython are the lines of a stage that came from a line of the kernel's own Python file, inlined helpers credited to
// the line that calls them.
func (m *Map) FromPython(line int, stage string) []int {
	for _, p := range m.python {
		if p.line != line {
			continue
		}
		for _, s := range p.stages {
			if s.stage == stage {
				return s.lines
			}
		}
	}
	return nil
}
