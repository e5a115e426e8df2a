package chrometrace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// facts reads otherData, which holds the facts of the run in our files and arbitrary data in others.
func (d *reader) facts() {
	d.objects(func(key string) {
		if d.Peek() != '"' {
			d.Skip(0)
			return
		}
		value := string(d.Str("a fact"))
		switch {
		case key == formatKey:
			d.ours = true
		case d.ours:
			d.b.Profile.Info[key] = value
		}
	})
}

// kindTable reads the kinds of metrics.
func (d *reader) kindTable() {
	d.objects(func(name string) {
		if kind, ok := profile.ParseKind(d.text()); ok {
			d.b.Profile.Kinds[name] = kind
		}
	})
}

// deviceTable reads our devices: type → ordinal → facts.
func (d *reader) deviceTable() {
	d.objects(func(typ string) {
		d.objects(func(id string) {
			device := profile.Device{Type: typ, ID: id}
			d.objects(func(fact string) {
				if fact == "arch" {
					device.Arch = d.text()
				} else if fact == "name" {
					device.Name = d.text()
				} else if into := device.Number(fact); into != nil {
					*into = int64(d.whole())
				} else {
					d.Skip(0)
				}
			})
			d.b.Device(device)
		})
	})
}

// objects reads the members of an object. Any other value is skipped.
func (d *reader) objects(member func(key string)) {
	if d.Peek() != '{' {
		d.Skip(0)
		return
	}
	d.Object("", member)
}

// deviceProperties reads the devices of a Kineto trace. They lack the clock rates and the memory bus; internal/peaks has these of
// some boards by name.
func (d *reader) deviceProperties() {
	if d.Peek() != '[' {
		d.Skip(0)
		return
	}
	d.Array("", func() {
		var device profile.Device
		var major, minor uint64
		d.objects(func(fact string) {
			switch fact {
			case "id":
				device.ID = d.text()
			case "name":
				device.Name = d.text()
				device.Type = deviceType(device.Name)
			case "computeMajor":
				major = d.whole()
			case "computeMinor":
				minor = d.whole()
			case "numSms":
				device.NumSMs = int64(d.whole())
			default:
				d.Skip(0)
			}
		})
		if device.Type == "CUDA" && major > 0 {
			device.Arch = strconv.FormatUint(major*10+minor, 10)
		}
		if device.ID != "" {
			d.b.Device(device)
		}
	})
}

// deviceType is the type of a device by its product's name, "" for those of other vendors. PyTorch writes the name that the vendor's
// runtime reports.
func deviceType(name string) string {
	for typ, marks := range map[string][]string{
		"CUDA": {"NVIDIA", "Tesla", "GeForce", "Quadro", "TITAN", "GRID"}, "HIP": {"AMD", "Radeon", "Instinct"},
	} {
		if slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(name, mark) }) {
			return typ
		}
	}
	return ""
}
