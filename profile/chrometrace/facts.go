package chrometrace

import (
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile/internal/tree"
)

// What otherData says first in a file of ours.
const (
	formatKey     = "goproton_trace"
	formatVersion = "1"
)

// deviceTable writes the devices as a .hatchet file does: type → ordinal → facts.
func (t *Writer) deviceTable() {
	if len(t.devices) > 0 {
		j := tree.JSON{Buf: append(t.buf, `,"devices":`...)}
		tree.Devices(&j, t.devices, false, tree.DeviceFacts)
		t.buf = j.Buf
	}
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
