package chrometrace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
)

// What otherData says first in a file of ours.
const (
	formatKey     = "goproton_trace"
	formatVersion = "1"
)

// deviceTable writes the devices as a .hatchet file does: type → ordinal → facts.
func (t *Writer) deviceTable() {
	if len(t.devices) == 0 {
		return
	}
	sorted := slices.Clone(t.devices)
	slices.SortStableFunc(sorted, func(a, b profile.Device) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.ID, b.ID))
	})
	t.buf = append(t.buf, `,"devices":{`...)
	for i := range sorted {
		d := &sorted[i]
		if i == 0 || sorted[i-1].Type != d.Type {
			if i > 0 {
				t.buf = append(t.buf, "},"...)
			}
			t.buf = append(jsontext.AppendString(t.buf, d.Type), ":{"...)
		} else {
			t.buf = append(t.buf, ',')
		}
		t.buf = append(jsontext.AppendString(t.buf, d.ID), `:{"arch":`...)
		t.buf = jsontext.AppendString(t.buf, d.Arch)
		t.number(`,"bus_width":`, d.BusWidth)
		t.number(`,"clock_rate":`, d.ClockRate)
		t.number(`,"memory_clock_rate":`, d.MemoryClockRate)
		t.number(`,"num_sms":`, d.NumSMs)
		if d.Name != "" {
			t.text(`,"name":`, d.Name)
		}
		t.buf = append(t.buf, '}')
	}
	t.buf = append(t.buf, "}}"...)
}

func (t *Writer) number(key string, v int64) {
	t.buf = strconv.AppendInt(append(t.buf, key...), v, 10)
}

func (t *Writer) text(key, text string) {
	t.buf = jsontext.AppendString(append(t.buf, key...), text)
}

// kindTable writes the kinds of the metrics.
func (t *Writer) kindTable() {
	names := make([]string, 0, len(t.kinds))
	for name, kind := range t.kinds {
		if kind.String() != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	t.buf = append(t.buf, `,"metricKinds":{`...)
	for _, name := range names {
		t.buf = append(jsontext.AppendString(t.buf, name), `:"`...)
		t.buf = append(t.buf, t.kinds[name].String()...)
		t.buf = append(t.buf, `",`...)
	}
	t.buf[len(t.buf)-1] = '}'
}
