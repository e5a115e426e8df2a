package hatchet

import (
	"sort"

	"github.com/goproton/goproton/profile"
)

// devices writes the second element of the file: type → ordinal → facts.
func (t *treeWriter) devices(list []profile.Device) {
	if len(list) == 0 {
		t.raw("{}")
		return
	}
	sorted := append([]profile.Device(nil), list...)
	sort.SliceStable(sorted, func(a, b int) bool {
		if sorted[a].Type != sorted[b].Type {
			return sorted[a].Type < sorted[b].Type
		}
		return sorted[a].ID < sorted[b].ID
	})
	t.open('{')
	for start := 0; start < len(sorted); {
		end := start
		for end < len(sorted) && sorted[end].Type == sorted[start].Type {
			end++
		}
		t.next(start == 0)
		t.key(sorted[start].Type)
		t.devicesOfType(sorted[start:end])
		start = end
	}
	t.close('}')
}

func (t *treeWriter) devicesOfType(list []profile.Device) {
	t.open('{')
	for i := range list {
		d := &list[i]
		t.next(i == 0)
		t.key(d.ID)
		t.open('{')
		t.next(true)
		t.key("arch")
		t.str(d.Arch)
		t.fact("bus_width", d.BusWidth)
		t.fact("clock_rate", d.ClockRate)
		t.fact("memory_clock_rate", d.MemoryClockRate)
		t.fact("num_sms", d.NumSMs)
		if d.Name != "" {
			t.next(false)
			t.key("name")
			t.str(d.Name)
		}
		t.close('}')
	}
	t.close('}')
}

func (t *treeWriter) fact(name string, v int64) {
	t.next(false)
	t.key(name)
	t.integer(v)
}
