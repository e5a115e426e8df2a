package chrometrace

import (
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

// deviceProperties reads the devices of a Kineto trace. They lack the clock rates and the memory bus; gpu/peaks has these of
// some boards by name. PyTorch writes the names of the vendor's runtime, and no type.
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
		setMaker(&device, major, minor)
		if device.ID != "" {
			d.b.Device(device)
		}
	})
}
