package tree

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// DeviceFacts are the facts of a device in alphabetical order, with the name, which upstream does not have, at the end.
var DeviceFacts = []string{profile.DeviceArch, profile.DeviceBusWidth, profile.DeviceClockRate, profile.DeviceMemoryClockRate,
	profile.DeviceNumSMs, profile.DeviceName}

// Devices writes the device table: type → ordinal → facts. byOrdinal puts device 2 before device 10. Facts are written in the
// given order; the name only where it is known.
func Devices(w Writer, devices []profile.Device, byOrdinal bool, facts []string) {
	sorted := slices.Clone(devices)
	slices.SortStableFunc(sorted, func(a, b profile.Device) int {
		if byOrdinal {
			return cmp.Or(strings.Compare(a.Type, b.Type), compareOrdinals(a.ID, b.ID))
		}
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.ID, b.ID))
	})
	types := map[string]int{}
	for i := range sorted {
		types[sorted[i].Type]++
	}
	w.Object(len(types))
	for len(sorted) > 0 {
		typ := sorted[0].Type
		w.Key(typ)
		w.Object(types[typ])
		for i := range sorted[:types[typ]] {
			w.Key(sorted[i].ID)
			device(w, &sorted[i], facts)
		}
		w.EndObject()
		sorted = sorted[types[typ]:]
	}
	w.EndObject()
}

func device(w Writer, d *profile.Device, facts []string) {
	members := len(facts)
	if d.Name == "" {
		members--
	}
	w.Object(members)
	for _, fact := range facts {
		if words := d.Text(fact); words == nil {
			w.Key(fact)
			w.Integer(*d.Number(fact))
		} else if fact != profile.DeviceName || d.Name != "" {
			text(w, fact, *words)
		}
	}
	w.EndObject()
}

func compareOrdinals(a, b string) int {
	x, errA := strconv.Atoi(a)
	y, errB := strconv.Atoi(b)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return cmp.Compare(x, y)
}

// ReadDevices is the reverse of Devices. It skips facts that it does not know.
func ReadDevices(r Reader) (devices []profile.Device) {
	for c := r.Object("the device table"); c.More; c = r.Next(c) {
		typ := r.Intern(r.Key())
		for c := r.Object("a device type"); c.More; c = r.Next(c) {
			r.Keep(entrySize)
			d := profile.Device{Type: typ, ID: r.Intern(r.Key())}
			for c := r.Object("a device"); c.More; c = r.Next(c) {
				readFact(r, &d, r.Intern(r.Key()))
			}
			devices = append(devices, d)
		}
	}
	return devices
}

// readFact reads a fact; one that is null stays unknown. Other programs write some facts as numbers that are texts here.
func readFact(r Reader, d *profile.Device, fact string) {
	number, words := d.Number(fact), d.Text(fact)
	if number == nil && words == nil {
		r.Skip()
		return
	}
	at := r.Here()
	if r.AtText() {
		if words != nil {
			*words = str(r)
		} else {
			r.Fail(at, "%s of a device is not a number", fact)
		}
		return
	}
	v := r.Number("a fact of a device")
	f, _ := v.Float()
	switch {
	case math.IsNaN(f):
	case words != nil && v.Type() == profile.Int:
		*words = strconv.FormatInt(v.Int(), 10)
	case words != nil:
		r.Fail(at, "%s of a device is neither text nor a whole number", fact)
	default:
		*number = v.Int()
	}
}
