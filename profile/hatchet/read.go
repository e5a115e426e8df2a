package hatchet

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goproton/goproton/profile"
)

// Read reads one profile. What it cannot understand is a *FormatError with the place in the file.
func Read(r io.Reader) (*profile.Profile, error) {
	d := decoder{scanner: newScanner(r), seen: map[string]*metricFacts{}}
	p := &profile.Profile{}
	elements := 0
	d.array("at the start of a .hatchet file", func() {
		switch elements++; elements {
		case 1:
			p.Root = d.node(0)
		case 2:
			p.Devices = d.devices()
		default:
			d.fail(d.offset(), "a third element; a .hatchet file has a tree and a device table")
		}
	})
	if d.peek() != 0 || d.pos < d.end {
		d.unexpected("the end of the file")
	}
	if d.err == nil && p.Root == nil {
		d.fail(0, "the file holds no tree; profile again")
	}
	if d.err != nil {
		return nil, d.err
	}
	p.Kinds = d.kinds(p.Root)
	return p, nil
}

// ReadFile reads the profile in a file.
func ReadFile(path string) (*profile.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	defer f.Close()
	p, err := Read(f)
	var bad *FormatError
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("read profile %s: %w; give a .hatchet file that proton or Triton wrote", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read profile %s: %w", path, err)
	}
	return p, nil
}

type decoder struct {
	*scanner
	seen    map[string]*metricFacts
	metrics profile.Node // collects the metrics of one node, to be copied at their final size
}

// metricFacts is what decides a metric's kind besides the root.
type metricFacts struct{ text bool }

func (d *decoder) node(depth int) *profile.Node {
	d.peek()
	start := d.offset()
	if depth > maxDepth {
		d.fail(start, "call paths of more than %d frames", maxDepth)
		return nil
	}
	n := &profile.Node{}
	named := false
	d.object("at the start of a node", func(key string) {
		switch key {
		case "children":
			d.array("at the start of children", func() {
				if c := d.node(depth + 1); c != nil {
					n.Children = append(n.Children, c)
				}
			})
		case "frame":
			named = d.frame(n) || named
		case "metrics":
			d.readMetrics(n)
		default:
			d.skip(depth)
		}
	})
	if d.err == nil && !named {
		d.fail(start, "a node without a frame name")
	}
	return n
}

func (d *decoder) frame(n *profile.Node) (named bool) {
	d.object("at the start of a frame", func(key string) {
		if key != "name" {
			d.skip(0)
			return
		}
		n.Name = d.intern(d.str("a name in quotes"))
		named = d.err == nil
	})
	return named
}

func (d *decoder) readMetrics(n *profile.Node) {
	d.metrics.Metrics = d.metrics.Metrics[:0]
	d.object("at the start of metrics", func(name string) {
		at := d.offset()
		v := d.value()
		if d.err != nil {
			return
		}
		facts := d.seen[name]
		if facts == nil {
			facts = &metricFacts{}
			d.seen[name] = facts
		}
		facts.text = facts.text || v.Type() == profile.String
		if len(d.metrics.Metrics) >= mostMetrics {
			d.fail(at, "more than %d metrics on one node", mostMetrics)
			return
		}
		d.metrics.Set(name, v)
	})
	n.Metrics = nil
	if len(d.metrics.Metrics) > 0 {
		n.Metrics = append(make([]profile.Metric, 0, len(d.metrics.Metrics)), d.metrics.Metrics...)
	}
}

// mostMetrics bounds the metrics of one node: Set looks for an equal name among those before, so without a
// bound a hostile file could keep the reader busy for hours. Upstream's fullest node has 24.
const mostMetrics = 4096

func (d *decoder) value() profile.Value {
	switch d.peek() {
	case '"':
		return profile.StringValue(d.intern(d.str("a string")))
	case '[':
		return d.vector()
	case '{':
		d.unexpected("a number, a string or a list")
		return profile.Value{}
	}
	return d.scalar()
}

// vector reads a list of numbers; one float makes all of them floats.
func (d *decoder) vector() profile.Value {
	var list []profile.Value
	whole := true
	d.array("at the start of a list", func() {
		if c := d.peek(); c == '"' || c == '[' || c == '{' {
			d.unexpected("a number")
			return
		}
		v := d.scalar()
		whole = whole && v.Type() == profile.Int
		list = append(list, v)
	})
	if whole {
		ints := make([]int64, len(list))
		for i, v := range list {
			ints[i] = v.Int()
		}
		return profile.IntsValue(ints)
	}
	floats := make([]float64, len(list))
	for i, v := range list {
		floats[i], _ = v.Float()
	}
	return profile.FloatsValue(floats)
}

// kinds decides by what the file can tell: text never adds up, numbers that the root names are inclusive,
// all others are exclusive.
func (d *decoder) kinds(root *profile.Node) profile.Kinds {
	kinds := make(profile.Kinds, len(d.seen))
	for name, facts := range d.seen {
		switch {
		case facts.text || name == deviceID || name == deviceType:
			kinds[name] = profile.Property
		default:
			kinds[name] = profile.Exclusive
		}
	}
	for _, m := range root.Metrics {
		if _, number := m.Value.Float(); number && kinds[m.Name] == profile.Exclusive {
			kinds[m.Name] = profile.Inclusive
		}
	}
	return kinds
}

// devices reads type → ordinal → facts. Facts that we have no use for are skipped.
func (d *decoder) devices() []profile.Device {
	var list []profile.Device
	d.object("at the start of the device table", func(typ string) {
		d.object("at the start of a device type", func(id string) {
			dev := profile.Device{Type: typ, ID: id}
			d.object("at the start of a device", func(fact string) { d.deviceFact(&dev, fact) })
			list = append(list, dev)
		})
	})
	return list
}

func (d *decoder) deviceFact(dev *profile.Device, fact string) {
	var into *int64
	switch fact {
	case "arch":
		d.deviceArch(dev)
		return
	case "bus_width":
		into = &dev.BusWidth
	case "clock_rate":
		into = &dev.ClockRate
	case "memory_clock_rate":
		into = &dev.MemoryClockRate
	case "num_sms":
		into = &dev.NumSMs
	default:
		d.skip(0)
		return
	}
	at := d.offset()
	v := d.value()
	f, number := v.Float()
	if !number && d.err == nil {
		d.fail(at, "%s of a device is no number", fact)
	}
	if f == f { // null leaves the fact unknown
		*into = v.Int()
	}
}

// deviceArch accepts "90" and 90.
func (d *decoder) deviceArch(dev *profile.Device) {
	if d.peek() == '"' {
		dev.Arch = d.intern(d.str("an architecture"))
		return
	}
	at := d.offset()
	v := d.scalar()
	if v.Type() != profile.Int && d.err == nil {
		d.fail(at, "arch of a device is neither text nor a whole number")
	}
	dev.Arch = fmt.Sprint(v.Int())
}
